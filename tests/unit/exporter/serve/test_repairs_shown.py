"""Where repairs are shown: the JSON API, the page, the tables; and what names a remediation without a sidecar."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from demo.apiserver.server import kubeconfig
from exporter.__main__ import main
from exporter.app import assemble, serve, wait_until_seen
from exporter.checks import all_checks
from exporter.cli.commands.explain import of_finding
from exporter.cli.parsing import parsed
from exporter.config.settings import Config, ReconcileSettings
from exporter.engine.evaluate import at_once
from exporter.kube.transport import Transport
from exporter.questions.findings import Report
from exporter.sidecar import Repairs, decoding

from ....all_of import each_of
from ....asking import scripts_in
from ....fakeapi.apiserver import FakeApiServer
from ....reported_repairs import plans, repair, sidecar
from ....served import Served, served

HOSTILE = "<script>alert(1)</script>\u202e"

PAUSES = "steward reconcile pause"

NONE: dict[str, list[str]] = {"unseen": [], "canaries": []}


def say(repairs: Repairs, generation: str, *each: dict[str, Any], **more: Any) -> None:
    repairs.take(at_once(decoding(json.dumps(plans(generation, *each, **more)).encode())))


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    """Three findings, and a sidecar that was not heard of yet."""
    async with served(repairs=Repairs(1_790_000_000.0)) as made:
        yield made


def fingerprints(server: Served) -> list[str]:
    return [each.fingerprint for each in server.engine.findings()]


async def report(server: Served, path: str = "/api/v1/findings") -> tuple[Any, str]:
    status, headers, body = await server.get(path)
    assert status == 200
    return json.loads(body), headers["ETag"]


# -- the API


async def test_each_finding_has_what_is_known_of_it(server: Served) -> None:
    first = fingerprints(server)[0]
    whole, _ = await report(server)
    assert [each["repairs"] for each in whole["findings"]] == [[], [], []]
    unknown = {
        "unknownSince": "2026-09-21T14:13:20Z",
        "why": "the sidecar has not been asked yet",
        "unseen": [],
        "canaries": [],
    }
    assert whole["reconcile"] == {"leading": False, "leader": "", "modes": {}, **unknown}

    said = repair(first, proposal={"owner": "Argo CD", "where": "in Git", "patch": "a: 1"})
    say(server.repairs, "1", said, repair("of nobody"))
    whole, _ = await report(server)
    assert {each["fingerprint"]: each["repairs"] for each in whole["findings"]} == {
        first: [{**said, "refused": None, "boundTo": None}],
        **{each: [] for each in fingerprints(server)[1:]},
    }
    modes = {"release_ipam_claim": "plan"}
    assert whole["reconcile"] == {
        "leading": True,
        "leader": "",
        "modes": modes,
        "unknownSince": "",
        "why": "",
        "unseen": [],
        "canaries": [],
    }

    server.repairs.lost("it is gone", 1_790_000_060.0)
    lost, _ = await report(server)
    assert lost["findings"] == whole["findings"]
    assert lost["reconcile"] == {**whole["reconcile"], "unknownSince": "2026-09-21T14:14:20Z", "why": "it is gone"}


async def test_without_a_sidecar_nothing_is_said_of_repairs() -> None:
    async with served() as server:
        whole, _ = await report(server)
    assert "reconcile" not in whole
    assert not any("repairs" in each for each in whole["findings"])


async def test_a_finding_is_explained_with_its_repairs(server: Served) -> None:
    first = fingerprints(server)[0]
    say(server.repairs, "1", repair(first))
    found = next(each for each in msgspec.convert((await report(server))[0], Report).findings if each.repairs)
    text = of_finding(msgspec.structs.replace(found, check="ipam_claims", reason="OrphanClaim"), None)
    assert "  repair: release_ipam_claim, planned (mode plan); PATCH ipamclaims" in text
    assert "risk: address; loses: 10.0.0.5/24; undo: none" in text
    assert "  $ steward reconcile approve 3f9c2a0011223344\n" in text
    assert "Repair:" not in text


async def test_repairs_change_the_tag_and_not_the_generation(server: Served) -> None:
    first = fingerprints(server)[0]
    seen = [await report(server)]
    say(server.repairs, "1", repair(first))
    seen.append(await report(server))
    say(server.repairs, "1", repair(first, state="done"))
    seen.append(await report(server))
    server.repairs.lost("it is gone", 1_790_000_060.0)
    seen.append(await report(server))
    tags = [tag for _, tag in seen]
    assert len(set(tags)) == 4
    assert len({whole["generation"] for whole, _ in seen}) == 1
    assert (await server.get("/api/v1/findings", If_None_Match=tags[-1]))[0] == 304
    for tag in tags[:-1]:
        assert (await server.get("/api/v1/findings", If_None_Match=tag))[0] == 200


async def test_repairs_do_not_end_a_long_poll_and_are_in_its_answer(server: Served) -> None:
    _, headers, _ = await server.get("/api/v1/findings")
    polling = asyncio.create_task(server.get("/api/v1/findings?wait=60", If_None_Match=headers["ETag"]))
    for _ in range(2):
        assert (await server.get("/healthz"))[0] == 200  # the poll has arrived before it
    say(server.repairs, "1", repair(fingerprints(server)[0]))
    await server.notify()
    _, _, body = await server.get("/api/v1/findings")
    assert b'"repairs":[{' in body
    assert not polling.done()
    server.see("another")
    await server.notify()
    status, _, body = await polling
    assert (status, b'"repairs":[{' in body) == (200, True)


# -- the page


async def section(server: Served, fingerprint: str) -> str:
    """What the page of a finding says of its repairs."""
    html = (await server.get(f"/findings/{fingerprint}"))[2].decode()
    return html[html.index('id="repair"') :].partition("</section>")[0]


async def test_the_page_shows_a_plan_with_all_that_it_costs(server: Served) -> None:
    first = fingerprints(server)[0]
    blocked = [
        {"gate": "window", "why": "the window opens at 22:00", "until": 1790000000.0},
        {"gate": "paused", "why": "ns is paused"},
    ]
    say(server.repairs, "1", repair(first, state="blocked", blocked=blocked))
    shown = unescape(await section(server, first))
    assert shown.count("<article class=") == 1
    for text in (
        "<h3>release_ipam_claim: blocked <small>(mode plan)</small></h3>",
        "The repair is held back.",
        "Blocked by safety check <b>window</b> until 2026-09-21T14:13:20Z: the window opens at 22:00",
        "Blocked by safety check <b>paused</b>: ns is paused",
        "<code>PATCH ipamclaims.k8s.cni.cncf.io ns/db.blue: remove /metadata/finalizers/0</code></pre>",
        "Why: Its VM is gone.",
        "Effect: The IPAMClaim goes.",
        "Risk: address",
        "Undo: none",
        "Lost for good: 10.0.0.5/24",
        '<pre tabindex="0"><code>steward reconcile approve 3f9c2a0011223344</code></pre>',
        "As of 2026-09-21T14:13:20Z",
    ):
        assert text in shown, text
    assert "Precondition" not in shown
    assert "Repairs unknown" not in shown


@each_of(
    ("bound", "more", "command"),
    [
        (("IPAMClaim", "ns", "db.blue"), {}, f"{PAUSES} IPAMClaim ns/db.blue"),
        (("VirtualMachineClusterInstancetype", "", "u1"), {}, f"{PAUSES} VirtualMachineClusterInstancetype u1"),
        (("IPAMClaim", "ns", "db.blue"), {"hash": ""}, ""),
        (None, {}, ""),
    ],
)
async def test_the_page_has_the_command_that_pauses_repairs_of_an_object_with_a_plan(
    bound: tuple[str, str, str] | None, more: dict[str, str], command: str
) -> None:
    async with served(1, repairs=Repairs(1.0)) as server:
        first = fingerprints(server)[0]
        target = dict(zip(("kind", "namespace", "name"), bound, strict=True)) if bound else None
        say(server.repairs, "1", repair(first, boundTo=target, **more))
        shown = unescape(await section(server, first))
    assert re.findall(r"<code>(steward reconcile pause .*)</code></pre>", shown) == ([command] if command else [])
    if command:
        assert parsed(shlex.split(command)[1:]).verb == "pause"


async def test_the_page_shows_a_refusal_and_a_proposal(server: Served) -> None:
    first, second = fingerprints(server)[:2]
    nothing = {"fingerprint": first, "remediation": "release_ipam_claim", "state": "refused"}
    proposal = {"owner": "Argo CD application `shop`", "where": "Change it in Git.", "patch": "spec:\n  a: 1"}
    say(
        server.repairs,
        "1",
        {**nothing, "refused": {"precondition": "no_pod_uses_it", "why": "pod a uses it"}},
        repair(second, state="proposed", proposal=proposal),
    )
    shown = unescape(await section(server, first))
    assert "<h3>release_ipam_claim: refused</h3>" in shown
    assert "Refused: pod a uses it <small>(precondition no_pod_uses_it)</small>" in shown
    shown = unescape(await section(server, second))
    assert "Argo CD application `shop` would revert the write. Change it in Git." in shown
    assert '<pre tabindex="0"><code>spec:\n  a: 1</code></pre>' in shown


async def test_one_object_that_blocks_many_repairs_is_said_once(server: Served) -> None:
    blocking = {
        "object": f"Pod shop/{HOSTILE}",
        "repairs": 9,
        "why": "annotation a could not be read",
        "remedy": "mend it",
    }
    say(server.repairs, "1", unseen=[blocking] * 99)
    shown, _ = await report(server)
    assert shown["reconcile"]["unseen"][0] == blocking
    body = (await server.get("/repairs"))[2].decode()
    assert body.count("1 object blocks 9 repairs: <b>Pod shop/&lt;script&gt;alert(1)&lt;/script&gt;") == 10
    assert "annotation a could not be read. To do: mend it" in body


async def test_the_page_says_what_stopped_a_canary_and_how_it_is_resumed(server: Served) -> None:
    stopped = {
        "remediation": "guard_instancetype",
        "state": "stopped",
        "object": f"VM shop/{HOSTILE}",
        "attempt": "x-7",
        "why": "it came back",
        "at": 1.0,
    }
    say(server.repairs, "1", canaries=[stopped, {"remediation": "delete_orphan_pdb", "state": "first"}])
    shown, _ = await report(server)
    assert shown["reconcile"]["canaries"][0] == {**stopped, "objects": []}
    body = (await server.get("/"))[2].decode()
    assert "Repairs by guard_instancetype are stopped: its canary failed. <b>VM shop/&lt;script&gt;" in body
    assert (
        "it came back (attempt x-7). Resolve the failure, then run: steward reconcile resume --remediation guard_inst"
        in body
    )
    assert "delete_orphan_pdb repairs nothing" not in body


async def test_the_page_says_since_when_repairs_are_unknown_and_keeps_the_last(server: Served) -> None:
    first = fingerprints(server)[0]
    say(server.repairs, "1", repair(first))
    assert b"Repairs unknown" not in (await server.get("/"))[2]
    server.repairs.lost(f"it answers {HOSTILE}", 1_790_000_060.0)
    _, _, body = await server.get("/")
    assert "Repairs unknown since 2026-09-21T14:14:20Z: it answers &lt;script&gt;" in body.decode()
    assert "release_ipam_claim: planned" in await section(server, first)
    assert scripts_in(body.decode()) == []


async def test_nothing_that_a_sidecar_says_is_run_or_hidden(server: Served) -> None:
    names = ("remediation", "state", "mode", "hash", "target", "write", "why", "effect", "risk", "undo")
    first = fingerprints(server)[0]
    hostile = repair(
        first,
        **dict.fromkeys(names, HOSTILE),
        loses=[HOSTILE],
        commands=[HOSTILE],
        blocked=[{"gate": HOSTILE, "why": HOSTILE}],
        refused={"precondition": HOSTILE, "why": HOSTILE},
        proposal={"owner": HOSTILE, "where": HOSTILE, "patch": HOSTILE},
        boundTo=dict.fromkeys(("kind", "namespace", "name"), HOSTILE),
    )
    say(server.repairs, "1", hostile, modes={HOSTILE: HOSTILE})
    shown = await section(server, first)
    # remediation, state, mode, write, why, effect, risk, undo; loses, commands; gate and precondition; the proposal;
    # kind and name of what is paused, and these and its namespace in the command
    assert shown.count("&lt;script&gt;alert(1)&lt;/script&gt;\\u202e") == 8 + 2 + 4 + 3 + 2 + 3
    assert "<script" not in shown
    assert "\u202e" not in shown


# -- a finding and its remediation, without a sidecar


def test_reasons_name_remediations_that_may_be() -> None:
    named = {(check.id, name): each.remediation for check in all_checks() for name, each in check.reasons.items()}
    assert named["ipam_claims", "OrphanClaim"] == "delete_orphan_ipam_claim"
    assert named["evictions", "NotStarted"] == "migrate_marked_vmi"
    assert named["feature_configuration", "RedundantGate"] == "clean_feature_gates"
    assert named["ipam_claims", "DuplicateIP"] == ""


async def test_the_page_names_the_remediation_and_the_command_that_shows_its_plan(http: aiohttp.ClientSession) -> None:
    async with http.get("/api/v1/findings?reason=OrphanPDB") as answer:
        (finding,) = (await answer.json())["findings"]
    async with http.get(f"/findings/{finding['fingerprint']}") as answer:
        html = await answer.text()
    assert finding["remediation"] == "delete_orphan_pdb"
    command = f"steward reconcile plan {finding['fingerprint']}"
    assert "Repair delete_orphan_pdb: Delete " in html
    assert f'<pre tabindex="0"><code>{command}</code></pre>' in html


def test_explain_names_the_remediation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "OrphanClaim"]) == 0
    assert "Repair:   delete_orphan_ipam_claim: " in capsys.readouterr().out
    assert main(["explain", "DuplicateIP"]) == 0
    assert "Repair:" not in capsys.readouterr().out


# -- a steward that follows


async def test_a_steward_with_a_sidecar_shows_its_repairs_and_its_findings_without(
    cluster: FakeApiServer, tmp_path: Path
) -> None:
    async with sidecar() as server:
        config = Config(reconcile=ReconcileSettings(url=server.url))
        transport = Transport.from_environment(str(kubeconfig(tmp_path, cluster.url)))
        steward = assemble(transport, config, settle=0.01)
        async with serve(steward, "127.0.0.1", 0) as url, aiohttp.ClientSession(base_url=url) as session:
            assert await wait_until_seen(steward, 30)

            async def found() -> Any:
                async with session.get("/api/v1/findings?reason=OrphanPDB") as answer:
                    return await answer.json()

            fingerprint = (await found())["findings"][0]["fingerprint"]
            await server.says(plans("2", repair(fingerprint)))
            while (await server.request()).query.get("since") != "2":
                pass
            (finding,) = (await found())["findings"]
            assert [each["state"] for each in finding["repairs"]] == ["planned"]

            server.answers(500)
            await server.says(plans("3", repair(fingerprint)))
            async with asyncio.timeout(10):
                while not (whole := await found())["reconcile"]["why"]:
                    pass
            assert "was answered with 500" in whole["reconcile"]["why"]
            assert whole["findings"] == [finding]
            async with session.get("/readyz") as answer:
                assert answer.status == 200
    assert [task.get_name() for task in asyncio.all_tasks() if "repairs" in task.get_name()] == []


async def test_without_a_url_nobody_is_asked(cluster: FakeApiServer, tmp_path: Path) -> None:
    steward = assemble(Transport.from_environment(str(kubeconfig(tmp_path, cluster.url))), settle=0.01)
    assert (steward.follower, steward.repairs.followed) == (None, False)
