"""The faults that runbooks are for."""
