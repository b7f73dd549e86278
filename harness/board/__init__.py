"""Board-type descriptors: load, validate, inherit."""
