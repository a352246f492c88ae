"""The exporter as its users meet it: started as an account of the API server, asked over HTTP."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from exporter.app import assemble, serve
from exporter.checks import all_checks
from exporter.config.settings import Config, MetricsSettings
from exporter.findings.check import Check
from exporter.findings.finding import Finding
from exporter.kube.reviews import Reviews
from exporter.kube.transport import Transport
from exporter.kube.watch.reflector import Timeouts
from exporter.serve.access.decisions import Times
from tests.case_files import read_yaml
from tests.cluster.client import Client
from tests.manifests import Object
from tests.shared import REPO
from tests.waiting import wait_until

__all__ = ["ACCESS", "QUICK", "ROLE", "STEADY", "Exporter", "binding", "grant", "grant_access", "without"]

ROLE = REPO / "deploy/base/exporter/clusterrole.yaml"
ACCESS = REPO / "deploy/base/exporter/access.yaml"
ACCOUNT = "steward-exporter"
# Minutes of the real pace as seconds: what is waited for is the same, in a test's time.
QUICK = Timeouts(watch=4.0, grace=1.0, first_wait=0.1, longest_wait=1.0, look_again=0.5, stale_after=1.5)
# Watches are not renewed: a sidecar whose clock is ahead takes an answer that is old at all for one of hours.
STEADY = replace(QUICK, watch=270.0, stale_after=60.0)

EVERY_SERIES = Config(metrics=MetricsSettings(profile="full"))


class Exporter:
    """One exporter in a thread of its own; `with` starts and ends it."""

    def __init__(
        self,
        kubeconfig: Path,
        pace: Timeouts = QUICK,
        *,
        graces: float = 1.0,
        config: Config | None = None,
        access: Times | None = None,
        token: str = "",
    ) -> None:
        """`graces` is what the graces of all reasons are multiplied by. With the times of `access` only those are
        answered who may see what they ask for; `token` is sent with what is asked here.
        """
        self._kubeconfig, self._pace, self._config = kubeconfig, pace, config or EVERY_SERIES
        self._access, self.token = access, token
        self._checks = [_waiting(check, graces) for check in all_checks()]
        self._up, self._end = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="exporter", daemon=True)
        self.url = ""
        self.opened: list[Finding] = []  # whatever was found, be it for a moment
        self.closed: list[Finding] = []  # and whatever was not found any more

    def __enter__(self) -> Exporter:
        self._thread.start()
        self._up.wait(30)
        if self._error:
            raise self._error
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop:
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)
        if self._error:
            raise self._error

    @property
    def address(self) -> str:
        return self.url.removeprefix("http://")

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 # reported to the test's thread
            self._error = error
        finally:
            self._up.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        transport = Transport.from_environment(str(self._kubeconfig))
        steward = assemble(transport, self._config, checks=self._checks, pace=self._pace)
        steward.engine.listen(self._note)
        reviews = Reviews(transport) if self._access else None
        async with serve(steward, "127.0.0.1", 0, reviews=reviews, times=self._access) as self.url:
            self._up.set()
            await self._end.wait()

    def _note(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        come = tuple(come)
        still = {each.fingerprint for each in come}
        self.opened += come
        self.closed += (each for each in gone if each.fingerprint not in still)

    # -- what users ask

    def get(self, path: str, token: str | None = None) -> tuple[int, str]:
        sent = self.token if token is None else token
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {sent}"} if sent else {})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def report(self, query: str = "") -> Object:
        status, body = self.get(f"/api/v1/findings{query}")
        assert status == 200, body
        answer: Object = json.loads(body)
        return answer

    def found(self, namespace: str) -> dict[str, str]:
        """The reason of each finding of a namespace, by its object's name."""
        return {f["subject"]["name"]: f["reason"] for f in self.report(f"?namespace={namespace}")["findings"]}

    def unknown(self, check: str = "ipam_claims") -> list[str]:
        return [unknown["why"] for unknown in self.report()["unknown"] if unknown["check"] == check]

    def state(self, kind: str) -> str:
        return next(str(source["state"]) for source in self.report()["sources"] if source["kind"] == kind)

    def value(self, sample: str) -> float:
        """The value of one sample of /metrics, written as there."""
        lines = self.get("/metrics")[1].splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == sample), 0.0)

    def wait_ready(self, seconds: float = 60) -> Exporter:
        wait_until(lambda: self.get("/readyz")[0] == 200, seconds, "the exporter is ready")
        return self

    def wait_found(self, namespace: str, wanted: dict[str, str], seconds: float = 30) -> None:
        wait_until(lambda: self.found(namespace) == wanted, seconds, f"{namespace} has just {wanted}", every=0.02)

    def wait_state(self, kind: str, *states: str, seconds: float = 60) -> None:
        wait_until(lambda: self.state(kind) in states, seconds, f"{kind} is {' or '.join(states)}")


def _waiting(check: Check, times: float) -> Check:
    reasons = {name: replace(reason, grace=reason.grace * times) for name, reason in check.reasons.items()}
    return replace(check, reasons=reasons)


def grant(client: Client) -> None:
    """The role that is generated for the exporter, and its binding."""
    client.apply(read_yaml(ROLE.read_text(encoding="utf-8")))
    client.apply(binding("steward-exporter"))


def grant_access(client: Client) -> None:
    """The roles of access.yaml, and that the exporter may ask who may see what."""
    for role in yaml.safe_load_all(ACCESS.read_text(encoding="utf-8")):
        if role["kind"] == "ClusterRole":
            client.apply(role)
    client.apply(binding("steward-access"))


def binding(role: str) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": ACCOUNT}],
    }


def without(role: dict[str, Any], plural: str) -> dict[str, Any]:
    """The role without the right to one resource."""
    rules = [{**rule, "resources": [r for r in rule["resources"] if r != plural]} for rule in role["rules"]]
    return {**role, "rules": [rule for rule in rules if rule["resources"]]}
