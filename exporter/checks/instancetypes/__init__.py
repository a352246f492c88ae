"""Checks of instancetypes, preferences and their ControllerRevisions."""
