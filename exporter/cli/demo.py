"""`steward demo`: a sample fleet to look at, without a cluster."""
