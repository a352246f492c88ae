"""What can be set, with its defaults: the models of a file.

A check's own settings are a struct in the check's module (`Check.settings`); `model_of` has a section for each check.

`Acknowledged` is an entry of the list of causes that somebody knows of.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, get_args

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields
from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    WithJsonSchema,
    create_model,
    model_serializer,
)

from ..findings.causes import DAY_OR_MOMENT, Acknowledgement, Acknowledgements, moment_of
from ..findings.check import Check
from ..findings.severity import Severity
from .forms import (
    Address,
    Duration,
    HostNames,
    OptionalHeader,
    OptionalHostName,
    OptionalServer,
    OptionalText,
    OptionalVersion,
    Section,
    Text,
    WhichVMs,
    field_of,
    setting,
)
from .mistakes import listed, quoted
from .names import LISTEN, LOG_LEVEL, LOG_LEVELS, LogLevel
from .outside import Link

MOST = 500  # entries
_ID = "[0-9a-f]{16}"
_Severity = Literal["info", "warning", "critical"]


def _cause(text: str) -> str:
    if len(text) != 16 or not set(text) <= set("0123456789abcdef"):
        raise ValueError(
            f"{quoted(text)} is not the ID of a cause: 16 digits and a to f. Run `steward check -o wide` to list IDs"
        )
    return text


def _until(text: str) -> str:
    moment_of(text)
    return text


_Cause = Annotated[str, AfterValidator(_cause), WithJsonSchema({"type": "string", "pattern": f"^{_ID}$"})]
_Until = Annotated[str, AfterValidator(_until), WithJsonSchema({"type": "string", "pattern": f"^{DAY_OR_MOMENT}$"})]


class AcknowledgedSettings(Section):
    """A cause that somebody knows of."""

    cause: _Cause = Field(title="id of a cause", description="Its ID, as shown by the web UI and `-o wide`.")
    until: _Until = Field(
        title="date or time",
        description="When it expires: 2026-12-01, which is the beginning of that day in UTC, or a time such as "
        "2026-12-01T08:00:00Z.",
    )
    because: Text = Field(title="text", description="Reason, shown with the acknowledged cause.")
    by: OptionalText = setting(None, "Name recorded with the acknowledgement.", "text")
    severity: _Severity = setting(
        "warning",
        "Highest severity that is acknowledged. Worse findings are shown as usual.",
        listed(get_args(_Severity)),
    )

    @model_serializer(mode="wrap")
    def _written(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As a file may have it: without what is not set."""
        return {name: value for name, value in written(self).items() if value is not None}

    @property
    def taken(self) -> Acknowledgement:
        return Acknowledgement(self.cause, moment_of(self.until), self.because, self.by or "", Severity(self.severity))


Acknowledged = Annotated[tuple[AcknowledgedSettings, ...], Strict(False), Field(max_length=MOST)]


def acknowledgements_of(entries: tuple[AcknowledgedSettings, ...]) -> Acknowledgements:
    return Acknowledgements(each.taken for each in entries)


INSECURE = "true serves plain HTTP without tokens: every client can read everything. Without it TLS is required."
HOSTS = "Names accepted without TLS, in addition to localhost, the host of `listen` and every IP address."


LogFormat = Literal["logfmt", "json"]
MetricsProfile = Literal["minimal", "default", "full"]


class PaceSettings(Section):
    """How the API server is asked."""

    watch: Duration = setting("4m30s", "How long a watch lasts before it is reopened.", low="30s", high="1h")
    stale_after: Duration = setting(
        "1m", "Time without a connection after which the data of a kind is stale.", low="5s", high="1h"
    )
    look_again: Duration = setting(
        "10s", "How often to check for a granted permission or an installed CRD.", low="1s", high="1h"
    )
    longest_wait: Duration = setting("30s", "Longest wait between two attempts after failures.", low="1s", high="10m")


class SeriesLimitSettings(Section):
    """How many series findings may take, and states as many again.

    What is left out is counted in `kubevirt_steward_series_dropped`.
    """

    family: int = setting(50_000, "Limit of series of one metric family.", "whole number of series", 2, 10_000_000)
    total: int = setting(200_000, "Limit of series of all families together.", "whole number of series", 2, 10_000_000)


class MetricsSettings(Section):
    """What is served: a profile, and families on request, a field for each state that has it as its `option`."""

    profile: MetricsProfile = setting(
        "default",
        "How many series there are, whatever the cluster has. minimal: what the rules read, and counts above 0. "
        "default: also what the boards and runbooks read, with counts at 0. full: also what helps to debug it.",
        listed(get_args(MetricsProfile)),
    )
    firmware_uuid_info: WhichVMs = setting(
        False,
        "Serve `kubevirt_vm_firmware_uuid_info`, which rules/fleet.yaml reads: a series for each VM. copied: without "
        "those VMs whose UUID is random and of which nothing in the cluster tells that they were copied.",
        "true, false or copied",
    )


class TLSSettings(Section):
    """The certificate that is served. Both or none; read again when they change."""

    cert_file: OptionalText = setting(None, "Path of a file with the certificate chain, as PEM.", "text")
    key_file: OptionalText = setting(None, "Path of a file with its key, as PEM without a password.", "text")

    def mistake(self, insecure: bool) -> tuple[str, str]:
        """The key of what does not go together, and why; empty where all does."""
        if bool(self.cert_file) != bool(self.key_file):
            return "tls", "certFile and keyFile belong together. Set both or neither"
        return (
            ("insecure", "plain HTTP has no certificate. Omit tls or insecure")
            if self.cert_file and insecure
            else ("", "")
        )


