"""Findings and the steward's own state as Prometheus metrics."""
