"""What people ask for by the page: annotations that approve or pause, written with the token of who asks.

The API server decides by that token who it is and what they may do, and its audit log has their name. Nothing here is
written with the permissions of the sidecar.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from exporter.kube.errors import KubeError
from exporter.kube.reviews import own_name
from exporter.kube.transport import Transport
from exporter.store.kind import ApiKind
from exporter.store.record import Ref

from ..confirm.reading import ApiReads, object_path
from .events import event_on
from .execute import PlanWriter, WriteOutcome

__all__ = ["OnBehalf", "RefusedError"]

log = logging.getLogger(__name__)


class RefusedError(Exception):
    """Nothing was written, or nobody knows; the text is one sentence. `status` is what the caller is answered."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class OnBehalf:
    def __init__(self, transport: Transport, kinds: Mapping[str, ApiKind[Any]], clock: Callable[[], float]) -> None:
        """Of the transport only the server and how it is trusted are used, and never its credentials."""
        self._transport, self._kinds, self._clock = transport, kinds, clock

    async def annotate(
        self, token: str, target: Ref, reason: str, annotations: Callable[[str], Mapping[str, str | None]]
    ) -> str:
        """Sets annotations, which are made with the name of who asks, on an object; gives that name. An Event of this
        `reason` says so where they may create one. Raises RefusedError.
        """
        kind = self._kinds.get(target.kind)
        if kind is None:
            raise RefusedError(f"{target.kind} is no kind that is repaired", 400)
        own = self._transport.bearing(token)
        try:
            by = await own_name(own)
            version = await ApiReads(own).served(kind)
            writer = PlanWriter(own)
            wanted = annotations(by)
            path = object_path(kind, version, target.namespace, target.name)
            answer = await writer.annotate(path, wanted, uid=target.uid)
            if answer.outcome is not WriteOutcome.ACCEPTED:
                status = 403 if answer.code == 403 else 502 if answer.outcome is WriteOutcome.UNCLEAR else 409
                raise RefusedError(f"{target} is not annotated: {answer.why}", status)
            log.info('event="asked for" what=%s by="%s" object="%s"', reason, by, target)
            api_version = f"{kind.group}/{version}" if kind.group else version
            said = "; ".join(f"{name}: {text}" for name, text in wanted.items() if text is not None)
            made = event_on(
                target, api_version, secrets.token_hex(8), reason, f"{by} by the page: {said}", self._clock()
            )
            why = await writer.record(*made)
            if why:
                log.info('event="no Event" why="%s"', why)
            return by
        except KubeError as error:
            code = getattr(error, "code", 0)
            raise RefusedError(
                f"{target} is not annotated: {error}", code if code in (401, 403, 404) else 502
            ) from error
        except ValueError as error:
            raise RefusedError(str(error), 400) from error
        finally:
            await own.close()
