"""The commands of `steward`, one module each, which defines `run(arguments)`: it returns the exit code.

What a command is called with is declared in the module of its name in `exporter.cli.parsers`, without what it needs to
run: that is imported when the command is asked for.
"""
