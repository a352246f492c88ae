"""A sample cluster for whoever has none: `steward demo` serves a fleet with faults, plays its story, repairs some."""
