"""Commands that a text tells a person to run next: for the same cluster as the one that they ran."""

from __future__ import annotations

import argparse
import re
import shlex

from exporter.cli.output.text.screen import width

from .fitting import fitted

__all__ = ["aimed", "readable"]

_VERBS = "apply|approve|pause|plan|remove|resume|undo|unguard"
_ASKING = re.compile(rf"steward reconcile (?:{_VERBS})\b(?:[^;,`\n]*[^;,`\n\s.])?")


def aimed(text: str, arguments: argparse.Namespace) -> str:
    """A text in which each command that asks a cluster has the kubeconfig and the context of this one."""
    given = (("--kubeconfig", arguments.kubeconfig), ("--context", arguments.context))
    own = "".join(f" {option} {shlex.quote(value)}" for option, value in given if value)
    return _ASKING.sub(lambda found: found.group() + own, text) if own else text


def readable(text: str, arguments: argparse.Namespace) -> str:
    """A text with such commands, as wide as the terminal: what is broken afterwards could not be aimed."""
    return fitted(aimed(text, arguments), width())
