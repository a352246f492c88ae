"""The commands of `steward`, one module each: `add(subparsers)` declares it, `run(arguments)` gives the exit code."""
