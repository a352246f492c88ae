"""Facts: what the text of an object says, reduced to values. Imports nothing of ours; pure."""
