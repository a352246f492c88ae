"""What every case of the sample fleet is made of: its objects, and a sentence for people on each that is wrong."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..apiserver.registry import timestamp
from ..apiserver.resources import Obj


@dataclass(frozen=True, slots=True)
class Trouble:
    """One object with which something is wrong."""

    kind: str
    namespace: str
    name: str
    wrong: str


@dataclass(frozen=True, slots=True)
class Case:
    objects: list[Obj]
    troubles: list[Trouble]


def deleting(obj: Obj, since: datetime, finalizers: list[str] | None = None) -> Obj:
    """The object while it is being deleted."""
    meta = obj["metadata"] | {"deletionTimestamp": timestamp(since), "deletionGracePeriodSeconds": 0}
    if "generation" in meta:
        meta["generation"] += 1
    if finalizers is not None:
        meta["finalizers"] = finalizers
    return obj | {"metadata": meta}


def trouble(obj: Obj, wrong: str) -> Trouble:
    meta = obj["metadata"]
    return Trouble(obj["kind"], meta.get("namespace", ""), meta["name"], wrong)


def minutes(ago: timedelta) -> str:
    minutes = int(ago.total_seconds() // 60)
    return f"{minutes // 60} hours" if minutes >= 120 else f"{minutes} minutes"
