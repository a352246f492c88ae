"""Guards: what must hold before a write, what is read to know that, and the function that refuses where it does not.

A guard is called as the function that it is. It names the guards that it asks itself, and has their preconditions and
what they read. A plan is the last of them, and so is what weighs an undo: of a remediation all that follows from these.

A refusal for one object that can't be read has the object and what to do about it: it may be in the way of many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

import msgspec

from exporter.facts.record import Ref
from exporter.store.index import Index
from exporter.store.kind import ApiKind, Kind
from exporter.store.source import Undecodable

from .plan import Refused

P = ParamSpec("P")
T = TypeVar("T", covariant=True)


class Needs:
    """Preconditions by their names, each with what must hold, and what is read to know it.

    `of` are sentences by name, and guards with theirs, in the order in which the manual has them; of two for one name
    the first counts. `reads` and `indexes` are what is read beside these.
    """

    def __init__(
        self, *of: Needs | Mapping[str, str], reads: Iterable[ApiKind[Any]] = (), indexes: Iterable[Index] = ()
    ) -> None:
        holds: dict[str, str] = {}
        for each in of:
            for name, what in (each.holds if isinstance(each, Needs) else each).items():
                holds.setdefault(name, what)
        asked = [each for each in of if isinstance(each, Needs)]
        self.holds: Mapping[str, str] = holds
        self.reads: tuple[ApiKind[Any], ...] = tuple(_once(*(each.reads for each in asked), reads))
        self.indexes: tuple[Index, ...] = tuple(_once(*(each.indexes for each in asked), indexes))


class Guard(Needs, Generic[P, T]):
    """A function that may refuse, with the names that are its own."""

    def __init__(self, function: Callable[P, T], needs: Needs) -> None:
        super().__init__(needs)
        self._function = function
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._function(*args, **kwargs)

    def but(self, *names: str) -> Guard[P, T]:
        """The same where these can't fail."""
        kept = {name: what for name, what in self.holds.items() if name not in names}
        return Guard(self._function, Needs(kept, reads=self.reads, indexes=self.indexes))


class Guarded(ABC):
    """A reader of the cluster by guards alone: what it declares follows from them."""

    @property
    @abstractmethod
    def needs(self) -> Needs: ...

    @property
    def preconditions(self) -> Mapping[str, str]:
        """The closed set of names that it may refuse with, beside those of all, each with what must hold."""
        return self.needs.holds

    @property
    def reads(self) -> tuple[ApiKind[Any], ...]:
        return self.needs.reads

    @property
    def indexes(self) -> tuple[Index, ...]:
        return self.needs.indexes

    @property
    def requires(self) -> tuple[Kind[Any], ...]:
        return ()


Rests: TypeAlias = Needs | Mapping[str, str]
"""What a guard rests on: its own sentences by name, or others."""


def guard(
    *of: Rests, reads: Iterable[ApiKind[Any]] = (), indexes: Iterable[Index] = ()
) -> Callable[[Callable[P, T]], Guard[P, T]]:
    """Makes a guard of a function, by what it rests on and what it reads itself."""
    needs = Needs(*of, reads=reads, indexes=indexes)
    return lambda function: Guard(function, needs)


def when(case: str, *of: Rests) -> Needs:
    """What has to hold in one case alone."""
    needs = Needs(*of)
    return Needs(
        {name: f"{case}: {what}" for name, what in needs.holds.items()}, reads=needs.reads, indexes=needs.indexes
    )


def refused(guards: Iterable[Needs], *args: Any) -> Refused | None:
    """What the first of them says that refuses."""
    answers = (each(*args) for each in guards if isinstance(each, Guard))
    return next((each for each in answers if each is not None), None)


def _once(*many: Iterable[T]) -> Iterable[T]:
    return dict.fromkeys(each for some in many for each in some)


def undecodable(record: Undecodable, why: str = "") -> Refused:
    """For an object that can't be decoded; `why` is a sentence, else the record's."""
    return unanswered(why or record.sentence, record.ref, record.resource)


def unanswered(why: str, ref: Ref | None, resource: str = "") -> Refused:
    """For an object of which something can't be read; for any other reason where there is none."""
    if ref is None:
        return Refused("everything_seen", why)
    within = f" -n {ref.namespace}" if ref.namespace else ""
    look = f"kubectl get {resource or ref.kind.lower()}{within} {ref.name} -o yaml"
    return Refused("everything_seen", why, str(ref), f"correct what could not be read, or delete it: {look}")


class Unseen(msgspec.Struct, frozen=True):
    """One object that can't be read, as in "Pod shop/db", and how many repairs it is in the way of."""

    object: str
    repairs: int
    why: str
    remedy: str


def gathered(refusals: Iterable[Refused | None]) -> list[Unseen]:
    """The causes of refusals that are one object each, the worst first."""
    found: dict[str, list[Refused]] = {}
    for each in refusals:
        if each is not None and each.unseen:
            found.setdefault(each.unseen, []).append(each)
    causes = [Unseen(name, len(each), each[0].why, each[0].remedy) for name, each in found.items()]
    return sorted(causes, key=lambda each: (-each.repairs, each.object))
