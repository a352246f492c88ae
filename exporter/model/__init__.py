"""Typed views of Kubernetes objects: tolerant wire structs, and the flat records of facts they are reduced to.

Pure: no client, clock, logger or environment. Each module here that defines `KIND` adds a kind that checks
may read; which kinds are watched follows from the checks.
"""
