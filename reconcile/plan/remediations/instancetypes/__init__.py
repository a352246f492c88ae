"""Remediations of instancetypes, preferences and their ControllerRevisions."""
