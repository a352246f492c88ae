"""The sample fleet, and the faults of its objects. It knows nothing of who reads it."""
