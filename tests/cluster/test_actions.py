"""Approvals, pauses and acknowledgements by the page: a real API server decides by the token of whoever sends the form.

Alice sees everything and may patch PodDisruptionBudgets of one namespace, and the steward's ConfigMap there; bob sees
everything, carol sees nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
import yaml

from exporter.checks import all_checks
from exporter.config.loading import Loaded, Sources, load
from exporter.config.settings import ReconcileSettings
from exporter.facts.record import Ref
from exporter.kube.reviews import Reviews
from exporter.kube.transport import Transport
from exporter.questions.in_slices import at_once
from exporter.serve.access.access import Access
from exporter.serve.access.same_origin import form_token
from exporter.serve.application import serving
from exporter.sidecar.follower import Acting
from exporter.sidecar.repairs import Repairs, decoding
from reconcile.app import kinds_of
from reconcile.carry_out.board import ShownRepairs
from reconcile.carry_out.metrics import Measures
from reconcile.carry_out.on_behalf import OnBehalf
from reconcile.decide.approval import parse
from reconcile.decide.repair import Repair
from reconcile.plan.remediations import all_remediations
from reconcile.publish.actions import Acknowledging, Actions
from reconcile.publish.server import build
from tests.cluster.apiserver import ApiServer
from tests.cluster.browser import CHROMIUM, browser
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import grant, grant_access
from tests.cluster.resources import Resource
from tests.served import Served, served

from ..cause_counts import causes_of_vms
from .client import Account, account

APPROVED = "steward.kubevirt-steward.io/approved-plan"
PAUSED = "steward.kubevirt-steward.io/paused"
PDBS = Resource("policy", "v1", "poddisruptionbudgets")
EVENTS = Resource("", "v1", "events")
CONFIG_MAPS = Resource("", "v1", "configmaps")
CONFIG = "# ours\nlogLevel: info # not more\n"
HASH = "3f9c2a0011223344"
REMEDIATION = "delete_orphan_pdb"
NOW = 1_790_000_000.0


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    made = module_api_server()
    grant(made.client())
    grant_access(made.client())
    return made


@dataclass
class Stage:
    """`page` is the exporter's, whose sidecar has one plan that waits, of a PDB."""

    page: Served
    sidecar: str
    admin: Client
    namespace: str
    name: str
    alice: Account
    bob: Account

    @property
    def fingerprint(self) -> str:
        return next(iter(self.page.engine.findings())).fingerprint

    @property
    def annotations(self) -> dict[str, str]:
        return dict(self.admin.get(PDBS, self.namespace, self.name)["metadata"].get("annotations") or {})

    @property
    def cause(self) -> str:
        return next(iter(self.page.engine.causes)).id

    @property
    def config(self) -> str:
        """What the exporter's pod would have as its file."""
        text: str = self.admin.get(CONFIG_MAPS, self.namespace, "steward")["data"]["config.yaml"]
        return text

    def events(self, reason: str) -> list[dict[str, Any]]:
        return [each for each in self.admin.list(EVENTS, self.namespace)["items"] if each["reason"] == reason]

    def form(self, who: Account, act: str = "approve", **more: str) -> dict[str, str]:
        what = (act, self.fingerprint, REMEDIATION, HASH)
        made = form_token(who.token, what, time.time())
        return {"remediation": REMEDIATION, "plan": HASH, "token": made, **more}

    async def send(self, who: Account, act: str = "approve", **more: str) -> tuple[int, str]:
        return await self.sent(who, f"{self.fingerprint}/{act}", self.form(who, act, **more))

    async def acknowledge(
        self, who: Account, until: str = "2027-01-01", because: str = "the vendor knows", severity: str = "critical"
    ) -> tuple[int, str]:
        made = form_token(who.token, ("acknowledge", self.cause, severity), time.time())
        form = {"severity": severity, "token": made, "until": until, "because": because}
        return await self.sent(who, f"{self.cause}/acknowledge", form)

    async def sent(self, who: Account, path: str, form: dict[str, str]) -> tuple[int, str]:
        headers = {"Origin": self.page.url, "Authorization": f"Bearer {who.token}"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.page.url}/findings/{path}", data=form, headers=headers) as answer,
        ):
            return answer.status, await answer.text()

    async def shown_to(self, who: Account) -> str:
        headers = {"Authorization": f"Bearer {who.token}"}
        path = f"{self.page.url}/findings/{self.fingerprint}"
        async with aiohttp.ClientSession() as session, session.get(path, headers=headers) as answer:
            return await answer.text()


