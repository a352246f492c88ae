"""What objects are called, and what is asked for, is text on every page: each page that a link or form leads to is
walked, with names that would be markup, a path, a direction or a command elsewhere.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from exporter.checks import all_checks
from exporter.cli.output.findings.report import csv_of
from exporter.engine.evaluate import at_once
from exporter.facts.naming import is_seen
from exporter.questions.findings import take
from exporter.sidecar import Repairs, decoding

from .....amounts import drawn, part
from .....asking import scripts_in
from .....reported_repairs import plans, repair
from .....rows import full
from .....served import Served, served

HOSTILE = (
    *('"><script>alert(1)</script>', "<img src=x onerror=alert(1)>", "x" * 253, "a\u202eb\x1b[31m", "a/../b?c#d"),
    "a\xad\u034f\u061c\u115f\u180e\u2800\u3164\ufe0f\ufffa\U000e0041\U000e0101b",
    *(
        "'; kubectl delete ns prod; '",
        "$(reboot)`reboot`",
        "{{ 7*7 }}{% raw %}",
        "javascript:alert(1)//",
        "a&lt;b&#62;",
    ),
)
_KINDS = (
    *("/", "/findings", "/findings/", "/findings?cause=", "/vms/", "/nodes/", "/networks/", "/instancetypes/"),
    *("/features/", "/search?", "/drain?", "/impact?", "/repairs", "/runbooks/", "/health"),
)
"""What the walk has to come by, by how its address begins."""
_LINK = re.compile(r'(?:href|action)="(/[^"]*)"')
_COMMAND = re.compile(r'<div class="command[^"]*">.*?<code>(.*?)</code></pre>', re.DOTALL)


def fill(server: Served, name: str, repairs: Repairs) -> None:
    """Objects of that name that refer to each other, findings of them, and a repair that waits."""
    for row in (
        {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.4", "gates": [name]},
        {"kind": "Node", "name": name, "cordoned": True},
        {"kind": "VirtualMachine", "name": name, "instancetype": {"name": name}, "runStrategy": "Always"},
        {"kind": "VirtualMachineInstance", "name": name, "node": name},
        {"kind": "VirtualMachineClusterInstancetype", "name": name},
        {"kind": "IPAMClaim", "name": name, "network": name, "vm": name},
    ):
        server.evaluation.seen(full(row))
    server.evaluation.now += 86400
    server.evaluation.evaluate()
    first = next(iter(server.engine.findings())).fingerprint
    bound = {"kind": "IPAMClaim", "namespace": "ns", "name": name}
    waits = repair(
        first, state="waiting", write=name, why=name, target=name, loses=[name], remediation=name, boundTo=bound
    )
    repairs.take(at_once(decoding(json.dumps(plans("1", waits)).encode())))


def asked_for(name: str) -> set[str]:
    """What somebody may type or be sent: forms and addresses with that name."""
    text = quote(name, safe="")
    forms = ("/search?q=", "/drain?node=", "/impact?disable=", "/impact?set=", "/impact?delete-instancetype=")
    filters = ("namespace", "node", "network", "feature", "name", "cause", "reason", "open", "sort", "page")
    paths = ("vms/ns", "nodes", "networks", "instancetypes", "features", "runbooks", "findings", "nothing")
    return (
        {f"{form}{text}" for form in forms}
        | {f"/findings?{each}={text}" for each in filters}
        | {f"/{each}/{text}" for each in paths}
    )


class Parts(HTMLParser):
    """What of a page could run, load or lead elsewhere, as a browser reads its markup."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            leads = name in ("href", "src", "action") and not re.match("/(?!/)|#|https://", value or "")
            if leads or name == "style" or name.startswith("on"):
                self.wrong.append(f"{tag} {name}={value}")
        if tag in ("img", "iframe", "svg", "base", "object", "embed"):
            self.wrong.append(tag)


