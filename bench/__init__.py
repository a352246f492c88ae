"""Measurements, each a ratio or figure of one run; see README.md."""
