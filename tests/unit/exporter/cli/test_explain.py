"""`steward explain`: by whatever name somebody has met it, and of one finding with its names filled in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exporter.__main__ import main
from exporter.checks import all_checks
from exporter.cli.commands.explain import of_finding
from exporter.facts.record import Ref
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.questions.findings import FindingReport, near, reported
from exporter.rules.routing import urgencies
from tests.all_of import each_of
from tests.dumps import many
from tests.shared import REPO

VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"namespace": "shop", "name": "web", "uid": "u"},
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"name": "u1.large"},
        "template": {"spec": {"domain": {"devices": {}}}},
    },
}


NAMED = re.compile(r"^\| (?:\[|`)(\w+)(?:\]|`)", re.MULTILINE)


def test_each_name_that_an_alert_a_finding_or_a_panel_may_show_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    names = NAMED.findall((REPO / "docs/names.md").read_text(encoding="utf-8"))
    assert len(names) > 400
    for name in dict.fromkeys(names):
        code, out, err = said(capsys, name)
        assert (code, err, name in out) == (0, "", True), name
        if name.startswith(("Steward", "KubeVirt", "VM")) and name in urgencies():
            assert said(capsys, name, "--runbook")[0] == 0, name
    code, out, _ = said(capsys, "stewardreplicadown")
    assert out.startswith("StewardReplicaDown\n\nFor 15 minutes Prometheus could not scrape a replica of the steward")
    assert "Impact:   None while the other replica runs." in out


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["explain", *words])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture
def dump(tmp_path: Path) -> list[str]:
    path = tmp_path / "dump.yaml"
    path.write_text(many([VM]), encoding="utf-8")
    return ["--from", str(path), "--complete"]


@pytest.fixture
def missing(dump: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The finding that its instancetype is missing."""
    main(["check", *dump, "-o", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    (one,) = (each for each in found if each["reason"] == "ObjectMissing")
    return {"fingerprint": one["fingerprint"], "cause": one["cause"]}


def test_a_finding_is_shown_with_those_of_its_vm_its_node_and_the_objects_it_names() -> None:
    node, vm = Ref("Node", "", "n1", "n"), Ref("VirtualMachine", "shop", "web", "u")
    pod = Ref("Pod", "shop", "virt-launcher-web", "p")

    def one(name: str, subject: Ref, **more: Any) -> FindingReport:
        made = reported(Finding(reason="OrphanClaim", severity=Severity.INFO, subject=subject, message="It is so."))
        return msgspec.structs.replace(made, check="ipam_claims", fingerprint=name, **more)

    every = {
        "drain": one("drain", node, node="n1"),
        "vmi": one("vmi", vm, node="n1", vm="web", related=(pod,)),
        "same": one("same", vm, vm="web"),
        "pod": one("pod", pod, node="n2"),
        "there": one("there", Ref("VirtualMachine", "other", "web", "v"), vm="web", node="n1"),
        "cluster": one("cluster", vm, vm="web", cluster="b"),
    }
    expected = {"drain": ["vmi", "there"], "vmi": ["drain", "same", "pod"], "same": ["vmi"], "pod": [], "cluster": []}
    for name, others in expected.items():
        found = near(every[name], every.values())
        assert [each.fingerprint for each in found] == others, name
    text = of_finding(every["vmi"], None, near(every["vmi"], every.values()))
    assert re.search(r"^info +OrphanClaim +node n1 +drain$", text, re.M)
    many_others = [one(f"f{at}", vm) for at in range(22)]
    assert of_finding(every["drain"], None, many_others).endswith("\nand 2 more\n")


@pytest.mark.parametrize("name", ["OrphanClaim", "orphanclaim", "ORPHANCLAIM"])
def test_a_reason_is_known_by_its_name_in_any_case(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, name)
    assert (code, err) == (0, "")
    title = next(check for check in all_checks() if check.id == "ipam_claims").reasons["OrphanClaim"].title
    assert " ".join(out.partition("\n\n")[0].split()) == f"OrphanClaim (check ipam_claims): {title}"


def test_a_metric_is_the_reasons_that_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "kubevirt_ipamclaim_orphaned")
    assert (code, err) == (0, "")
    assert {line.partition(" (")[0] for line in out.splitlines() if " (check " in line} == {
        "OrphanClaim",
        "OwnerlessClaim",
    }


def test_an_alert_is_all_its_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "vminstancetypeunversioned")
    assert (code, err) == (0, "")
    assert [line.partition(" (")[0] for line in out.splitlines() if " (check " in line] == [
        "DeletableInUse",
        "Unversioned",
        "ExpandPending",
    ]


