"""The configuration of a command: its file, the environment, and those of its flags that were given."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ...checks import all_checks
from ...config.loading import Loaded, Sources, load
from ...config.mistakes import Mistakes, MistakesError
from ...config.names import CONFIG_VARIABLE, FLAGS
from ..output.text.logs import log_as


def sources_of(arguments: argparse.Namespace) -> Sources:
    named = os.environ.get(CONFIG_VARIABLE)
    given = {key: getattr(arguments, flag[2:].replace("-", "_"), None) for key, flag in FLAGS.items()}
    flags = {key: text for key, text in given.items() if text is not None}
    return Sources(arguments.config or (Path(named) if named else None), os.environ, flags)


def configured(arguments: argparse.Namespace) -> Loaded:
    """The configuration, with logging set up by it where there are log lines. Raises MistakesError."""
    loaded = load(all_checks(), sources_of(arguments))
    if isinstance(loaded, Mistakes):
        raise MistakesError(str(loaded))
    if arguments.logs or arguments.log_level:
        log_as(loaded.config.log_level, loaded.config.log_format)
    return loaded
