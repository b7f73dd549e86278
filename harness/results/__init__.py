"""Typed results, validity rules, the manifest, and bundles: written whole, read strictly, verified byte for byte."""
