"""Indexes: by what records belong together, one module for each set of relations."""