class LoginSettings(Section):
    """How a browser comes by a token."""

    session: Duration = setting("8h", "How long a login by the form of the web UI lasts.", low="1m", high="7d")
    token_header: OptionalHeader = setting(
        None,
        "The header in which a proxy in front puts the token of its user, beside `Authorization`: "
        "`X-Forwarded-Access-Token` with OpenShift's oauth-proxy.",
        "name of a header",
    )


class ReconcileSettings(Section):
    """Where the sidecar is whose repairs are shown with the findings. Without a URL none is asked."""

    url: OptionalServer = setting(None, "URL of the sidecar, whose repairs are shown with the findings.", "URL")
    token_file: OptionalText = setting(None, "Path of a file with the token that the sidecar accepts.", "text")
    ca_file: OptionalText = setting(
        None, "Path of the CA certificates that verify the sidecar's. Without it: the system's.", "text"
    )
    server_name: OptionalHostName = setting(
        None, "Name that the sidecar's certificate must have. Without it: the URL's host.", "host name"
    )

    @property
    def mistake(self) -> tuple[str, str]:
        """The key of what does not go together, and why; empty where all does."""
        for key, value in (("tokenFile", self.token_file), ("caFile", self.ca_file), ("serverName", self.server_name)):
            if value and not self.url:
                return key, "it is for the sidecar at reconcile.url, which is not set"
        host = _HOST.match(self.url or "")
        if self.server_name and host:
            return "serverName", "only https has a server certificate. Write reconcile.url with https"
        if self.token_file and host and host[1] not in _LOOPBACK:
            return "tokenFile", "a token is not sent over http to another host. Write reconcile.url with https"
        return "", ""


_HOST = re.compile(r"http://(\[[^]]*\]|[^:/]*)")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class CheckSettings(Section):
    """What is set of one check."""

    struct: ClassVar[type[Struct] | None] = None

    enabled: bool = setting(True, "false disables the check: it reports no findings and no counts.")

    @property
    def settings(self) -> Any:
        """The check's own, None where it has none. Raises ValueError for values that do not go together."""
        if self.struct is None:
            return None
        return self.struct(**{field.name: getattr(self, field.name) for field in fields(self.struct)})


class Config(Section):
    """The configuration of the exporter."""

    listen: Address = setting(LISTEN, "Address of the web UI, metrics and API.", "HOST:PORT")
    insecure: bool = setting(False, INSECURE)
    hosts: HostNames = setting((), HOSTS, "list of host names")
    tls: TLSSettings = Field(default_factory=TLSSettings)
    login: LoginSettings = Field(default_factory=LoginSettings)
    kubeconfig: OptionalText = setting(
        None, "Path of a kubeconfig. Without it: $KUBECONFIG, ~/.kube/config, else the pod's ServiceAccount.", "text"
    )
    context: OptionalText = setting(None, "Context of the kubeconfig. Without it: its current one.", "text")
    log_level: LogLevel = setting(LOG_LEVEL, "Lowest level that is logged.", listed(LOG_LEVELS))
    log_format: LogFormat = setting("logfmt", "Format of log lines.", listed(get_args(LogFormat)))
    settle: Duration = setting(
        "250ms", "Time from a change to its evaluation, which related changes share.", low="0s", high="1m"
    )
    assume_upstream_version: OptionalVersion = setting(
        None,
        "Release of KubeVirt that a downstream build is based on. It determines the known feature gates.",
        "version such as v1.8.4",
    )
    pace: PaceSettings = Field(default_factory=PaceSettings)
    series_limit: SeriesLimitSettings = Field(default_factory=SeriesLimitSettings)
    metrics: MetricsSettings = Field(default_factory=MetricsSettings)
    reconcile: ReconcileSettings = Field(default_factory=ReconcileSettings)
    acknowledged: Acknowledged = setting(
        (),
        "Acknowledged causes, each with cause (its ID), until (a date or time) and because. by and severity are "
        "optional: severity is the highest that is acknowledged, by default warning, so that a critical finding still "
        "alerts. The causes are shown as acknowledged and don't alert until then. `steward ignore` writes an entry.",
        "list of mappings",
    )
    cluster: OptionalText = setting(None, "Value of `{cluster}` in links.", "text")
    links: Annotated[tuple[Link, ...], Strict(False)] = setting(
        (),
        "Links to other tools on the pages of VMs, nodes, networks and findings. Each has a `name`, a `url` with "
        "fields such as `{name}`, and optionally `kinds`: docs/page.md.",
        "list of links",
    )
    checks: Section = Field(default_factory=Section)

    def of(self, check_id: str) -> CheckSettings:
        found: CheckSettings = getattr(self.checks, check_id, CheckSettings())
        return found


@lru_cache(maxsize=8)
def model_of(checks: tuple[Check, ...]) -> type[Config]:
    """The configuration with a section for each check. Raises TypeError for settings that no file can hold."""
    sections: Any = {
        check.id: (each := _section_of(check), Field(default_factory=each, alias=check.id)) for check in checks
    }
    of_checks = create_model("ChecksSettings", __base__=Section, **sections)
    return create_model("Config", __base__=Config, checks=(of_checks, Field(default_factory=of_checks)))


def _section_of(check: Check) -> type[CheckSettings]:
    if check.settings is None:
        return CheckSettings
    own: Any = {}
    for field in fields(check.settings):
        if field.default is NODEFAULT or field.name in CheckSettings.model_fields:
            raise TypeError(f"{check.settings.__name__}.{field.name} needs a default, and a name of its own")
        own[field.name] = field_of(field.type, field.encode_name, field.default)
    section = create_model(check.settings.__name__, __base__=CheckSettings, **own)
    section.struct = check.settings
    return section
