"""Templates, and how they are rendered."""
