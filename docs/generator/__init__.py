"""Writes what is generated: `python -m docs.generator`, and with `--verify` says what is out of date."""
