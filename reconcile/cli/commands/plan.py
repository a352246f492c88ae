"""`steward reconcile plan`: what would be done about each finding, and why not.

For an object whose manifest is in Git a proposal is a patch that kustomize takes: a strategic merge patch where it says
all that is to change by the names of fields. It names the object itself: kustomize then ends with an error where no
resource is that object. What changes a list, or takes the place of a map, is a JSON patch (RFC 6902), with the tests of
the plan: kustomize ends with an error where the manifest has another list than the cluster.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from exporter.cli.input.once import aim_of
from exporter.cli.output.text.layout import Aim, written, yaml_of
from exporter.cli.output.text.screen import width
from exporter.cli.output.text.terminal import one_line, say
from exporter.questions.trust import exit_code

from ...carry_out.attempt import AttemptState, dry_run
from ...carry_out.confirm import Confirmed
from ...carry_out.execute import PlanWriter
from ...cli.plan_text import grouped
from ...decide.repair import Found, Repair
from ...plan.effects import ABSENT, at, before_and_after, shareable
from ...plan.managed_fields import writers
from ...plan.owners import in_git
from ...plan.plan import Add, Delete, Op, Patch, Plan, Refused, Remove, Replace, Test
from ...plan.remediation import Remediation
from ...plan.remediations import all_remediations
from ...plan.requests import metadata
from ..gating import Gating, asked_as, mode_at
from ..plan_text import heading, reservations, shown, shown_by_cause, shown_wide
from ..session import (
    Session,
    answering,
    complain_unanswered,
    finish,
    is_of,
    known_remediation,
    open_session,
    refuse_unfound,
)
from ..several import readable
from ..writing import known


class KustomizePatch(msgspec.Struct, frozen=True, kw_only=True):
    """`content` is the patch, `target` which resource it is for: without it the patch says so itself."""

    content: Mapping[str, Any] | list[Any]
    target: Mapping[str, str] | None = None

    @property
    def form(self) -> str:
        return "strategic merge patch" if self.target is None else "JSON6902 patch"


def kustomized(plan: Plan, whole: Mapping[str, Any]) -> KustomizePatch | None:
    """None where nobody who has its manifest in Git owns the object, or where the change is to none of its manifest.

    `whole` is the object that the plan is bound to.
    """
    step = plan.step
    if plan.proposal is None or not in_git(plan.proposal.owner):
        return None
    if isinstance(step, Delete):
        return KustomizePatch(content={"$patch": "delete", **_named(whole)})
    if not isinstance(step, Patch) or step.subresource or not step.ops:
        return None
    if any(_exactly(op, whole) for op in step.ops if not isinstance(op, Test)):
        return KustomizePatch(content=msgspec.to_builtins(_kept(step.ops)), target=_target(whole))
    merged = _named(whole)
    for op in step.ops:
        if not isinstance(op, Test):
            *parents, last = _tokens(op.path)
            holder = merged
            for token in parents:
                holder = holder.setdefault(token, {})
            holder[last] = None if isinstance(op, Remove) else op.value
    return KustomizePatch(content=merged)


def field_owners(plan: Plan, whole: Mapping[str, Any]) -> Iterator[str]:
    """Each field that a patch changes, and whom managedFields name for it, or for what is above it."""
    ops = plan.step.ops if isinstance(plan.step, Patch) else ()
    for path in dict.fromkeys(op.path.removesuffix("/-") for op in ops if not isinstance(op, Test)):
        above, found = path, writers(whole, path)
        while not found and "/" in above[1:]:
            above = above.rpartition("/")[0]
            found = writers(whole, above)
        who = ", ".join(sorted({each.manager for each in found}))
        of = "" if above == path else f" {above}, above it:"
        yield f"field {path}:{of} {f'written by {who}' if found else 'not in managedFields'}"


def _exactly(op: Op, whole: Mapping[str, Any]) -> bool:
    """Whether a merge could come to something else than the operation."""
    if any(part == "-" or part.isdecimal() for part in _tokens(op.path)):
        return True
    if isinstance(op, Remove | Test):
        return False
    there = at(whole, op.path)
    return isinstance(op.value, list) or (isinstance(op.value, Mapping) and there is not ABSENT)


def _kept(ops: tuple[Op, ...]) -> list[Add | Replace | Remove | Test]:
    """Without tests of what is not changed: that is of the cluster, and may be in no manifest."""
    changed = {op.path for op in ops if not isinstance(op, Test)}
    beside = changed | {path.rpartition("/")[0] for path in changed}
    return [op for op in ops if not isinstance(op, Test) or op.path in beside]


def _named(whole: Mapping[str, Any]) -> dict[str, Any]:
    meta = {key: metadata(whole)[key] for key in ("name", "namespace") if metadata(whole).get(key)}
    return {"apiVersion": whole.get("apiVersion"), "kind": whole.get("kind"), "metadata": meta}


def _target(whole: Mapping[str, Any]) -> dict[str, str]:
    """Names are patterns in a target; those of Kubernetes have no character of these but the dot."""
    group, _, version = str(whole.get("apiVersion")).rpartition("/")
    meta = {key: str(metadata(whole)[key]) for key in ("name", "namespace") if metadata(whole).get(key)}
    named = {key: value.replace(".", "\\.") for key, value in meta.items()}
    return {**({"group": group} if group else {}), "version": version, "kind": str(whole.get("kind")), **named}


def _tokens(path: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]


# Proposals for what Argo CD, Flux or Helm own: as a part of a kustomization.yaml, or as a component in a directory.

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
            raise ValueError(f"{directory} isn't empty. Name a directory for the patches alone")
        for part in parts:
            text = "".join(f"{line}\n" for line in part.comments) + yaml_of(part.patch.content)
            (directory / part.file).write_text(text, encoding="utf-8")
        (directory / _FILE).write_text("".join(f"{line}\n" for line in _hint(parts)) + yaml_of(whole), "utf-8")
    except OSError as error:
        raise ValueError(f"can't write to {directory}: {error.strerror or error}") from error
    names = "".join(f"  {part.file}\n" for part in parts)
    return f"{directory / _FILE} has a component with:\n{names}Name it under `components` of your kustomization.\n"


def _hint(parts: list[_Part]) -> list[str]:
    helm = any(
        line.startswith(("# owner: Helm", "# owner: Flux HelmRelease")) for part in parts for line in part.comments
    )
    return [_HELM.rstrip()] if helm else []


# What each write does to its object, as a unified diff of YAML.

_CONTEXT = 3


def diffs(plans: Iterable[tuple[Repair, Confirmed | None]]) -> str:
    """Of all plans, each after comments that name it; of a finding without a plan why there is none."""
    parts = ["".join(f"{one_line(line)}\n" for line in _lines(*each)) for each in plans]
    return "\n".join(parts) or "# There is nothing to repair.\n"


def _lines(repair: Repair, made: Confirmed | None) -> Iterator[str]:
    yield f"# {heading(repair)}"
    if made is not None:
        yield f"# plan {repair.hash}: {repair.effect}"  # the write itself may say what is withheld
    yield from (f"# {name}: {text}" for name, text in reservations(repair))
    if made is not None:
        yield from _diff(made.plan, made.whole)


def _diff(plan: Plan, whole: Mapping[str, Any]) -> Iterator[str]:
    try:
        before, after = before_and_after(plan.step, whole)
    except ValueError as error:
        yield f"# no diff: {error}"
        return
    now, then = (f"{plan.target} {word}" if of else "/dev/null" for word, of in (("now", before), ("then", after)))
    lines = list(unified_diff(_yaml(before), _yaml(after), now, then, n=_CONTEXT, lineterm=""))
    if not lines and before != after:
        yield "# the change isn't shown: it might be a secret"
    yield from lines


def _yaml(whole: Mapping[str, Any] | None) -> list[str]:
    return yaml_of(shareable(whole)).splitlines() if whole is not None else []


def run(arguments: argparse.Namespace) -> int:
    return finish(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    output = arguments.output
    if arguments.directory is not None and output != "kustomize":
        raise ValueError("--directory is for -o kustomize")
    if arguments.namespace == "":
        raise ValueError("a name is empty. For all namespaces, omit -n")
    asked = [known_remediation(arguments.remediation)] if arguments.remediation else all_remediations()
    if arguments.by_cause and output in ("wide", "diff", "kustomize"):
        raise ValueError("--by-cause is for tables, JSON and YAML")
    async with open_session(arguments) as at:
        observed = await at.observed(arguments.namespace)
        refuse_unfound(observed, arguments.fingerprints)
        gating = Gating(at, observed, known(arguments, at))
        plans = [
            await _repair(at, found, remediation, gating)
            for found in observed.findings
            if _chosen(found, arguments)
            for remediation in answering(found)
            if remediation in asked
        ]
    repairs = [repair for repair, _ in plans]
    perhaps = not arguments.fingerprints and complain_unanswered(observed, asked, arguments.namespace)
    if repairs or not perhaps or output in ("json", "yaml"):
        _show(plans, arguments)
    return exit_code(unknown=perhaps)


def _show(plans: list[tuple[Repair, Confirmed | None]], arguments: argparse.Namespace) -> None:
    output, repairs = arguments.output, [repair for repair, _ in plans]
    if arguments.by_cause:
        say(written(grouped(repairs), output, lambda found: shown_by_cause(found, width())), output)
    elif output == "wide":
        say(aim_of(arguments).command(shown_wide(repairs)), output)
    elif output == "diff":
        say(_remarks_aimed(diffs(plans), aim_of(arguments)))
    elif output == "kustomize" and arguments.directory is not None:
        say(component(plans, arguments.directory))
    elif output == "kustomize":
        say(_remarks_aimed(snippet(plans), aim_of(arguments)), "yaml")
    else:
        tried = _tried(repairs) if arguments.dry_run else ""
        say(written(repairs, output, lambda found: readable(f"{shown(found)}{tried}", arguments)), output)


def _remarks_aimed(text: str, aim: Aim) -> str:
    """What is no remark is of an object, and stays as that has it."""
    lines = text.splitlines(keepends=True)
    return "".join(aim.command(line) if line.startswith("#") else line for line in lines)


def _tried(repairs: Sequence[Repair]) -> str:
    """How many writes the API server took as a dry run: a plan that it took looks like one that was not tried."""
    asked = [each for each in repairs if each.hash and each.proposal is None]
    taken = sum(each.refused is None for each in asked)
    return f"\nDry run: the API server and its webhooks accept {taken} of {len(asked)} writes.\n" if asked else ""


def _chosen(found: Found, arguments: argparse.Namespace) -> bool:
    wanted = arguments.fingerprints
    own = arguments.namespace in (None, found.namespace)
    return own and (not wanted or any(is_of(found, each) for each in wanted))


async def _repair(
    at: Session, found: Found, remediation: Remediation, gating: Gating
) -> tuple[Repair, Confirmed | None]:
    mode = await mode_at(at, remediation.id, found.namespace)
    repair = Repair.of(found, remediation.id, mode, time.time())
    made = await at.planned(found, remediation)
    if isinstance(made, Refused):
        return repair.unplanned(made), None
    repair = repair.planned(made.plan)
    if at.arguments.dry_run and made.plan.proposal is None:
        result = await dry_run(made, PlanWriter(at.transport), at.reads, at.kinds)
        if result.state != AttemptState.DRY:
            return repair.unplanned(Refused(result.refused, result.why)), None
    if made.plan.proposal is not None:
        return repair, made
    return repair.held_up(await gating.blocked(found, remediation, made, asked_as(mode))), made
