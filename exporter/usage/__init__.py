"""Counts that are updated with each change, and never counted anew."""
