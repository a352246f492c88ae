"""The configuration: what can be set, in a file, the environment and flags; and what is wrong with what was set."""
