"""Checks of firmware UUIDs and serials."""
