"""Keeps the records of each kind equal to the API server's objects."""
