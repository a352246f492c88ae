"""`steward reconcile pause` and `resume`: stop repairs of everything, of a namespace, or of one object."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime

from exporter.cli.output.text.terminal import complain, say
from exporter.kube.errors import KubeError

from ...carry_out.execute import PlanWriter, WriteOutcome
from ...plan.annotations import PAUSED, RESUMED, resumes
from ...plan.requests import NOT_APPROVED
from ..leases import lease_path
from ..session import Session, finish, known_remediation, open_session
from ..writing import who


def run(arguments: argparse.Namespace) -> int:
    return finish(_run(arguments, arguments.verb))


async def _run(arguments: argparse.Namespace, verb: str) -> int:
    """Raises ValueError for an empty name: of a variable that is not set, it must not mean everything."""
    if "" in (arguments.namespace, arguments.kind, arguments.name):
        raise ValueError(f"a name is empty. To {verb} everything, omit all names")
    remediation = _remediation(arguments)
    async with open_session(arguments) as at:
        what, path = _object(arguments, at) or ("everything", await lease_path(at))
        by = await who(at)
        if remediation:
            what, annotations = f"the canary of remediation {remediation}", _resumed(remediation, by, arguments.because)
        elif verb == "pause":
            annotations = {PAUSED: f"{arguments.because or 'paused'} ({by})", RESUMED: None}
        else:
            annotations = {PAUSED: None, RESUMED: _now()}
        why, still = await _annotated(at, path, annotations), ""
        if NOT_APPROVED in why and annotations.get(PAUSED, "") is None:
            # Whoever may not approve ends a pause of their own, and no more.
            still, why = why, await _annotated(at, path, {PAUSED: None})
    if why:
        complain(f"can't {verb} {what}: {why}")
        return 2
    done = "starts again" if remediation else "is paused" if verb == "pause" else "is no longer paused"
    say(f"{what[0].upper()}{what[1:]} {done}.\n")
    if still:
        complain(f"earlier reverts still count: {still}")
    return 0


async def _annotated(at: Session, path: str, annotations: Mapping[str, str | None]) -> str:
    """Why it could not be, or nothing."""
    try:
        answer = await PlanWriter(at.transport).annotate(path, annotations)
    except KubeError as error:
        return str(error)
    return "" if answer.outcome is WriteOutcome.ACCEPTED else answer.why


def _remediation(arguments: argparse.Namespace) -> str:
    """Empty where none is named. Raises ValueError."""
    named = getattr(arguments, "remediation", None)
    if named is None:
        return ""
    if arguments.kind or arguments.namespace:
        raise ValueError("a canary can only be resumed as a whole. Set only --remediation")
    return known_remediation(named).id


def _resumed(remediation: str, by: str, because: str) -> dict[str, str | None]:
    return {resumes(remediation): f"{_now()} by {by}{f': {because}' if because else ''}"}


def _object(arguments: argparse.Namespace, at: Session) -> tuple[str, str] | None:
    """What is paused, in words, and the URL path of the object that bears the annotation; None for everything.

    Raises ValueError.
    """
    if arguments.kind:
        kind = at.kinds.get(arguments.kind)
        if kind is None:
            raise ValueError(f"kind {arguments.kind} has no repairs. Kinds with repairs: {', '.join(sorted(at.kinds))}")
        namespace, _, name = (arguments.name or "").rpartition("/")
        if not name or bool(namespace) is not kind.namespaced:
            raise ValueError(f"name the {kind.name} as {'NAMESPACE/NAME' if kind.namespaced else 'NAME'}")
        within = f"/namespaces/{namespace}" if namespace else ""
        return f"{kind.name} {arguments.name}", f"{kind.base(kind.versions[0])}{within}/{kind.plural}/{name}"
    if arguments.namespace:
        return f"namespace {arguments.namespace}", f"/api/v1/namespaces/{arguments.namespace}"
    return None


def _now() -> str:
    """To the millisecond: it has to be later than what came back a moment ago."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
