"""What people are sent: a webhook for each receiver of an Alertmanager, and rules and routes for a shorter day."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from exporter.rules import Values, rule_files
from exporter.rules.formats import files
from tests.case_files import read_yaml
from tests.manifests import Object

__all__ = ["FASTER", "Inbox", "Notification", "faster_routes", "faster_rules", "seconds"]

FASTER = 60  # an hour is a minute
_SHORTEST_RANGE = 6.0  # seconds: a few scrapes
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(frozen=True)
class Notification:
    receiver: str
    group: dict[str, str]
    alerts: tuple[dict[str, str], ...]  # labels of those that fire
    resolved: tuple[dict[str, str], ...]

    @property
    def names(self) -> set[str]:
        return {alert["alertname"] for alert in self.alerts}


class Inbox:
    """Takes what Alertmanager sends to /RECEIVER."""

    def __init__(self) -> None:
        self._received: list[Notification] = []
        received = self._received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                by_status: dict[str, list[dict[str, str]]] = {"firing": [], "resolved": []}
                for alert in body["alerts"]:
                    by_status[alert["status"]].append(alert["labels"])
                firing, resolved = tuple(by_status["firing"]), tuple(by_status["resolved"])
                received.append(Notification(self.path[1:], body["groupLabels"], firing, resolved))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def of(self, cluster: str, *receivers: str) -> list[Notification]:
        """What receivers were sent about a cluster, the first first; about none where `cluster` is empty."""
        received = tuple(self._received)
        return [each for each in received if each.receiver in receivers and each.group.get("cluster", "") == cluster]


def seconds(duration: str) -> float:
    return float(duration[:-1]) * _UNITS[duration[-1]]


def _faster(duration: str, least: float = 0) -> str:
    return f"{round(max(seconds(duration) / FASTER, least) * 1000)}ms"


def faster_rules(folder: Path, values: Values | None = None) -> Iterator[Path]:
    """The files of the pack, with every duration shortened: `for`, `keep_firing_for`, ranges and offsets of minutes."""
    values = values or Values()
    for name, text in files("prometheus", rule_files(values), values).items():
        document = read_yaml(text)
        for group in document["groups"]:
            group.update({"interval": _faster(group["interval"], 2)} if "interval" in group else {})
        for rule in (rule for group in document["groups"] for rule in group["rules"]):
            rule.update({key: _faster(rule[key]) for key in ("for", "keep_firing_for") if key in rule})
            rule["expr"] = re.sub(
                r"(\[|offset )(\d+[mhd])", lambda found: found[1] + _faster(found[2], _SHORTEST_RANGE), rule["expr"]
            )
        path = folder / name
        path.write_text(json.dumps(document), encoding="utf-8")
        yield path


def faster_routes(inbox: Inbox) -> Object:
    """The committed configuration, with every duration shortened, and each receiver in the inbox."""
    config: Object = read_yaml(files("alertmanager", (), Values())["alertmanager.yaml"])
    _shorten(config["route"])
    for receiver in config["receivers"]:
        receiver["webhook_configs"] = [{"url": f"{inbox.url}/{receiver['name']}"}]
    return config


def _shorten(route: dict[str, Any]) -> None:
    route.update({key: _faster(text) for key, text in route.items() if key.endswith(("_wait", "_interval"))})
    for child in route.get("routes", ()):
        _shorten(child)
