"""`steward reconcile pause` and `resume`: stop repairs of everything, of a namespace, or of one object."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from exporter.cli.output.terminal import complain, say
from exporter.kube.errors import KubeError

from ...act.execute import PlanWriter, WriteOutcome
from ...plan.annotations import PAUSED, RESUMED, resumes
from ...plan.remediations import all_remediations
from ..leases import lease_path
from ..session import Session, add_options, desk, finish
from ..writing import who

__all__ = ["add"]


def add(commands: Any) -> None:
    for name, text, story in (
        (
            "pause",
            "stop repairs",
            f"Sets annotation {PAUSED} on the Lease, on a Namespace or on an object. It holds over restarts.",
        ),
        (
            "resume",
            "let repairs go on",
            f"Takes annotation {PAUSED} off, and sets {RESUMED}: what was reverted before does not count any more.",
        ),
    ):
        parser = commands.add_parser(
            name,
            help=f"{text} of everything, of a namespace, or of one object",
            description=story,
        )
        parser.add_argument("kind", nargs="?", metavar="KIND", help="such as VirtualMachine; default: everything")
        parser.add_argument("name", nargs="?", metavar="NAMESPACE/NAME")
        parser.add_argument("-n", "--namespace", metavar="NAME", help="all objects of this namespace")
        if name == "resume":
            parser.add_argument("--remediation", metavar="ID", help="one whose canary stopped, instead of a pause")
        parser.add_argument("--because", default="", metavar="TEXT", help="why, for whoever finds it")
        add_options(parser, findings=False)
        parser.set_defaults(run=lambda arguments, name=name: finish(_run(arguments, name)))


async def _run(arguments: argparse.Namespace, verb: str) -> int:
    """Raises ValueError for an empty name: of a variable that is not set, it must not mean everything."""
    if "" in (arguments.namespace, arguments.kind, arguments.name):
        raise ValueError(f"a name is empty; to {verb} everything, give none")
    remediation = _remediation(arguments)
    async with desk(arguments) as at:
        what, path = _object(arguments, at) or ("everything", await lease_path(at))
        by = await who(at)
        if remediation:
            what, annotations = f"the canary of remediation {remediation}", _resumed(remediation, by, arguments.because)
        elif verb == "pause":
            annotations = {PAUSED: f"{arguments.because or 'paused'} ({by})", RESUMED: None}
        else:
            annotations = {PAUSED: None, RESUMED: _now()}
        try:
            answer = await PlanWriter(at.transport).annotate(path, annotations)
            why = "" if answer.outcome is WriteOutcome.ACCEPTED else answer.why
        except KubeError as error:
            why = str(error)
    if why:
        complain(f"cannot {verb} {what}: {why}")
        return 2
    done = "begins anew" if remediation else "is paused" if verb == "pause" else "is not paused any more"
    say(f"{what} {done}.\n")
    return 0


def _remediation(arguments: argparse.Namespace) -> str:
    """Empty where none is named. Raises ValueError."""
    named = getattr(arguments, "remediation", None)
    if named is None:
        return ""
    known = sorted(each.id for each in all_remediations())
    if named not in known:
        raise ValueError(f"there is no remediation {named}; there are: {', '.join(known)}")
    if arguments.kind or arguments.namespace:
        raise ValueError("a canary is resumed as a whole; name --remediation alone")
    return str(named)


def _resumed(remediation: str, by: str, because: str) -> dict[str, str | None]:
    return {resumes(remediation): f"{_now()} by {by}{f': {because}' if because else ''}"}


def _object(arguments: argparse.Namespace, at: Session) -> tuple[str, str] | None:
    """What is paused, in words, and the URL path of the object that bears the annotation; None for everything.

    Raises ValueError.
    """
    if arguments.kind:
        kind = at.kinds.get(arguments.kind)
        if kind is None:
            raise ValueError(f"{arguments.kind} is no kind that is repaired; there are: {', '.join(sorted(at.kinds))}")
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