def harmless(html: str, path: str) -> None:
    assert scripts_in(html) == [], path
    assert Parts(html).wrong == [], path
    assert [each for each in set(html) - {"\n", "\t"} if not is_seen(each)] == [], path
    assert "49{%" not in html, path  # no template in a name is filled in


@drawn
@pytest.mark.parametrize("name", part(HOSTILE, 2))
async def test_what_objects_are_called_is_text_on_every_page(name: str) -> None:
    repairs = Repairs(1_790_000_000.0)
    async with served(0, checks=all_checks(), repairs=repairs) as server:
        fill(server, name, repairs)
        left, seen = {"/", "/drain", "/impact", "/repairs", *asked_for(name)}, Counter[str]()
        walked: set[str] = set()
        while left:
            path = left.pop()
            walked.add(path)
            status, headers, body = await server.get(path.replace(" ", "%20"))
            assert status in (200, 302, 400, 404), (status, path)
            assert not re.match(r"(?!/(?!/))", headers.get("Location", "/")), path
            if not headers.get("Content-Type", "").startswith("text/html"):
                continue
            html = body.decode()
            harmless(html, path)
            for kind in _KINDS:
                seen[kind] += path.startswith(kind) and (len(path) > len(kind) or kind == path)
            links = {unescape(each).partition("#")[0] for each in _LINK.findall(html)}
            left |= {each for each in links if not each.startswith(("/runbooks/", "/findings?"))} - walked
            left |= {each for each in links if each.startswith("/findings?cause=") and "&" not in each} - walked
        wanted = _KINDS if "{" not in name else [each for each in _KINDS if "?" in each]  # no path has braces
        assert [kind for kind in wanted if not seen[kind]] == []


@pytest.mark.parametrize("name", ["'; reboot; '", "$(reboot)", "`reboot`", "a\nreboot", "-rf"])
async def test_a_name_in_a_command_is_one_word_of_it(name: str) -> None:
    repairs = Repairs(1_790_000_000.0)
    async with served(0, checks=all_checks(), repairs=repairs) as server:
        fill(server, name, repairs)
        for finding in server.engine.findings():
            html = (await server.get(f"/findings/{finding.fingerprint}"))[2].decode()
            for text in map(unescape, _COMMAND.findall(html)):
                bare = re.sub(r"'[^']*'", "", text.replace("'\"'\"'", ""))
                assert "reboot" not in bare, text


CONTROLS = "=a\u202eb\x1b[31m\r\n\tc\x7f\x85\u2028\u2066d"


async def test_nothing_controls_what_an_export_is_opened_with_or_printed_to() -> None:
    repairs, missed, said = Repairs(1_790_000_000.0), [], 0
    async with served(0, checks=all_checks(), repairs=repairs) as server:
        fill(server, CONTROLS, repairs)
        apis = ("findings", "causes", "networks", "instancetypes", "features", "drain", f"vms/ns/{quote(CONTROLS)}")
        texts = {"steward check -o csv": csv_of(take(server.engine))}
        for path in ("/findings.csv", "/findings.json", *(f"/api/v1/{each}" for each in apis)):
            status, _, body = await server.get(path, Accept_Encoding="identity")
            assert status == 200, path
            texts[path] = body.decode()
    for path, text in texts.items():
        missed += [(path, each) for each in {*text} if not is_seen(each) and each not in "\r\n"]
        if path.endswith("csv"):
            rows = list(csv.reader(text.splitlines()))
            missed += [(path, row) for row in rows if len(row) != len(rows[0]) or any(each[:1] == "=" for each in row)]
            said += any("'=a\\u202eb\\u001b[31m\\r\\n\\tc\\u007f" in row for row in rows[1:]) or 0
        else:
            said += CONTROLS in _strings(json.loads(text))
    assert missed == []
    assert said > 5


def _strings(value: object) -> set[str]:
    """All texts in it, the keys among them."""
    if isinstance(value, dict):
        return {text for pair in value.items() for each in pair for text in _strings(each)}
    if isinstance(value, list):
        return {text for each in value for text in _strings(each)}
    return {value} if isinstance(value, str) else set()
