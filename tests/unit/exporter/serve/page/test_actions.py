"""Forms that approve, pause and acknowledge: who has them, what the sidecar gets, and what foreign pages can't do."""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from html import unescape
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from aiohttp import web

from exporter.kube.reviews import Resource
from exporter.questions.in_slices import at_once
from exporter.serve.access.access import token_of
from exporter.serve.access.same_origin import LASTS, form_token
from exporter.serve.access.viewer import admit
from exporter.sidecar.repairs import Repairs, decoding

from .....cause_counts import causes_of_vms
from .....reported_repairs import plans, repair
from .....served import Served, served

HASH = "3f9c2a0011223344"
REMEDIATION = "release_ipam_claim"
FORM = "application/x-www-form-urlencoded"
HOSTILE = 'db"><script>alert(1)</script>'


class Recorder:
    """A sidecar that notes what it gets."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str]]] = []
        self.answer = 200, "alice has approved of it"

    async def act(self, token: str, wanted: dict[str, str]) -> tuple[int, str]:
        self.got.append((token, wanted))
        return self.answer


async def by_token(request: web.Request) -> web.StreamResponse | None:
    """Alice may patch IPAMClaims of ns, and get and patch the steward's ConfigMap. Eve may get that, bob nothing."""
    token = token_of(request)
    if token is None:
        return web.Response(status=401)

    async def may(resource: Resource) -> bool:
        claims = Resource("k8s.cni.cncf.io", "ipamclaims", "patch", "ns")
        got, patched = (Resource("", "configmaps", verb, "steward", "exporter") for verb in ("get", "patch"))
        return resource in {"alice": (claims, got, patched), "eve": (got,)}.get(token, ())

    admit(request, token, may)
    return None


def basic(token: str) -> str:
    return "Basic " + base64.b64encode(f"x:{token}".encode()).decode()


@asynccontextmanager
async def acting(state: str = "waiting", name: str = "db.blue", **more: Any) -> AsyncIterator[tuple[Served, Recorder]]:
    recorder, repairs = Recorder(), Repairs(1.0)
    async with served(0, checks=[causes_of_vms(1, 1)], repairs=repairs, guard=by_token, sidecar=recorder) as server:
        finding = next(iter(server.engine.findings()))
        bound = {"kind": "IPAMClaim", "namespace": "ns", "name": name}
        planned = repair(finding.fingerprint, state=state, mode="approve", boundTo=bound, target=f"IPAMClaim ns/{name}")
        answer = plans("1", planned, **{"actions": True, **more})
        repairs.take(at_once(decoding(msgspec.json.encode(answer))))
        yield server, recorder


def fingerprint(server: Served) -> str:
    return next(iter(server.engine.findings())).fingerprint


async def page(server: Served, token: str = "alice") -> str:
    status, _, body = await server.get(f"/findings/{fingerprint(server)}", Authorization=basic(token))
    assert status == 200
    return body.decode()


def forms(html: str) -> dict[str, dict[str, str]]:
    """The fields of each form that is sent, by its address."""
    return {
        action: {name: unescape(value) for name, value in re.findall('type="hidden" name="(.*?)" value="(.*?)"', inner)}
        for action, inner in re.findall('<form class="act" method="post" action="(.*?)">(.*?)</form>', html, re.S)
    }


