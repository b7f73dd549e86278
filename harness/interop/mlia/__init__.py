"""Standardized output 1.2.0: records, validation, entity graph, post-processing."""
