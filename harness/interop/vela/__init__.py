"""Vela estimates: run the compiler or read its tables."""
