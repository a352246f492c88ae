"""The JSON API, and /metrics."""
