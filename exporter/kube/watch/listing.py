"""All objects of a kind: in pages, or as the beginning of a watch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from ...engine.intake import Intake
from ...store.decode import by_name
from ...store.kind import ApiKind
from ...store.source import SyncState
from ..client import Client, Timeouts
from ..errors import AbsentError, StatusError
from ..get_json import ListBounds
from .decode import Decoded, Decoder, WatchEvent

log = logging.getLogger(__name__)
_RESTARTS = 4  # of a list whose snapshot expired between two pages; each with pages twice as large


class ListOutcome(NamedTuple):
    """`objects` are by namespace and name; `version` is the list's, empty if the response was no list."""

    objects: dict[tuple[str, str], Decoded]
    version: str


async def paged(
    client: Client, decoder: Decoder, kind: ApiKind[Any], served: str, pace: Timeouts, namespace: str = ""
) -> ListOutcome:
    """All pages of one snapshot, of one namespace or of all.

    A snapshot that expires in between is left, and all is read again from a new one: pages of two snapshots would miss
    what moved between them, and a list in one body has no limit. Raises StatusError 410 if that fails again and again,
    and MalformedError where the list does not end.
    """
    for restart in range(_RESTARTS):
        try:
            return await _snapshot(client, decoder, kind, served, pace.page << restart, namespace)
        except _ExpiredError as error:
            log.info('event="list restarted" kind=%s why="%s"', kind.name, error.__cause__)
        await asyncio.sleep(min(pace.first_wait * 2**restart, pace.longest_wait))
    try:
        return await _snapshot(client, decoder, kind, served, pace.page << _RESTARTS, namespace)
    except _ExpiredError as error:
        raise StatusError(410, f"the list expired between two pages {_RESTARTS + 1} times in a row") from error


class _ExpiredError(Exception):
    """The snapshot expired between two pages."""


async def _snapshot(
    client: Client, decoder: Decoder, kind: ApiKind[Any], served: str, limit: int, namespace: str
) -> ListOutcome:
    objects: dict[tuple[str, str], Decoded] = {}
    bounds, rest = ListBounds(kind.resource), ""
    while True:
        try:
            page = decoder.page(await client.page(kind, served, rest, limit, namespace))
        except StatusError as error:
            if error.code == 410 and rest:
                raise _ExpiredError from error
            raise
        bounds.add_page(len(page.objects), page.rest)
        objects |= by_name(page.objects)
        rest = page.rest
        if not rest:
            return ListOutcome(objects, page.version)


class Initial:
    """The objects of a streaming list, while it comes: what changes meanwhile comes in between."""

    def __init__(self, of: str) -> None:
        """`of` is what is listed."""
        self.objects: dict[tuple[str, str], Decoded] = {}
        self._bounds = ListBounds(of)

    def take(self, event: WatchEvent) -> None:
        """Raises MalformedError where the list does not end."""
        if event.decoded is None:
            return
        self._bounds.add(1)
        key = event.decoded.namespace, event.decoded.name
        if event.type == "DELETED":
            self.objects.pop(key, None)
        else:
            self.objects[key] = event.decoded


# One look at kinds that may not be watched: listed once, everywhere or else in some namespaces.

_EVERYWHERE = ""


async def look_once(
    client: Client, intake: Intake, kinds: Iterable[ApiKind[Any]], namespaces: Collection[str], pace: Timeouts
) -> None:
    """Takes in each kind that may be listed, if not watched: in the whole cluster, else in all of the namespaces, where
    it has any. The others are left as they are. Raises KubeError for what is no refusal.
    """
    for kind in kinds:
        if (everything := await _listed(client, kind, (_EVERYWHERE,), pace)) is not None:
            await intake.swap(kind, everything)
            intake.sync_state(kind, SyncState.READ)
        elif namespaces and kind.namespaced and (some := await _listed(client, kind, namespaces, pace)) is not None:
            await intake.swap(kind, some)
            intake.seen_within(kind, namespaces, _why(kind, namespaces))


async def _listed(
    client: Client, kind: ApiKind[Any], namespaces: Collection[str], pace: Timeouts
) -> dict[tuple[str, str], Decoded] | None:
    """None where that is not allowed."""
    decoder = Decoder(kind)
    objects: dict[tuple[str, str], Decoded] = {}
    try:
        served = await client.served_version(kind)
        for namespace in namespaces:
            objects |= (await paged(client, decoder, kind, served, pace, namespace)).objects
    except AbsentError:
        return None
    except StatusError as error:
        if error.code == 403:
            return None
        raise
    return objects


def _why(kind: ApiKind[Any], namespaces: Collection[str]) -> str:
    places = ", ".join(sorted(namespaces))
    return f'you have permission to list {kind.resource} only in {places}. For the rest, grant "list" in all namespaces'
