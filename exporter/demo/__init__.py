"""A cluster to look at without having one: an API server over HTTP, a sample fleet, and a story reported with it.

`steward demo` starts it and points the exporter at it; tests use it to inject faults that a
real API server won't produce on demand. It knows nothing of the rest of the exporter: whoever
reads it does so through HTTP, as with a real cluster.
"""
