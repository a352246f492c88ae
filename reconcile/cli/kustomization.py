"""Proposals for what Argo CD, Flux or Helm own: as a part of a kustomization.yaml, or as a component in a directory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from exporter.cli.output.text.structured import yaml_of
from exporter.cli.output.text.terminal import one_line

from ..confirm.confirm import Confirmed
from ..plan.kustomize import KustomizePatch, field_owners, kustomized
from ..show.plans import Repair
from .plan_text import heading, reservations

_FILE = "kustomization.yaml"
_NOTHING = "# No plan is for an object that Argo CD, Flux or Helm owns and whose manifest it would change.\n"
_HELM = (
    "# Helm has no patches of its own: give them to a post-renderer, or to spec.postRenderers of Flux's HelmRelease.\n"
)


class _Part(NamedTuple):
    comments: list[str]
    file: str
    patch: KustomizePatch


def _parts(plans: Iterable[tuple[Repair, Confirmed | None]]) -> Iterator[_Part]:
    for repair, made in plans:
        patch = kustomized(made.plan, made.whole) if made is not None else None
        if made is None or patch is None:
            continue
        about = [heading(repair), *(f"{name}: {text}" for name, text in reservations(repair)), patch.form]
        comments = [f"# {one_line(text)}" for text in (*about, *field_owners(made.plan, made.whole))]
        target = made.plan.target
        place = "-".join(filter(None, (target.kind, target.namespace, target.name))).lower()
        yield _Part(comments, f"{re.sub(r'[^a-z0-9.-]', '-', place)[:180]}-{repair.hash}.yaml", patch)


def snippet(plans: Iterable[tuple[Repair, Confirmed | None]]) -> str:
    """`patches` for a kustomization.yaml, with the patches in it."""
    parts = list(_parts(plans))
    if not parts:
        return f"{_NOTHING}patches: []\n"
    lines = [*_hint(parts), "patches:"]
    for part in parts:
        lines += [f"  {line}" for line in part.comments]
        lines.append("  - patch: |-")
        lines += [f"      {line}" for line in yaml_of(part.patch.content).splitlines()]
        if part.patch.target is not None:
            lines.append("    target:")
            lines += [f"      {line}" for line in yaml_of(part.patch.target).splitlines()]
    return "".join(f"{line}\n" for line in lines)


def component(plans: Iterable[tuple[Repair, Confirmed | None]], directory: Path) -> str:
    """Writes a component of kustomize, a file a patch, into a directory that is empty or not there; what was written.

    Raises ValueError where it can't be written there.
    """
    parts = list(_parts(plans))
    if not parts:
        return _NOTHING
    listed = [{"path": part.file, **({"target": part.patch.target} if part.patch.target else {})} for part in parts]
    whole: dict[str, Any] = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", "patches": listed}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise ValueError(f"{directory} is not empty; name a directory for the patches alone")
        for part in parts:
            text = "".join(f"{line}\n" for line in part.comments) + yaml_of(part.patch.content)
            (directory / part.file).write_text(text, encoding="utf-8")
        (directory / _FILE).write_text("".join(f"{line}\n" for line in _hint(parts)) + yaml_of(whole), "utf-8")
    except OSError as error:
        raise ValueError(f"cannot write to {directory}: {error.strerror or error}") from error
    names = "".join(f"  {part.file}\n" for part in parts)
    return f"{directory / _FILE} has a component with:\n{names}Name it under `components` of your kustomization.\n"


def _hint(parts: list[_Part]) -> list[str]:
    helm = any(
        line.startswith(("# owner: Helm", "# owner: Flux HelmRelease")) for part in parts for line in part.comments
    )
    return [_HELM.rstrip()] if helm else []
