"""How an annotation is taken back that was written for its event alone."""

from __future__ import annotations

from typing import Any

from exporter.store.kind import ApiKind

from ..undo import Given, Undo


def annotation_only(remediation: str, kind: ApiKind[Any], then: str) -> Undo:
    """The undo of a remediation that annotates objects of this kind; `then` are sentences about what follows."""
    return Undo(
        id=remediation,
        reads=(kind,),
        weigh=lambda taken, _: Given(effect=f"{taken.plan.target} no longer has the annotation. {then}"),
    )
