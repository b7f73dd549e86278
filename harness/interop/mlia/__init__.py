"""Standardized output 1.2.0: records, strict reader, writer, entity graph, projection."""