def patching(admin: Client, namespace: str, who: Account) -> None:
    """Lets somebody get and patch PDBs and the steward's ConfigMap there, and create Events."""
    name = f"patch-{uuid.uuid4().hex[:8]}"
    rules = [
        {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["steward"], "verbs": ["get", "patch"]},
    ]
    made = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    admin.create({**made, "rules": rules})
    who.grant(name, namespace)


@asynccontextmanager
async def staged(server: ApiServer) -> AsyncIterator[Stage]:
    admin = server.client()
    namespace, name = f"test-{uuid.uuid4().hex[:8]}", "kubevirt-disruption-budget-x"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    pdb = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": namespace}}
    uid = admin.create({**pdb, "spec": {"minAvailable": 1}})["metadata"]["uid"]
    steward = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "steward", "namespace": namespace}}
    admin.create({**steward, "data": {"config.yaml": CONFIG, "other": "left alone"}})
    alice, bob = account(admin), account(admin)
    for who in (alice, bob):
        who.grant("steward-viewer")
    patching(admin, namespace, alice)
    transport = Transport.from_environment(str(server.kubeconfig("steward-exporter")))
    reviews, board, repairs = Reviews(transport), ShownRepairs(), Repairs(1.0)
    measures = Measures(all_remediations(), {}, board)
    on_behalf = OnBehalf(transport, kinds_of(all_remediations()), lambda: NOW)
    place = Acknowledging(on_behalf, Ref("ConfigMap", namespace, "steward"), "config.yaml", lambda: NOW)
    act = Actions(board, on_behalf, lambda: NOW, lambda: 3600.0, place)
    inner, outer = Access(reviews), Access(reviews)
    app = build(board, measures, {}, "i1", inner, act)
    async with aclosing(inner), aclosing(outer), serving(app, "127.0.0.1", 0) as url:
        acting = Acting(ReconcileSettings(url=url))
        made = served(0, checks=[causes_of_vms(1, 1)], repairs=repairs, guard=outer, sidecar=acting)
        async with made as page:
            bound = Ref("PodDisruptionBudget", namespace, name, uid)
            of = next(iter(page.engine.findings())).fingerprint
            await board.put(planned(of, namespace, bound))
            repairs.take(await followed(url, bob))
            yield Stage(page, url, admin, namespace, name, alice, bob)
    await transport.close()


def planned(fingerprint: str, namespace: str, bound: Ref) -> Repair:
    return Repair(
        fingerprint=fingerprint,
        remediation=REMEDIATION,
        check="eviction_pdbs",
        reason="OrphanPDB",
        namespace=namespace,
        mode="approve",
        state="waiting",
        at=NOW,
        hash=HASH,
        target=str(bound),
        bound_to=bound,
    )


async def followed(url: str, who: Account) -> Any:
    """What the sidecar answers to the exporter."""
    headers = {"Authorization": f"Bearer {who.token}"}
    async with aiohttp.ClientSession() as session, session.get(f"{url}/api/v1/plans", headers=headers) as answer:
        assert answer.status == 200, await answer.text()
        return at_once(decoding(await answer.read()))


