"""Checks of what the steward itself can see."""
