"""`steward reconcile`."""
