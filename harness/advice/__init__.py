"""Advice on a measured or predicted model: rules with their evidence."""
