"""What can be set of the servers that the sidecar asks, or that send to it."""

from __future__ import annotations

from exporter.config.forms import Duration, OptionalHostName, OptionalText, Text, setting
from exporter.config.section import Section
from exporter.config.urls import URL, OptionalURL


class SourceSettings(Section):
    """The exporter whose findings are taken as hints."""

    url: URL = setting("http://127.0.0.1:9877", "Where its API is.", "URL")
    token_file: OptionalText = setting(None, "File with the bearer token to send; read anew each time.", "text")
    ca_file: OptionalText = setting(None, "File with the CA certificates to trust instead of the system's.", "text")
    server_name: OptionalHostName = setting(
        None, "The name that its certificate has to be for. Without it: the URL's host.", "host name"
    )
    oldest: Duration = setting("2m", "Nothing is written on what it saw longer ago.", low="5s", high="1h")


class AlertmanagerSettings(Section):
    """The Alertmanager whose silences pause what they silence."""

    url: OptionalURL = setting(None, "Where its API is. Without it silences are not asked for.", "URL")
    token_file: OptionalText = setting(None, "File with the bearer token to send; read anew each time.", "text")
    ca_file: OptionalText = setting(None, "File with the CA certificates to trust instead of the system's.", "text")
    labels: dict[Text, str] = setting(
        {},
        "Labels that Prometheus adds to every alert (`external_labels`). A silence that names any other label counts "
        "as one of ours.",
        "mapping of labels to values",
    )


class PrometheusSettings(Section):
    """The Prometheus that is asked before anything is written."""

    url: OptionalURL = setting(None, "Where its API is.", "URL")
    token_file: OptionalText = setting(None, "File with the bearer token to send; read anew each time.", "text")
    ca_file: OptionalText = setting(None, "File with the CA certificates to trust instead of the system's.", "text")
    gate: OptionalText = setting(None, "PromQL: nothing is written while it has a result, or no answer.", "text")


class WebhookSettings(Section):
    """The receiver for Alertmanager's webhook. With it nothing runs in `auto` whose alert does not fire."""

    enabled: bool = setting(False, "Take alerts at /api/v1/alerts.")
    token_file: OptionalText = setting(None, "File with the bearer token that Alertmanager sends.", "text")
    repeat: Duration = setting(
        "5h",
        "An alert that was not repeated for so long no longer fires: more than repeat_interval.",
        low="1m",
        high="30d",
    )