async def test_whoever_may_patch_it_approves_and_it_is_theirs(
    server: ApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with staged(server) as at:
        with caplog.at_level(logging.INFO, "reconcile.carry_out.on_behalf"):
            status, html = await at.send(at.alice)
        assert status == 200, html
        approval = parse(at.annotations[APPROVED])
        by = f"system:serviceaccount:{at.alice.namespace}:{at.alice.name}"
        assert (approval.hash, approval.by, approval.until) == (HASH, by, NOW + 3600)
        (event,) = at.events("RepairApproved")
        assert event["involvedObject"]["name"] == at.name
        assert by in event["message"]
        assert HASH in event["message"]
        assert [f'by="{by}"' in each for each in caplog.messages] == [True]


async def test_whoever_may_not_writes_nothing_and_hears_why(server: ApiServer) -> None:
    """Bob sees everything, and has made the form himself: it is the API server that refuses him."""
    async with staged(server) as at:
        for act in ("approve", "pause"):
            status, html = await at.send(at.bob, act)
            assert (status, at.annotations) == (403, {}), html
            assert "Not done" in html
            assert "poddisruptionbudgets" in html
        carol = account(at.admin)
        assert (await at.send(carol))[0] == 403
        assert at.annotations == {}


async def test_a_pause_is_theirs_too(server: ApiServer) -> None:
    async with staged(server) as at:
        assert (await at.send(at.alice, "pause", because="we look at it"))[0] == 200
        by = f"system:serviceaccount:{at.alice.namespace}:{at.alice.name}"
        assert at.annotations[PAUSED] == f"we look at it ({by})"


async def test_a_form_does_something_once(server: ApiServer) -> None:
    """Sent again by Reload, after somebody has resumed what it paused."""
    async with staged(server) as at:
        form = at.form(at.alice, "pause", because="we look at it")
        assert (await at.sent(at.alice, f"{at.fingerprint}/pause", form))[0] == 200
        at.admin.patch(PDBS, at.namespace, at.name, {"metadata": {"annotations": {PAUSED: None}}})
        status, html = await at.sent(at.alice, f"{at.fingerprint}/pause", form)
        assert (status, at.annotations) == (409, {}), html
        assert "The form was sent before, and does something once" in html


def loaded(text: str, folder: Path) -> Any:
    """The configuration, as the exporter takes it."""
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    found = load(all_checks(), Sources(folder / "config.yaml", {}, {}))
    assert isinstance(found, Loaded), found
    return found.config


async def test_whoever_may_patch_the_configuration_acknowledges_a_cause(server: ApiServer, tmp_path: Path) -> None:
    async with staged(server) as at:
        assert f"/findings/{at.cause}/acknowledge" in await at.shown_to(at.alice)
        status, html = await at.acknowledge(at.alice)
        assert status == 200, html
        by = f"system:serviceaccount:{at.alice.namespace}:{at.alice.name}"
        assert at.config.startswith(CONFIG)
        assert f'- cause: "{at.cause}" # critical Broken, Network net-0000' in at.config
        (entry,) = loaded(at.config, tmp_path).acknowledged
        assert (entry.cause, entry.until, entry.because) == (at.cause, "2027-01-01", "the vendor knows")
        assert (entry.by, entry.severity) == (by, "critical")
        assert at.admin.get(CONFIG_MAPS, at.namespace, "steward")["data"]["other"] == "left alone"
        (event,) = at.events("CauseAcknowledged")
        assert event["involvedObject"]["name"] == "steward"
        assert f"{by} by the page: acknowledges cause {at.cause} until 2027-01-01" in event["message"]
        assert (await at.acknowledge(at.alice, "2027-02-01", "longer", "warning"))[0] == 200
        (entry,) = loaded(at.config, tmp_path).acknowledged
        assert (entry.until, entry.because, entry.severity) == ("2027-02-01", "longer", "warning")
        assert at.config.startswith(CONFIG)


async def test_whoever_may_not_acknowledges_nothing_and_gets_the_command(server: ApiServer) -> None:
    async with staged(server) as at:
        html = await at.shown_to(at.bob)
        assert "acknowledge" in html
        assert f"/findings/{at.cause}/acknowledge" not in html
        status, html = await at.acknowledge(at.bob)
        assert (status, at.config) == (403, CONFIG), html
        assert "configmaps" in html
        assert "steward ignore" in html
        for until, because in (("2020-01-01", "x"), ("2999-01-01", "x"), ("soon", "x"), ("2027-01-01", " ")):
            status, html = await at.acknowledge(at.alice, until, because)
            assert (status, at.config) == (409, CONFIG), html
        assert at.events("CauseAcknowledged") == []


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, "Change the values or templates of Helm"),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "steward:/ConfigMap:NAMESPACE/steward"}}, "Git repository"),
    ],
)
async def test_what_would_be_taken_back_is_not_written(
    server: ApiServer, metadata: dict[str, dict[str, str]], said: str
) -> None:
    async with staged(server) as at:
        owned = json.loads(json.dumps(metadata).replace("NAMESPACE", at.namespace))
        at.admin.patch(CONFIG_MAPS, at.namespace, "steward", {"metadata": owned})
        status, html = await at.acknowledge(at.alice)
        assert (status, at.config) == (409, CONFIG), html
        assert "would take the entry back" in html
        assert said in html


async def test_of_those_who_acknowledge_at_once_nobody_s_entry_is_lost(server: ApiServer) -> None:
    async with staged(server) as at:

        async def put(cause: str) -> int:
            body = {"act": "acknowledge", "form": f"{int(time.time())}.{cause}", "cause": cause, "until": "2027-01-01"}
            headers = {"Authorization": f"Bearer {at.alice.token}"}
            async with (
                aiohttp.ClientSession(headers=headers) as session,
                session.post(
                    f"{at.sidecar}/api/v1/actions", json={**body, "because": "x", "severity": "warning"}
                ) as answer,
            ):
                return answer.status

        causes = [each * 16 for each in "abcd"]
        assert await asyncio.gather(*map(put, causes)) == [200] * 4
        assert {each["cause"] for each in yaml.safe_load(at.config)["acknowledged"]} == set(causes)


