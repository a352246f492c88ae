"""Evaluates the cluster as it changes: which partitions are dirty, what their checks find, what opened and closed."""
