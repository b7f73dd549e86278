"""Analytic cost of operators: fitted from measured layers, with its spread."""
