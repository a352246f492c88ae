"""Remediations of firmware UUIDs."""
