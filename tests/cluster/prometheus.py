"""A real Prometheus on loopback, with its data in a folder that goes when it stops."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

from ..case_files import read_yaml
from ..manifests import Object
from ..rules import RULES
from ..waiting import wait_until
from .process import Process, answers, free_ports

__all__ = ["Prometheus", "Setup", "quick_rules"]


@dataclass(frozen=True)
class Setup:
    """What it scrapes and evaluates. Intervals are seconds; a target is `host:port`, scraped at /metrics over http.

    `scrape_configs` are added as they are, for targets that want more than that; likewise `alertmanagers`, `host:port`.
    `look_back` is for how many seconds a sample counts as the present one, `features` what is to be enabled.
    """

    targets: Sequence[str] = ()
    rule_files: Sequence[Path] = ()
    scrape_interval: float = 1
    evaluation_interval: float = 1
    scrape_configs: Sequence[Object] = ()
    alertmanagers: Sequence[str] = ()
    look_back: float = 300
    features: str = ""

    def config(self) -> Object:
        return {
            "global": {
                "scrape_interval": _duration(self.scrape_interval),
                "scrape_timeout": _duration(self.scrape_interval),
                "evaluation_interval": _duration(self.evaluation_interval),
            },
            "rule_files": [str(path.resolve()) for path in self.rule_files],
            "scrape_configs": [
                {"job_name": "test", "static_configs": [{"targets": list(self.targets)}]},
                *self.scrape_configs,
            ],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": list(self.alertmanagers)}]}]},
        }


class Prometheus:
    """One server. `start` returns when it is ready; `stop` ends it and removes its data."""

    def __init__(self, binary: Path, setup: Setup, *, port: int | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="steward-prometheus-"))
        self.address = f"127.0.0.1:{port or free_ports(1)[0]}"
        self.url = f"http://{self.address}"
        config = self.folder / "prometheus.yml"
        config.write_text(json.dumps(setup.config()), encoding="utf-8")  # JSON is YAML
        command: list[str | Path] = [
            *(binary, "--config.file", config, "--storage.tsdb.path", self.folder / "data"),
            *("--web.listen-address", self.address, "--log.level", "warn"),
            *("--query.lookback-delta", _duration(setup.look_back)),
            *("--storage.tsdb.retention.time", "40d"),  # longer than any range of the rules
            *(("--enable-feature", setup.features) if setup.features else ()),
        ]
        self._process = Process("prometheus", command, self.folder / "prometheus.log")

    def start(self) -> None:
        self._process.start(lambda: answers(f"{self.url}/-/ready"))

    def away(self) -> None:
        """Ends it; `start` goes on with its data."""
        self._process.kill()

    def stop(self) -> None:
        self._process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def query(self, expr: str) -> list[Object]:
        """The vector that an instant query gives now: `[{"metric": {...}, "value": [time, "text"]}, ...]`."""
        return list(self._get("query", query=expr)["result"])

    def wait_for(self, expr: str, timeout: float = 60) -> list[Object]:
        """As query, once it gives anything."""
        return wait_until(lambda: self.query(expr), timeout, f"Prometheus has a sample of {expr}", every=0.2)

    def alerts(self) -> list[Object]:
        """Those pending and firing now: `[{"labels": {...}, "annotations": {...}, "state": "firing", ...}, ...]`."""
        return list(self._get("alerts")["alerts"])

    def targets(self) -> list[Object]:
        """Those it scrapes: `[{"scrapeUrl": ..., "health": "up", "lastError": "", ...}, ...]`."""
        return list(self._get("targets")["activeTargets"])

    def _get(self, path: str, **query: str) -> Any:
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urlencode(query)}", timeout=30) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as err:
            with err:
                raise RuntimeError(f"prometheus {path} {query}: {err.code} {err.read().decode()}") from err


def _duration(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


# The shipped rules, in a test's time.


def quick_rules(stem: str, folder: Path) -> Path:
    """Those of an area at a hundredth of their times; a window of minutes, for a scrape a minute, is one of seconds."""
    rules = read_yaml((RULES / f"{stem}.yaml").read_text(encoding="utf-8"))
    for group in rules["groups"]:
        group.pop("interval", None)
        for rule in group["rules"]:
            rule["expr"] = re.sub(r"\[(\d+)m\]", r"[\1s]", rule["expr"])
            for key in ("for", "keep_firing_for"):
                if key in rule:
                    rule[key] = f"{max(1, _seconds(rule[key]) // 100)}s"
    path = folder / f"quick-{stem}.yaml"
    path.write_text(yaml.safe_dump(rules), encoding="utf-8")
    return path


def _seconds(duration: str) -> int:
    return int(duration[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[duration[-1]]
