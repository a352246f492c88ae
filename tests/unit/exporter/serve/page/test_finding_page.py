"""/findings/FINGERPRINT: one finding whole."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import aiohttp

from exporter.checks import all_checks
from exporter.serve.html.rendering import with_code

from .....asking import get, scripts_in
from .....cause_counts import causes_of_vms
from .....served import served


async def found(http: aiohttp.ClientSession, reason: str, **having: str) -> tuple[Any, str]:
    every = json.loads((await get(http, f"/api/v1/findings{f'?reason={reason}' if reason else ''}"))[1])["findings"]
    finding = next(each for each in every if all(each[name] == value for name, value in having.items()))
    status, html, _ = await get(http, f"/findings/{finding['fingerprint']}")
    assert status == 200
    return finding, unescape(html)


def section(html: str, name: str) -> str:
    return html[html.index(f'id="{name}"') :].partition("</section>")[0]


async def test_what_is_wrong_since_when_and_how_that_is_known(http: aiohttp.ClientSession) -> None:
    finding, html = await found(http, "StuckTerminatingBlocksOwnerDeletion")
    assert finding["message"] in html
    assert "From the deletionTimestamp of the object." in html
    assert f'datetime="{finding["since"]}"' in html
    assert '<a href="/vms/telecom/sip-proxy-old">' in html
    assert '<a href="/networks/telecom-signalling">' in html
    reason = next(check for check in all_checks() if check.id == finding["check"]).reasons[finding["reason"]]
    assert all(text in html for text in (reason.title, reason.meaning, reason.impact, reason.severity_when))
    _, html = await found(http, "", sinceSource="firstSeen")
    assert re.search(r"<time [^>]*>(≥ \d+\w|-)<", html)  # within the first second nothing is known
    assert "No object records it" in html


async def test_a_node_and_the_vms_there_show_each_others_findings(http: aiohttp.ClientSession) -> None:
    left, of_node = await found(http, "NodeDrainResidual")
    blocked, of_vmi = await found(http, "NotMigratable", node=left["node"])
    assert f"/findings/{blocked['fingerprint']}" in section(of_node, "related")
    assert f"/findings/{left['fingerprint']}" in section(of_vmi, "related")


async def test_the_command_of_the_runbook_is_among_those_of_the_finding(http: aiohttp.ClientSession) -> None:
    finding, html = await found(http, "RevisionNotOwned")
    assert "as the runbook shows" in finding["next"]
    command = f"steward explain --runbook {finding['fingerprint']}"
    assert finding["commands"][-1] == command
    assert command in html


async def test_what_stands_between_backticks_is_code(http: aiohttp.ClientSession) -> None:
    _, html = await found(http, "StaleEvacuationRequest")
    assert "(<code>status.evacuationNodeName</code>)" in html
    texts = {"a `b` `c`": "a <code>b</code> <code>c</code>", "a `b": "a `b", "`<b>`&": "<code>&lt;b&gt;</code>&amp;"}
    assert {text: str(with_code(text)) for text in texts} == texts


async def test_the_runbook_has_the_names_of_the_vm_and_of_kubevirt(http: aiohttp.ClientSession) -> None:
    finding, html = await found(http, "StartBlocked")
    runbook = section(html, "runbook")
    assert f"NAMESPACE={finding['subject']['namespace']} VMNAME={finding['vm']}" in runbook
    assert "KUBEVIRTNAMESPACE=kubevirt KUBEVIRTNAME=kubevirt" in runbook


async def test_parts_for_other_reasons_or_kinds_have_no_names_of_the_finding(http: aiohttp.ClientSession) -> None:
    finding, html = await found(http, "RevisionNotOwned")
    name = finding["subject"]["name"]
    own, *others = section(html, "runbook").split("<details")
    apart = [each.partition("</details>") for each in others]
    assert any("$VMNAME" in part for part, _, _ in apart)
    assert not any(re.search(rf"\b{name}\b", part) for part, _, _ in apart)
    whole = "".join((own, *(after for _, _, after in apart)))
    assert f"VMNAME={name} ROLE=instancetype" in whole
    _, html = await found(http, "ObjectMissing")
    assert "virtualmachinepools" not in section(html, "runbook").replace(
        "VirtualMachinePool) OF=virtualmachinepools", ""
    )


async def test_no_runbook_has_the_names_of_one_that_keeps_what_others_share(http: aiohttp.ClientSession) -> None:
    every = json.loads((await get(http, "/api/v1/findings"))[1])["findings"]
    shared = [each for each in every if each["evidence"].get("keeper")]
    keeping = [each for each in shared if each["evidence"]["keeper"] == path(each)]
    assert {each["reason"] for each in keeping} >= {"Duplicate", "LatentDuplicate", "DuplicateIP"}
    for each in keeping:
        _, html, _ = await get(http, f"/findings/{each['fingerprint']}")
        runbook = section(unescape(html), "runbook")
        named = re.findall(r"NAMESPACE=(\S+) NAME=(\S+)|-n (\S+) ([a-z]\S+)", runbook)
        assert path(each) not in {"/".join(filter(None, one)) for one in named}, each["reason"]
        changed = next(one for one in shared if one["cause"] == each["cause"] and one not in keeping)
        assert f"NAMESPACE={changed['subject']['namespace']} NAME={changed['subject']['name']}" in runbook


async def test_no_runbook_names_one_of_several_of_which_it_is_not_known_which_gives_way(
    http: aiohttp.ClientSession,
) -> None:
    every = json.loads((await get(http, "/api/v1/findings?reason=SerialDuplicate"))[1])["findings"]
    undecided = [each for each in every if not each["evidence"].get("keeper")]
    assert len(undecided) > 1
    for each in undecided:
        _, html, _ = await get(http, f"/findings/{each['fingerprint']}")
        runbook = section(unescape(html), "runbook")
        assert "No names are filled in, because it isn't known which object has to change." in runbook
        assert "NAME='<name>'" in runbook
        assert f"-n {each['subject']['namespace']} {each['subject']['name']}" not in runbook


def path(finding: Any) -> str:
    return f"{finding['subject']['namespace']}/{finding['subject']['name']}"


async def test_commands_that_look_and_those_that_change_are_apart_and_say_what_they_do(
    http: aiohttp.ClientSession,
) -> None:
    finding, html = await found(http, "NotMigratable")
    look, _, change = section(html, "next").partition("<h3>Change</h3>")
    assert [each for each in finding["commands"] if each in look] == finding["commands"][:1]
    assert "virtctl restart -n billing oracle-1" in change
    assert "interrupts a guest" in change
    assert "Restarts the guest (not with runStrategy Once" in change
    assert 'class="sign' not in look


async def test_the_runbook_says_of_this_reason_with_the_names_filled_in(http: aiohttp.ClientSession) -> None:
    _, html = await found(http, "StuckTerminatingBlocksOwnerDeletion")
    runbook = section(html, "runbook")
    assert "kubectl get ipamclaims.k8s.cni.cncf.io -n telecom sip-proxy-old.sig -o yaml" in runbook
    assert "NAMESPACE=telecom NAME=sip-proxy-old.sig VMNAME=sip-proxy-old" in runbook
    assert "deploy/steward-exporter" not in runbook  # which the owner of a VM can't run
    assert "not-in-tests" not in runbook
    own = re.sub("<details.*?</details>", "", runbook, flags=re.DOTALL)
    assert "Annotate the VM" in own
    assert "do not remove the finalizer yourself" not in own
    assert "Of StuckTerminatingForeignFinalizer" in runbook
    assert "do not remove the finalizer yourself" in runbook  # nothing is lost
    annotate = runbook[: runbook.index("kubectl annotate")]
    assert annotate.rstrip().endswith('<pre tabindex="0"><code>')
    assert 'class="sign changes">changes the cluster' in annotate[-200:]


async def test_evidence_is_a_table_and_related_objects_have_their_findings(http: aiohttp.ClientSession) -> None:
    _, html = await found(http, "DuplicateIP")
    assert '<th scope="row">address</th><td><code>' in section(html, "evidence")
    finding, html = await found(http, "Duplicate")
    (other,) = finding["related"]
    related = section(html, "related")
    assert f"<code>{other['namespace']}/{other['name']}</code>" in related
    assert 'class="finding critical"' in related


async def test_a_finding_that_is_closed_is_a_page_that_says_so(http: aiohttp.ClientSession) -> None:
    status, html, _ = await get(http, "/findings/0123456789abcdef")
    assert status == 404
    assert "No open finding has the fingerprint" in html
    assert 'href="/findings"' in html


async def test_the_id_of_a_cause_leads_to_the_cause(http: aiohttp.ClientSession) -> None:
    cause = json.loads((await get(http, "/api/v1/causes"))[1])["causes"][0]["cause"]
    async with http.get(f"/findings/{cause}", allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (302, f"/findings?cause={cause}")


async def test_each_finding_of_the_demo_has_a_page_without_foreign_script(http: aiohttp.ClientSession) -> None:
    for finding in json.loads((await get(http, "/api/v1/findings"))[1])["findings"]:
        status, html, _ = await get(http, f"/findings/{finding['fingerprint']}")
        assert status == 200, finding["reason"]
        assert html.endswith("</html>"), finding["reason"]
        assert scripts_in(html) == []
        ids = re.findall(r' id="([^"]*)"', html)
        assert len(ids) == len(set(ids)), finding["reason"]
        objects = re.findall("<h3>(.*?)</h3>", section(html, "related")) if 'id="related"' in html else []
        assert len(objects) == len(set(objects)), finding["reason"]


async def test_hostile_names_are_text_in_the_commands_too() -> None:
    hostile = '"><script>alert(1)</script>$(reboot)\u202e'
    async with served(0, checks=[causes_of_vms(1, 1, names=[hostile])]) as server:
        (finding,) = server.engine.findings()
        html = (await server.get(f"/findings/{finding.fingerprint}"))[2].decode()
    assert scripts_in(html) == []
    assert "\u202e" not in html
    assert "&lt;script&gt;alert(1)" in html
