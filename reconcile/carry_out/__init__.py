"""The work of the sidecar: from findings to repairs, one after another."""
