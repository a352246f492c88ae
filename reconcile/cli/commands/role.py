"""`steward reconcile role`: the permissions that a configuration needs, as manifests.

Their YAML is read and compared by people: mappings and texts are in lines of their own, lists in one.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from exporter.checks import all_checks
from exporter.cli.output.text.terminal import say
from exporter.config.documents import in_yaml
from exporter.config.file import scalar

from ...permissions.accounts import ServiceAccount
from ...permissions.rbac import guarded, needed
from ...plan.remediations import all_remediations
from ..session import configured

_NAME = re.compile(r"[a-z][a-z0-9./-]*", re.IGNORECASE)


def in_lines(manifests: Iterable[Mapping[str, Any]]) -> str:
    """One document each."""
    return "---\n".join("".join(f"{line}\n" for line in _mapping(each)) for each in manifests)


def _mapping(found: Mapping[str, Any]) -> Iterator[str]:
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield f"{name}:"
            yield from (f"  {line}" for line in _mapping(value))
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield f"{name}:"
            for each in value:
                first, *rest = _mapping(each)
                yield f"  - {first}"
                yield from (f"    {line}" for line in rest)
        elif isinstance(value, str) and "\n" in value:
            yield f"{name}: |-"
            yield from (f"  {line}" for line in value.splitlines())
        elif isinstance(value, list):
            yield f"{name}: [{', '.join(map(_scalar, value))}]"
        else:
            yield f"{name}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    plain = isinstance(value, str) and _NAME.fullmatch(value) and scalar(value) == value
    return str(value) if plain else in_yaml(value)


def run(arguments: argparse.Namespace) -> int:
    config, _ = configured(arguments)
    account = ServiceAccount(arguments.namespace, arguments.service_account)
    remediations = all_remediations()
    policy = () if arguments.no_policy else guarded(config, remediations, account)
    say(in_lines([*policy, *needed(config, remediations, all_checks(), account)]))
    return 0