async def send(
    server: Served, path: str, fields: dict[str, str] | str, token: str = "alice", **headers: str
) -> tuple[int, str]:
    body = fields if isinstance(fields, str) else urlencode(fields)
    given = {
        "Host": "127.0.0.1",
        "Origin": "http://127.0.0.1",
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": FORM,
        "Authorization": basic(token),
        "Content-Length": str(len(body)),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
    status, _, answer = await server.raw(f"POST {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n{body}")
    return status, answer.decode()


async def test_whoever_may_patch_the_object_gets_the_forms_and_the_sidecar_gets_their_token() -> None:
    async with acting() as (server, recorder):
        own = forms(await page(server))
        of = fingerprint(server)
        assert list(own) == [f"/findings/{of}/approve", f"/findings/{of}/pause"]
        status, html = await send(server, f"/findings/{of}/approve", own[f"/findings/{of}/approve"])
        assert (status, "Alice has approved of it." in html) == (200, True)
        fields = {**own[f"/findings/{of}/pause"], "because": "we look at it"}
        assert (await send(server, f"/findings/{of}/pause", fields))[0] == 200
        wanted = {"fingerprint": of, "remediation": REMEDIATION, "plan": HASH}
        forms_of = [own[f"/findings/{of}/{act}"]["token"] for act in ("approve", "pause")]
        assert recorder.got == [
            ("alice", {"act": "approve", "form": forms_of[0], **wanted, "because": ""}),
            ("alice", {"act": "pause", "form": forms_of[1], **wanted, "because": "we look at it"}),
        ]


async def test_whoever_may_not_gets_the_command_to_copy() -> None:
    async with acting() as (server, _):
        html = await page(server, "bob")
        assert forms(html) == {}
        assert "steward reconcile approve" in html


@pytest.mark.parametrize(("more", "acts"), [({"actions": False}, []), ({}, ["approve", "pause"])])
async def test_without_a_sidecar_that_takes_them_there_are_none(more: dict[str, Any], acts: list[str]) -> None:
    async with acting(**more) as (server, _):
        assert [each.rpartition("/")[2] for each in forms(await page(server))] == acts


async def test_what_does_not_wait_can_be_paused_and_not_approved() -> None:
    async with acting("planned") as (server, _):
        assert [each.rpartition("/")[2] for each in forms(await page(server))] == ["pause"]


async def test_no_foreign_page_and_no_forged_form_reaches_the_sidecar() -> None:
    """Each is sent with alice's token, as a browser that has it would."""
    async with acting() as (server, recorder):
        of = fingerprint(server)
        path = f"/findings/{of}/approve"
        good = forms(await page(server))[path]
        now = int(good["token"].partition(".")[0])
        act = ("approve", of, REMEDIATION, HASH)
        attacks: dict[str, tuple[dict[str, str] | str, dict[str, str]]] = {
            "a foreign origin": (good, {"Origin": "https://evil.example"}),
            "this host by another port": (good, {"Origin": "http://127.0.0.1:1"}),
            "this host as a part of a name": (good, {"Origin": "http://127.0.0.1.evil.example"}),
            "this host by no scheme of the web": (good, {"Origin": "chrome-extension://127.0.0.1"}),
            "an origin that hides": (good, {"Origin": "null"}),
            "no origin": (good, {"Origin": ""}),
            "another site of the domain": (good, {"Sec_Fetch_Site": "same-site"}),
            "another site": (good, {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}),
            "no form token": ({k: v for k, v in good.items() if k != "token"}, {}),
            "an empty form token": ({**good, "token": ""}, {}),
            "no digest": ({**good, "token": f"{now}.{'0' * 64}"}, {}),
            "another user's": ({**good, "token": form_token("bob", act, now)}, {}),
            "that of a pause": ({**good, "token": form_token("alice", ("pause", *act[1:]), now)}, {}),
            "that of another finding": (
                {**good, "token": form_token("alice", ("approve", "f" * 16, *act[2:]), now)},
                {},
            ),
            "another plan": ({**good, "plan": "f" * 16}, {}),
            "another remediation": ({**good, "remediation": "delete_orphan_pdb"}, {}),
            "an old one that is replayed": ({**good, "token": form_token("alice", act, now - LASTS - 60)}, {}),
            "one of a day to come": ({**good, "token": form_token("alice", act, now + 86400)}, {}),
            "a later time on it": ({**good, "token": f"{now + 5}.{good['token'].partition('.')[2]}"}, {}),
            "a field twice": (urlencode(good) + "&plan=" + "f" * 16, {}),
            "a field of its own": ({**good, "admin": "1"}, {}),
            "JSON": ("{}", {"Content_Type": "application/json"}),
            "text, which needs no preflight": (urlencode(good), {"Content_Type": "text/plain"}),
            "a form in no code that there is": (good, {"Content_Type": f"{FORM}; charset=nope"}),
            "one whose code has half characters": ("token=1.+2AA-", {"Content_Type": f"{FORM}; charset=utf-7"}),
            "one that http:// of this host sends": (
                good,
                {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"},
            ),
            "a long one": ({**good, "because": "x" * 5000}, {}),
            "no token": (good, {"Authorization": ""}),
        }
        answered = {name: (await send(server, path, sent, **headers))[0] for name, (sent, headers) in attacks.items()}
        assert {name: code for name, code in answered.items() if not 400 <= code < 500} == {}
        assert (await send(server, path, good, token="bob"))[0] == 403
        assert recorder.got == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_nothing_but_a_form_changes_anything(method: str) -> None:
    async with acting() as (server, recorder):
        fields = urlencode(forms(await page(server))[f"/findings/{fingerprint(server)}/approve"])
        path = f"/findings/{fingerprint(server)}/approve?{fields}"
        status, _, _ = await server.get(path, method, Authorization=basic("alice"), Origin="http://127.0.0.1")
        assert (status, recorder.got) == (405, [])


async def test_what_the_sidecar_refuses_is_said() -> None:
    async with acting() as (server, recorder):
        recorder.answer = 403, 'alice may not patch <b>"ipamclaims"</b>'
        path = f"/findings/{fingerprint(server)}/approve"
        status, html = await send(server, path, forms(await page(server))[path])
        assert (status, "<h1>Not done</h1>" in html, "&lt;b&gt;" in html, "<b>&#34;" in html) == (
            403,
            True,
            True,
            False,
        )


PLACE: dict[str, Any] = {"acknowledges": {"namespace": "steward", "name": "exporter"}}


def cause(server: Served) -> str:
    return next(iter(server.engine.findings())).cause


async def test_whoever_may_patch_the_configuration_acknowledges_the_cause_as_bad_as_it_is() -> None:
    async with acting(**PLACE) as (server, recorder):
        of = cause(server)
        path = f"/findings/{of}/acknowledge"
        by_finding = forms(await page(server))[path]
        _, _, body = await server.get(f"/findings?cause={of}", Authorization=basic("alice"))
        form = forms(body.decode())[path]
        assert form["severity"] == by_finding["severity"] == "critical"
        recorder.answer = 200, "alice has put the entry into ConfigMap steward/exporter"
        sent = {**form, "until": "2999-01-01", "because": "the vendor's"}
        status, html = await send(server, path, sent)
        assert (status, "<h1>Done</h1>" in html, "steward ignore" in html) == (200, True, False)
        ((token, got),) = recorder.got
        assert token == "alice"
        assert got == {
            "act": "acknowledge",
            "form": form["token"],
            "cause": of,
            "severity": "critical",
            "until": "2999-01-01",
            "because": "the vendor's",
            "about": got["about"],
        }
        assert got["about"].startswith("critical Broken, Network net-0000")


async def test_what_is_not_acknowledged_by_the_page_is_by_a_command() -> None:
    async with acting(**PLACE) as (server, recorder):
        of = cause(server)
        path = f"/findings/{of}/acknowledge"
        sent = {**forms(await page(server))[path], "until": "2999-01-01", "because": "the vendor's"}
        recorder.answer = 409, "ConfigMap steward/exporter is as it was: Helm would take the entry back"
        status, html = await send(server, path, sent)
        assert (status, "<h1>Not done</h1>" in html) == (409, True)
        command = re.search("<pre[^>]*><code>(.*?)</code>", html)
        assert command
        assert shlex.split(unescape(command[1])) == [
            *("steward", "ignore", of, "--until", "2999-01-01", "--because", "the vendor's")
        ]
        others: list[tuple[str, dict[str, Any]]]
        others = [("bob", PLACE), ("eve", PLACE), ("alice", {}), ("alice", {**PLACE, "actions": False})]
        for token, more in others:
            async with acting(**more) as (other, _):
                html = await page(other, token)
                assert [each for each in forms(html) if each.endswith("acknowledge")] == []
                assert f"steward ignore {cause(other)} --until DATE --because TEXT" in html


async def test_no_forged_form_acknowledges_anything() -> None:
    async with acting(**PLACE) as (server, recorder):
        of, other = cause(server), "f" * 16
        path = f"/findings/{of}/acknowledge"
        good = {**forms(await page(server))[path], "until": "2999-01-01", "because": "x"}
        made = partial(form_token, now=int(good["token"].partition(".")[0]))
        answered = {
            "of another severity": await send(server, path, {**good, "severity": "info"}),
            "of another cause": await send(
                server, path, {**good, "token": made("alice", ("acknowledge", other, "critical"))}
            ),
            "of another act": await send(server, path, {**good, "token": made("alice", ("pause", of, "critical"))}),
            "of somebody else": await send(server, path, good, token="bob"),
            "with a field of another form": await send(server, path, {**good, "plan": HASH}),
            "of a foreign page": await send(server, path, good, Origin="https://evil.example"),
            "of a cause that is not open": await send(
                server,
                f"/findings/{other}/acknowledge",
                {**good, "token": made("alice", ("acknowledge", other, "critical"))},
            ),
        }
        assert {name: status for name, (status, _) in answered.items() if not 400 <= status < 500} == {}
        assert recorder.got == []


async def test_hostile_names_stay_text_in_forms() -> None:
    async with acting(name=HOSTILE) as (server, _):
        html = await page(server)
        assert "<script>alert" not in html
        assert list(forms(html)) == [f"/findings/{fingerprint(server)}/{act}" for act in ("approve", "pause")]
