"""Evictions, migrations, and what is in the way of a drain."""