async def test_another_object_of_that_name_is_not_meant(server: ApiServer) -> None:
    async with staged(server) as at:
        pdb = at.admin.get(PDBS, at.namespace, at.name)
        at.admin.delete(PDBS, at.namespace, at.name)
        meta = {"name": at.name, "namespace": at.namespace}
        at.admin.create(
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": pdb["spec"]}
        )
        for act in ("approve", "pause"):
            status, html = await at.send(at.alice, act)
            assert (status, at.annotations) == (409, {}), html
            assert "it is another object by now" in html


async def test_the_sidecar_writes_nothing_else_than_what_waits_there(server: ApiServer) -> None:
    async with staged(server) as at:
        form = f"{int(time.time())}.aa"
        wanted = {"act": "approve", "fingerprint": at.fingerprint, "remediation": REMEDIATION, "plan": HASH}
        wanted["form"] = form
        entry = {"act": "acknowledge", "form": form, "cause": "f" * 16, "until": "2027-01-01", "because": "x"}
        entry["severity"] = "warning"
        cases: list[tuple[Any, int]] = [
            ({**wanted, "plan": "f" * 16}, 409),
            ({**wanted, "fingerprint": "f" * 16}, 409),
            ({**wanted, "remediation": "release_ipam_claim"}, 409),
            ({**wanted, "act": "apply"}, 400),
            ({**wanted, "object": "Secret kube-system/x"}, 400),
            ({**wanted, "act": "pause", "because": "a\nb"}, 409),
            ({**entry, "cause": "../x"}, 400),
            ({**entry, "severity": "none"}, 400),
            ({**entry, "namespace": "kube-system"}, 400),
            ({**entry, "because": "a\nb"}, 409),
            ({**entry, "until": "2020-01-01"}, 409),
            ({key: text for key, text in entry.items() if key != "form"}, 400),
            ({**entry, "form": "1.aa"}, 409),
            ([], 400),
            ("x" * 5000, 413),
        ]
        headers = {"Authorization": f"Bearer {at.alice.token}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            for body, code in cases:
                async with session.post(f"{at.sidecar}/api/v1/actions", data=msgspec.json.encode(body)) as answer:
                    assert (answer.status, "error" in json.loads(await answer.read())) == (code, True), body
            async with session.get(f"{at.sidecar}/api/v1/actions") as answer:
                assert answer.status in (404, 405)
        async with aiohttp.ClientSession() as session, session.post(f"{at.sidecar}/api/v1/actions") as answer:
            assert answer.status == 401
        assert at.annotations == {}
        assert at.config == CONFIG


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize("script", [True, False])
async def test_a_browser_sends_the_form_with_and_without_a_script(
    server: ApiServer, tmp_path: Path, script: bool
) -> None:
    async with staged(server) as at, browser(tmp_path) as tab:
        await tab.call("Emulation.setScriptExecutionDisabled", value=not script)
        address = at.page.url.removeprefix("http://")
        await tab.open(f"http://x:{at.bob.token}@{address}/findings/{at.fingerprint}")
        assert await tab.value("document.querySelectorAll('form.act').length") == 0
        address = address.replace("127.0.0.1", "localhost")  # the browser keeps bob's token for the other one
        await tab.open(f"http://x:{at.alice.token}@{address}/findings/{at.fingerprint}")
        assert await tab.value("document.querySelectorAll('form.act').length") == 3
        await tab.follow("document.querySelector('form.act[action$=approve] button').click()")
        assert await tab.value("document.querySelector('h1').textContent") == "Done"
        assert parse(at.annotations[APPROVED]).hash == HASH
        await tab.open(f"http://x:{at.alice.token}@{address}/findings?cause={at.cause}")
        await tab.value("document.querySelector('details[id^=acknowledge]').open = true")
        for name, text in (("until", "2027-01-01"), ("because", "the vendor's")):
            await tab.value(f"document.querySelector('form.act [name={name}]').value = {json.dumps(text)}")
        await tab.follow("document.querySelector('form.act[action$=acknowledge] button').click()")
        assert await tab.value("document.querySelector('h1').textContent") == "Done"
        assert yaml.safe_load(at.config)["acknowledged"][0]["because"] == "the vendor's"
