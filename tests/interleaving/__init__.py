"""Repairs interleaved with all that acts on the same objects: a cluster in memory, one atomic API call at a time."""
