"""The steward beside what else could watch a fleet: the same objects and changes, each in its own process."""
