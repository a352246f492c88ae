"""One look at kinds that may not be watched: listed once, everywhere or else in some namespaces."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from ...engine.intake import Intake
from ...store.kind import ApiKind
from ...store.source import SyncState
from ..client import Client
from ..errors import AbsentError, StatusError
from ..timeouts import Timeouts
from .decode import Decoded, Decoder
from .listing import paged

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
    return f'you may list {kind.resource} in {places} alone; for the rest grant "list" in all namespaces'
