"""What can be set of what is outside of the cluster: pages that ours link to, and the Prometheus that is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import quote, urlsplit

from pydantic import AfterValidator, Strict, WithJsonSchema, model_validator

from .forms import OptionalHostName, OptionalText, Text, setting
from .mistakes import nearest, quoted
from .section import Section

# URLs of servers that are asked.


def is_local(host: str) -> bool:
    """Whether what is sent there does not leave this host."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        sound = False
    if not sound or not text.isprintable() or " " in text or parts.query or parts.fragment:
        raise ValueError(f"{quoted(text)} is no URL; write it as https://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL must not have a password in it; use tokenFile")
    return text.rstrip("/")


URL = Annotated[Text, AfterValidator(_url), WithJsonSchema({"type": "string", "pattern": "^https?://"})]
OptionalURL = Annotated[URL | None, WithJsonSchema({"type": "string", "pattern": "^https?://"})]


FIELDS = (
    *("cluster", "kind", "namespace", "name", "vm", "node", "network", "feature"),
    *("check", "reason", "severity", "fingerprint", "cause"),
)
"""What a link may have in braces."""

_PARTS = re.compile(r"{([^{}]*)}|([{}])")
_METRIC_LABEL = r"[a-zA-Z_][a-zA-Z0-9_]*"


def _template(text: str) -> str:
    """Raises ValueError. Only what follows on the host may have fields: a name in a cluster chooses no host."""
    for field, brace in _PARTS.findall(text):
        if brace:
            raise ValueError(f"{quoted(text)} has a single brace; write {{name}} for a name, %7B and %7D for braces")
        if field not in FIELDS:
            near = nearest(field, FIELDS)
            hint = f"did you mean {{{near}}}?" if near else f"there are {', '.join(f'{{{each}}}' for each in FIELDS)}"
            raise ValueError(f"{quoted(text)} has {{{field[:40]}}}, which stands for nothing; {hint}")
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or not text.isascii() or not text.isprintable() or any(each in text for each in " \"'<>\\^`"):
        raise ValueError(f"{quoted(text)} is no link; write it as https://HOST/PATH with {{name}} and the like")
    if re.search("[{}]", parts.scheme + parts.netloc):
        raise ValueError(f"{quoted(text)} has a field in its host; fields may stand behind it only")
    if "@" in parts.netloc:
        raise ValueError("a link must not have a user or a password in it: everybody who opens the page sees it")
    return text


def _label(text: str) -> str:
    if not re.fullmatch(_METRIC_LABEL, text):
        raise ValueError(f"{quoted(text)} can't be the name of a label")
    return text


_Template = Annotated[Text, AfterValidator(_template), WithJsonSchema({"type": "string", "pattern": "^https?://"})]
_LabelName = Annotated[str, AfterValidator(_label), WithJsonSchema({"type": "string", "pattern": f"^{_METRIC_LABEL}$"})]


class Link(Section):
    """A page of others. It is shown for objects of its kinds, where all that its URL asks for is known."""

    name: OptionalText = setting(None, "What it is called.", "text")
    url: Annotated[_Template | None, WithJsonSchema({"type": "string", "pattern": "^https?://"})] = setting(
        None, "Its address, with fields in braces.", "link"
    )
    kinds: Annotated[tuple[Text, ...], Strict(False)] = setting(
        (), "Of which objects it is a page; of all, where there is none.", "list of kinds"
    )

    @model_validator(mode="after")
    def _whole(self) -> Link:
        missing = [name for name in ("name", "url") if not getattr(self, name)]
        if missing:
            raise ValueError(f"a link needs a {' and a '.join(missing)}")
        return self

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(field for field, _ in _PARTS.findall(self.url or ""))

    def address(self, values: Mapping[str, str]) -> str:
        """With the values in it, each percent-encoded; empty where one is not known, or would be taken for a step of
        the path.
        """
        if any(values.get(field, "") in ("", ".", "..") for field in self.fields):
            return ""
        return _PARTS.sub(lambda found: quote(values[found[1]], safe=""), self.url or "")


class PrometheusSettings(Section):
    """The Prometheus that scrapes this steward. Of it pages get what was; without a URL they do without."""

    url: OptionalURL = setting(
        None, "The Prometheus that scrapes this steward. Without it nothing is drawn of what was.", "URL"
    )
    token_file: OptionalText = setting(None, "File with the bearer token to send; read anew each time.", "text")
    ca_file: OptionalText = setting(None, "File with the CA certificates to trust instead of the system's.", "text")
    server_name: OptionalHostName = setting(
        None, "The name that its certificate has to be for. Without it: the URL's host.", "host name"
    )
    cluster: OptionalText = setting(
        None, "Value of the label `cluster` of this steward's series, where it has those of several.", "text"
    )
    namespace_label: _LabelName = setting(
        "namespace", "The label that the namespace of an object has there.", "name of a label"
    )

    @property
    def mistake(self) -> tuple[str, str]:
        """The key of what does not go together, and why; empty where all does."""
        given = {
            "tokenFile": self.token_file,
            "caFile": self.ca_file,
            "serverName": self.server_name,
            "cluster": self.cluster,
        }
        for key, value in given.items():
            if value and not self.url:
                return key, "there is nobody to ask; set prometheus.url too"
        url = urlsplit(self.url or "")
        if self.server_name and url.scheme == "http":
            return "serverName", "a server has a certificate with https only; write prometheus.url with https"
        if self.token_file and url.scheme == "http" and not is_local(url.hostname or ""):
            return "url", "a token would be sent unencrypted; use https, or leave tokenFile out"
        return "", ""
