"""What a Prometheus has of the past, for pages alone: no finding, no metric and no repair rests on it."""
