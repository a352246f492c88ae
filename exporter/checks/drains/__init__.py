"""Checks of evictions and drains."""
