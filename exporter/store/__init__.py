"""Kubernetes objects as tolerant wire structs, and the flat records of facts that they are reduced to.

Pure: no client, clock, logger or environment. Each module of `kinds` defines one kind that checks may read; which kinds
are watched follows from what checks, states and views read.
"""
