"""The ahead-of-time engine: a model becomes C that calls kernels, with every buffer placed."""