def test_a_finding_is_explained_with_its_names(
    missing: dict[str, str], dump: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (missing["fingerprint"], missing["fingerprint"][:8], missing["cause"]):
        code, out, err = said(capsys, name, *dump)
        assert (code, err) == (0, "")
        assert out.startswith("critical ObjectMissing: VM shop/web\n\n")
        assert "\nAlert:    VMInstancetypeMissing. The alert doesn't page. " in out
        assert "kubectl get virtualmachines.kubevirt.io -n shop web " in out


def test_the_runbook_of_a_finding_is_about_it_alone_and_has_its_names(
    missing: dict[str, str], dump: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, missing["fingerprint"], "--runbook", *dump)
    assert (code, err) == (0, "")
    assert out.startswith("VMInstancetypeMissing\nhttps://")
    assert out.splitlines()[2].startswith(("Urgent", "Not urgent"))
    assert [line for line in out.splitlines() if line.isupper() and not line.startswith(" ")] == [
        "MEANING",
        "IMPACT",
        "DIAGNOSIS",
        "MITIGATION",
        "REMEDIATION",
        "VERIFICATION",
    ]
    meant = out.partition("MEANING")[2].partition("IMPACT")[0]
    assert "`ObjectMissing`" in meant
    assert "`UnknownKind`" not in meant
    assert "NAMESPACE=shop" in out
    assert " -n shop " in out


def test_the_names_of_one_that_keeps_what_others_share_are_left_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, uuid = tmp_path / "dump.yaml", {"firmware": {"uuid": "0d3a1f6a-9a0c-4c0e-8f57-0d0b6a9d1c11"}}
    twins = [json.loads(json.dumps(VM)) for _ in range(2)]
    for each, name in zip(twins, ("old", "twin"), strict=True):
        each["metadata"] |= {"name": name, "uid": name}
        each["spec"]["template"]["spec"]["domain"] |= uuid
    path.write_text(many(twins), encoding="utf-8")
    dump = ["--from", str(path), "--complete"]
    main(["check", *dump, "-o", "json"])
    found = [each for each in json.loads(capsys.readouterr().out)["findings"] if each["reason"] == "LatentDuplicate"]
    assert {each["evidence"]["keeper"] for each in found} == {"shop/old"}
    for each in found:
        _, out, _ = said(capsys, each["fingerprint"], "--runbook", *dump)
        name = each["subject"]["name"]
        assert (f"NAME={name}" in out) is (name == "twin")
        assert "NAME=old" not in out


def test_the_command_by_feature_runs_for_a_finding_of_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dump.yaml"
    path.write_text(many([VM | {"spec": {"runStrategy": "Halted"}}]), encoding="utf-8")
    look = ["--from", str(path), "--complete"]
    main(["check", *look, "--check", "feature_mismatch", "--feature", "", "-o", "json"])
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["reason"], finding["feature"]) == ("InvalidVM", "")
    _, out, _ = said(capsys, finding["fingerprint"], "--runbook", *look)
    assert "FEATURE='' REASON=InvalidVM" in out
    path.write_text(many([VM]), encoding="utf-8")
    main(["check", *look, "--check", "feature_mismatch", "--feature", ""])  # once it is mended
    assert capsys.readouterr().out.startswith("No findings")


def test_of_a_reason_alone_the_names_are_left_open(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "objectmissing", "--runbook")
    assert code == 0
    assert "NAMESPACE='<namespace>'" in out
    assert "REASON=ObjectMissing" in out


@each_of(
    ("words", "says"),
    [
        (["orphanclam"], "no check, reason, alert or metric is called 'orphanclam'; did you mean OrphanClaim?"),
        (
            ["VMInstancetypeMising"],
            "no check, reason, alert or metric is called 'VMInstancetypeMising'; did you mean VM",
        ),
        (["zzz"], "no check, reason, alert or metric is called 'zzz'; `steward explain` lists all"),
        (["vsock"], "vsock is a feature: `steward features vsock` says whether it is allowed, and who asks for it"),
        (["0123abcd", "DUMP"], "no finding and no cause has ID 0123abcd, or it is gone; `steward check -o wide`"),
        (["DeprecatedInUse", "--runbook"], "DeprecatedInUse has no alert, and so no runbook; `steward explain Dep"),
        (["0123abcd", "--complete"], "--complete says what a dump holds; it needs --from"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_what_can_not_be_explained_is_one_sentence(
    words: list[str], says: str, dump: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [each for word in words for each in (dump if word == "DUMP" else [word])]
    code, out, err = said(capsys, *given)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith(f"steward: {says}")
