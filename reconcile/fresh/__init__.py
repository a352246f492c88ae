"""A cluster that is read as it is asked, and what it needs for that. Pure."""
