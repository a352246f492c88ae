"""What several kinds have in common."""
