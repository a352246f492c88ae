"""A second look, right after a write, at who might use what it released: by what is read then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.store.record import UnansweredError
from exporter.store.source import UNREADABLE, Source, Undecodable

from ..fresh.cluster import FreshCluster, UnreadError
from ..plan.plan import Plan, Refused
from ..plan.remediation import Remediation, Scene
from ..plan.undo import Undo
from .reading import Reads, satisfy, survey

__all__ = ["look_again"]

_ROUNDS = 12  # as of `confirm`


async def look_again(
    about: Remediation | Undo, plan: Plan, before: Mapping[str, Any], reads: Reads, now: float
) -> str | Refused:
    """One sentence with who does, empty for nobody; Refused where that can't be seen. `before` is the object as it was.

    Never raises for what the API answers.
    """
    look = about.looks_again
    if look is None:
        return ""
    kinds = {kind.name: kind for kind in about.reads}
    cluster = FreshCluster(kinds.values(), about.indexes)
    versions = await survey(cluster, reads, kinds)
    for _ in range(_ROUNDS):
        answer: str | Refused | None = None
        try:
            answer = look(plan, before, Scene(cluster, about, now))
        except UnreadError:
            pass  # it is read below
        except UnansweredError as error:
            answer = Refused("everything_seen", f"who uses what it released can't be seen: {error}")
        except Exception as error:  # noqa: BLE001 # an object that nobody thought of must not end the process
            return Refused("everything_seen", f"{about} raised {type(error).__name__}: {error}; please report it")
        needs = cluster.take_needs()
        if not needs and answer is not None:
            return (_unseen(about, cluster) if answer == "" else None) or answer
        await satisfy(cluster, reads, kinds, versions, needs)
    return Refused("everything_seen", f"what is read has no end: it goes on after {_ROUNDS} rounds")


def _unseen(about: Remediation | Undo, cluster: FreshCluster) -> Refused | None:
    """What could not be read may use it."""
    for kind in about.reads:
        source = cluster.get(Source, "", kind.name)
        unread = [each for each in cluster.sharing(UNREADABLE, kind.name) if isinstance(each, Undecodable)]
        if source is not None and source.current and not unread:
            continue
        why = unread[0].sentence if unread else source.why if source is not None else "nobody asked"
        return Refused("everything_seen", f"who uses what it released can't be seen: {kind.resource}: {why}")
    return None
