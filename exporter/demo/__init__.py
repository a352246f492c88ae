"""A cluster to look at without having one: a sample fleet, and a story that happens to it.

`steward demo` loads it into an API server of this process (`exporter.fakeapi`) and points the exporter at it. It
knows nothing of who reads it.
"""
