"""Watches a KubeVirt cluster, says what is wrong with it, and writes nothing to it."""
