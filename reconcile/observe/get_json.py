"""One GET of JSON from a server that is not Kubernetes': with a token out of a file, a CA, and an end."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

import aiohttp

from exporter.kube.body import whole
from exporter.kube.errors import KubeError

from .source import bearer

__all__ = ["AskError", "ask"]

_BODY_BYTES = 32 * 2**20


class AskError(Exception):
    """There is no answer; the text is one sentence."""


async def ask(
    url: str, query: Mapping[str, str], *, token_file: str | None, ca_file: str | None, seconds: float
) -> bytes:
    """The body of a 200. Raises AskError. Files are read anew each time: tokens and certificates are replaced.

    A redirect is not followed: the token is for this server.
    """
    try:
        headers = {"Accept": "application/json", **bearer(token_file or "")}
        tls = ssl.create_default_context(cafile=ca_file) if ca_file else True
        timeout = aiohttp.ClientTimeout(total=seconds)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, params=query, headers=headers, ssl=tls, allow_redirects=False) as response,
        ):
            body = await whole(response, _BODY_BYTES)
            if response.status != 200:
                shown = body[:200].decode("utf-8", "replace").strip()
                raise AskError(f"GET {url} was answered with {response.status}: {shown}")
            return body
    except TimeoutError as error:
        raise AskError(f"GET {url} was not answered within {seconds:g} s") from error
    except (aiohttp.ClientError, OSError, ValueError, KubeError) as error:
        raise AskError(f"GET {url} failed: {error or type(error).__name__}") from error
