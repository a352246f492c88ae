"""What a receiver gets of many findings at once, of a steward that goes away, and of what comes and goes.

The rules are evaluated by promtool, in every version that is here. One scrape and one evaluation a minute.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from exporter.rules import Values, rule_files
from exporter.rules.formats import files
from tests.cluster.conftest import Tools
from tests.cluster.test_rules import promtool

END = 240  # minutes
SHORT = Values(hold="1h")


@dataclass(frozen=True)
class Found:
    """Findings of one reason, of VMs `first` to `last`; there from `since` to `until`, in minutes."""

    family: str
    check: str
    reason: str
    count: int
    namespace: str = "ns"
    severity: str = "warning"
    since: int = 0
    until: int = END
    cause: str = "c1"
    first: int = 0
    kind: str = "VirtualMachine"
    cluster: str = ""

    def series(self) -> Iterator[dict[str, str]]:
        for number in range(self.first, self.first + self.count):
            labels = {"cluster": self.cluster} if self.cluster else {}
            labels |= {"check": self.check, "reason": self.reason, "severity": self.severity, "kind": self.kind}
            labels |= {"namespace": self.namespace, "name": f"vm{number:04}", "cause": self.cause}
            values = f"{f'_x{self.since} ' if self.since else ''}60x{self.until - self.since - 1} stale"
            yield {"series": named(f"{self.family}_since_timestamp_seconds", labels), "values": values}


SERIAL = Found("kubevirt_vm_serial_duplicate", "firmware_serials", "SerialDuplicate", 1)
PERSISTED = Found("kubevirt_vm_firmware_uuid_unstable", "firmware_vms", "SpecRunMismatch", 1)
MISSING = Found("kubevirt_vm_instancetype_broken", "instancetype_vms", "ObjectMissing", 1, severity="critical")
MAC = Found("kubevirt_vm_mac_duplicate", "mac_duplicates", "DuplicateMAC", 1, severity="critical")


def named(metric: str, labels: dict[str, str]) -> str:
    labels = {**labels, "job": "s", "instance": "a"}
    return f"{metric}{{{', '.join(f'{key}={json.dumps(text)}' for key, text in labels.items())}}}"


@dataclass
class Scenario:
    """`answering` says at which minutes the steward answers: the values of its series in promtool's notation."""

    found: Iterable[Found]
    asked: list[tuple[str, int, dict[str, float]]] = field(default_factory=list)
    answering: str = f"1x{END}"
    more: Iterable[dict[str, str]] = ()

    def run(self, binary: Tools, folder: Path, *areas: str, values: Values | None = None) -> None:
        values = values or Values()
        pack = [each for each in rule_files(values) if each.name in (*areas, "steward")]
        for name, text in files("prometheus", pack, values).items():
            (folder / name).write_text(text, encoding="utf-8")
        groups = [group.name for each in pack for group in each.groups]
        order = [each for each in groups if "-alerts" not in each] + [each for each in groups if "-alerts" in each]
        checks = {(each.cluster, each.check) for each in self.found}
        inputs = [row for each in self.found for row in each.series()]
        for cluster in sorted({cluster for cluster, _ in checks} | ({""} if not checks else set())):
            own = {"cluster": cluster} if cluster else {}
            inputs += [
                {"series": named(f"kubevirt_steward_{name}", own), "values": self.answering}
                for name in ("ready", "build_info")
            ]
        for cluster, check in sorted(checks):
            own = {"check": check} | ({"cluster": cluster} if cluster else {})
            inputs.append({"series": named("kubevirt_steward_check_up", own), "values": self.answering})
        test = {
            "interval": "1m",
            "input_series": [*inputs, *self.more],
            "promql_expr_test": [
                {"expr": expr, "eval_time": f"{minute}m", "exp_samples": list(_samples(expected))}
                for expr, minute, expected in self.asked
            ],
        }
        path = folder / "scenario.yaml"
        content = {"rule_files": [f"{each.name}.yaml" for each in pack], "evaluation_interval": "1m"}
        content["group_eval_order"] = [f"kubevirt-steward-{each}" for each in order]
        path.write_text(json.dumps({**content, "tests": [test]}), encoding="utf-8")
        promtool(binary, "test", "rules", path)


def _samples(expected: dict[str, float]) -> Iterator[dict[str, Any]]:
    for key, value in expected.items():
        labels = dict(part.split("=") for part in key.split(",") if part)
        yield {"labels": f"{{{', '.join(f'{k}={json.dumps(v)}' for k, v in labels.items())}}}", "value": value}


def by(*labels: str, name: str, severity: str = "") -> str:
    only = f', severity="{severity}"' if severity else ""
    return f'count by ({", ".join(labels)}) (ALERTS{{alertname="{name}", alertstate="firing"{only}}})'


# -- many findings at once


def test_a_hundred_and_one_critical_findings_page_as_one_alert(binary: Tools, tmp_path: Path) -> None:
    night = Scenario([replace(MAC, count=101)])
    night.asked.append((by("severity", "cause", name="VMMACAddressDuplicate"), 10, {"severity=critical,cause=c1": 1}))
    night.run(binary, tmp_path, "firmware")


def test_hundreds_of_vms_without_one_instancetype_are_one_alert(binary: Tools, tmp_path: Path) -> None:
    fleet = [replace(MISSING, count=25, namespace=f"team-{i}", first=25 * i) for i in range(20)]
    storm = Scenario(fleet)
    storm.asked.append((by("cause", name="VMInstancetypeMissing"), 20, {"cause=c1": 1}))
    storm.run(binary, tmp_path, "instancetypes")


@pytest.mark.parametrize("before", [1, 5])
def test_crossing_the_number_resolves_nothing_and_begins_nothing_anew(
    binary: Tools, tmp_path: Path, before: int
) -> None:
    """Objects of before keep their alerts; what comes is one alert, and stays in it when only a few are left."""
    alone = [replace(PERSISTED, count=before)]
    flood = [replace(PERSISTED, count=95, first=100, since=60, until=120)]
    left = [replace(PERSISTED, count=2, first=300, since=60, until=200)]
    crossing = Scenario([*alone, *flood, *left])
    own = 'count(ALERTS{alertname="VMFirmwareUUIDUnstable", alertstate="firing", cause=""})'
    whole = 'count(ALERTS{alertname="VMFirmwareUUIDUnstable", alertstate="firing", cause="c1"})'
    crossing.asked += [(own, minute, {"": before}) for minute in (20, 62, 80, 130, 190, 230)]
    crossing.asked += [(whole, minute, {"": 1}) for minute in (80, 119, 130, 199)]
    crossing.asked += [(whole, minute, {}) for minute in (20, 225)]
    pending = 'count(ALERTS{alertname="VMFirmwareUUIDUnstable", alertstate="pending", cause=""})'
    crossing.asked += [(pending, minute, {}) for minute in (62, 70, 125, 140, 205)]
    crossing.run(binary, tmp_path, "firmware")


def test_a_flood_of_one_namespace_hides_nothing_of_another_and_warnings_nothing_critical(
    binary: Tools, tmp_path: Path
) -> None:
    quiet = [replace(PERSISTED, count=1, namespace="other", cause="c2", first=900)]
    critical = [replace(MAC, count=1, namespace="other", cause="c3", first=901)]
    flood = [replace(PERSISTED, count=101, since=60), replace(MAC, count=101, severity="warning", since=60)]
    night = Scenario([*quiet, *critical, *flood])
    there = {"namespace=other,severity=warning": 1.0, "namespace=ns,severity=warning": 1.0}
    one = 'count by (namespace, severity) (ALERTS{alertname="VMFirmwareUUIDUnstable", alertstate="firing"})'
    night.asked += [(one, 30, {"namespace=other,severity=warning": 1}), (one, 90, there)]
    page = by("namespace", name="VMMACAddressDuplicate", severity="critical")
    night.asked += [(page, minute, {"namespace=other": 1}) for minute in (30, 62, 90, 239)]
    night.run(binary, tmp_path, "firmware")


def firing(name: str, **more: str) -> str:
    labels = {"alertname": name, "alertstate": "firing", **more}
    return f"count(ALERTS{{{', '.join(f'{key}={json.dumps(text)}' for key, text in labels.items())}}})"


SOURCE_POD = Found("kubevirt_vmi_source_pod_left", "migrations", "SourcePodLeft", 1, severity="critical")


def test_what_pages_and_is_an_act_each_joins_no_older_alert(binary: Tools, tmp_path: Path) -> None:
    night = Scenario(
        [replace(SOURCE_POD, count=8), replace(SOURCE_POD, count=1, first=50, since=60), replace(MAC, count=8)]
    )
    each = firing("VMSourcePodLeft", severity="critical", cause="")
    night.asked += [(each, 30, {"": 8}), (each, 90, {"": 9}), (firing("VMSourcePodLeft", per="cause"), 90, {})]
    night.asked.append((firing("VMMACAddressDuplicate", per="cause"), 90, {"": 1}))
    night.run(binary, tmp_path, "migrations", "firmware")


def test_what_comes_once_few_are_left_of_a_flood_stands_alone(binary: Tools, tmp_path: Path) -> None:
    flood = [replace(PERSISTED, count=20, until=60), replace(PERSISTED, count=2, first=100)]
    over = Scenario([*flood, replace(PERSISTED, count=1, first=200, since=120)])
    own, whole = (firing("VMFirmwareUUIDUnstable", cause=cause) for cause in ("", "c1"))
    over.asked += [(whole, minute, {"": 1}) for minute in (30, 100, 200)]
    over.asked += [(own, 100, {}), (own, 200, {"": 1})]
    over.run(binary, tmp_path, "firmware")


def test_the_oldest_of_a_cause_stand_alone_however_many_come_between_two_scrapes(binary: Tools, tmp_path: Path) -> None:
    """So two Prometheus that scrape at different times agree."""
    (family, check, reason) = (PERSISTED.family, PERSISTED.check, PERSISTED.reason)
    rows = [row for found in [replace(PERSISTED, count=9)] for row in found.series()]
    aged = [{**row, "values": f"_x{10 * (n >= 3)} {60 + n}x100".replace("_x0 ", "")} for n, row in enumerate(rows)]
    at_once = [{**row, "values": f"_x10 {60 + n}x100"} for n, row in enumerate(rows)]
    oldest = f'count by (name) (finding:{family}:alone{{check="{check}", reason="{reason}"}})'
    expected = {f"name=vm{n:04}": 1.0 for n in range(5)}
    for series in (aged, at_once):
        come = Scenario([replace(PERSISTED, count=0)], [(oldest, 40, expected)], more=series)
        come.run(binary, tmp_path, "firmware")


def test_hundreds_of_alerts_of_one_reason_are_one_and_nothing_critical_is_in_it(binary: Tools, tmp_path: Path) -> None:
    before = [replace(PERSISTED, count=2, namespace="early", cause=f"e{n}", first=9000 + 2 * n) for n in range(2)]
    flood = [
        replace(PERSISTED, count=1, namespace=f"n{n}", cause=f"c{n}", first=n, since=30, until=100) for n in range(310)
    ]
    critical = [replace(MAC, count=2, cause=f"m{n}", first=2 * n) for n in range(160)]
    pods = [replace(SOURCE_POD, count=310), replace(SOURCE_POD, count=1, namespace="other", cause="c2", first=990)]
    day = Scenario([*before, *flood, *critical, *pods])
    name = "VMFirmwareUUIDUnstable"
    day.asked += [(firing(name, per=""), minute, {"": 4}) for minute in (25, 60, 180)]
    day.asked += [(f'count(ALERTS{{alertname="{name}", per="cause", alertstate="firing"}})', 60, {"": 1})]
    day.asked += [(f"sum(cause:{PERSISTED.family}:together)", 60, {"": 310}), (firing(name, per="cause"), 180, {})]
    day.asked += [(firing("VMMACAddressDuplicate", severity="critical"), 60, {"": 320})]
    of_pods = by("namespace", "per", name="VMSourcePodLeft", severity="critical")
    day.asked += [(of_pods, 60, {"per=cause,namespace=ns": 1, "namespace=other": 1})]
    day.run(binary, tmp_path, "firmware", "migrations")


def links_of(alert: str, annotation: str, binary: Tools, folder: Path) -> set[str]:
    """Those of the alerts of the scenario that was run last, after half an hour."""
    scenario = json.loads((folder / "scenario.yaml").read_text())
    (test,) = scenario["tests"]
    test["promql_expr_test"] = []
    asked = {"alertname": alert, "eval_time": "30m", "exp_alerts": []}
    (folder / "scenario.yaml").write_text(json.dumps({**scenario, "tests": [{**test, "alert_rule_test": [asked]}]}))
    done = subprocess.run(
        [binary("promtool"), "test", "rules", folder / "scenario.yaml"], capture_output=True, text=True, check=False
    )
    return set(re.findall(rf'{annotation}="([^"]*)"', done.stdout + done.stderr))


def test_alerts_link_to_their_finding_or_their_cause_on_the_page(binary: Tools, tmp_path: Path) -> None:
    values = Values(page_url="https://{cluster}.example")
    flood = replace(SERIAL, count=7, cause="c9", cluster="east")
    Scenario([flood, replace(SERIAL, count=1, first=50, cause="c8", cluster="east")]).run(
        binary, tmp_path, "firmware", values=values
    )
    assert links_of("VMSerialDuplicate", "page_url", binary, tmp_path) == {
        "https://east.example/findings?cause=c9",
        "https://east.example/findings?&kind=VirtualMachine&namespace=ns&name=vm0050&reason=SerialDuplicate",
    }


def test_without_a_label_cluster_links_and_texts_have_that_of_prometheus(binary: Tools, tmp_path: Path) -> None:
    values = Values(page_url="https://{cluster}.example", cluster="k8s")
    Scenario([SERIAL]).run(binary, tmp_path, "firmware", values=values)
    scenario = json.loads((tmp_path / "scenario.yaml").read_text())
    scenario["tests"][0]["external_labels"] = {"k8s": "west"}
    (tmp_path / "scenario.yaml").write_text(json.dumps(scenario))
    (link,) = links_of("VMSerialDuplicate", "page_url", binary, tmp_path)
    assert link.startswith("https://west.example/")
    (summary,) = links_of("VMSerialDuplicate", "summary", binary, tmp_path)
    assert summary.endswith("(cluster west).")


def test_alerts_link_to_what_their_runbook_says_of_the_reason(binary: Tools, tmp_path: Path) -> None:
    invalid = replace(PERSISTED, reason="InvalidUUID", count=7, first=50, cause="c2")
    Scenario([PERSISTED, invalid, MAC]).run(binary, tmp_path, "firmware")
    at = Values().runbook_url
    assert links_of("VMFirmwareUUIDUnstable", "runbook_url", binary, tmp_path) == {
        f"{at}/VMFirmwareUUIDUnstable.md#specrunmismatch",
        f"{at}/VMFirmwareUUIDUnstable.md#invaliduuid",
    }
    assert links_of("VMMACAddressDuplicate", "runbook_url", binary, tmp_path) == {
        f"{at}/VMMACAddressDuplicate.md#duplicatemac"
    }


def test_the_text_of_a_cause_says_how_many_and_names_the_first(binary: Tools, tmp_path: Path) -> None:
    values = Values()
    Scenario([replace(SERIAL, count=7, cause="c9")]).run(binary, tmp_path, "firmware")
    scenario = json.loads((tmp_path / "scenario.yaml").read_text())
    (test,) = scenario["tests"]
    test["promql_expr_test"] = []
    labels = {"severity": "warning", "operator_health_impact": "none", "kubernetes_operator_part_of": "kubevirt"}
    labels |= {"kubernetes_operator_component": "kubevirt-steward", "area": "firmware", "per": "cause"}
    alert = {
        "exp_labels": {**labels, "reason": "SerialDuplicate", "cause": "c9"},
        "exp_annotations": {
            "summary": "7 findings SerialDuplicate with one cause.",
            "description": "VMs share a firmware serial. While both VMs run, inventories, licenses and support"
            " contracts that use the serial take them for one VM. One fix might resolve them all, or the same fix for"
            " each: ns/vm0000, ns/vm0001, ns/vm0002, ns/vm0003, ns/vm0004, …."
            " `steward check --reason SerialDuplicate` lists them and says what to do.",
            "runbook_url": f"{values.runbook_url}/VMSerialDuplicate.md#serialduplicate",
        },
    }
    test["alert_rule_test"] = [{"alertname": "VMSerialDuplicate", "eval_time": "30m", "exp_alerts": [alert]}]
    (tmp_path / "scenario.yaml").write_text(json.dumps(scenario), encoding="utf-8")
    promtool(binary, "test", "rules", tmp_path / "scenario.yaml")


# -- a steward or a Prometheus that goes away


def test_a_dead_steward_is_reported_for_as_long_as_it_is_dead(binary: Tools, tmp_path: Path) -> None:
    gone = Scenario([replace(SERIAL, cluster="east", until=60)], answering="1x59 stale")
    down = by("cluster", name="StewardDown", severity="warning")
    gone.asked += [(down, minute, {"cluster=east": 1}) for minute in (75, 200, 400)]
    gone.run(binary, tmp_path, "firmware", values=SHORT)


def test_a_steward_that_never_answered_is_found_by_its_target_and_by_an_inventory(
    binary: Tools, tmp_path: Path
) -> None:
    up = [{"series": 'up{cluster="west", job="kubevirt-steward", instance="w"}', "values": f"0x{END}"}]
    nodes = [
        {"series": f'kube_node_info{{cluster="{each}", node="n1"}}', "values": f"1x{END}"} for each in ("east", "s")
    ]
    never = Scenario([replace(SERIAL, cluster="east")], more=[*up, *nodes])
    down = by("cluster", name="StewardDown")
    never.asked.append((down, 30, {"cluster=west": 1, "cluster=s": 1}))
    never.run(binary, tmp_path, "firmware", values=Values(presence="kube_node_info"))

    listed = Scenario([replace(SERIAL, cluster="east")], [(down, 30, {"cluster=north": 1})])
    listed.run(binary, tmp_path, "firmware", values=Values(clusters="east,north"))


def test_a_shard_without_the_target_says_nothing_of_it(binary: Tools, tmp_path: Path) -> None:
    shard = Scenario([], answering="_x240", more=[{"series": 'up{job="node", instance="n"}', "values": f"1x{END}"}])
    shard.asked.append((by("cluster", name="StewardDown"), 60, {}))
    shard.run(binary, tmp_path)


def test_a_critical_finding_of_a_steward_that_stays_away_becomes_one_alert_of_the_steward(
    binary: Tools, tmp_path: Path
) -> None:
    gone = Scenario([replace(MAC, count=3, until=60), replace(PERSISTED, until=60)], answering="1x59 stale")
    down = 'sum by (severity) (ALERTS{alertname="StewardDown", alertstate="firing"})'
    page = by("severity", name="VMMACAddressDuplicate")
    other = by("severity", name="VMFirmwareUUIDUnstable")
    gone.asked += [(down, 100, {"severity=warning": 1}), (down, 150, {"severity=warning": 1, "severity=critical": 1})]
    gone.asked += [(page, minute, {"severity=critical": 3}) for minute in (100, 150, 400)]
    gone.asked += [(other, 100, {"severity=warning": 1}), (other, 150, {})]
    gone.run(binary, tmp_path, "firmware", values=SHORT)


def test_what_was_repaired_while_the_steward_was_away_ends_when_it_answers_again(binary: Tools, tmp_path: Path) -> None:
    back = Scenario([replace(MAC, until=60)], answering="1x59 stale _x240 1x60")
    page = by("severity", name="VMMACAddressDuplicate")
    back.asked += [(page, 299, {"severity=critical": 1}), (page, 315, {})]
    back.run(binary, tmp_path, "firmware", values=SHORT)


# -- what comes and goes


def test_a_finding_that_is_missing_in_one_scrape_of_ten_alerts(binary: Tools, tmp_path: Path) -> None:
    (row,) = SERIAL.series()
    flapping = Scenario([replace(SERIAL, count=0)], more=[{**row, "values": " ".join(["60x8 stale"] * 12)}])
    flapping.asked.append((by("name", name="VMSerialDuplicate"), 60, {"name=vm0000": 1}))
    flapping.run(binary, tmp_path, "firmware")


def test_a_check_that_no_replica_has_any_more_lets_go(binary: Tools, tmp_path: Path) -> None:
    """The check was renamed: what it found is found by another one, or by none."""
    (row,) = replace(MAC, until=60).series()
    old = {"series": named("kubevirt_steward_check_up", {"check": "mac_duplicates"}), "values": "1x59 stale"}
    renamed = Scenario([replace(SERIAL, count=0)], more=[row, old])
    page = by("severity", name="VMMACAddressDuplicate")
    renamed.asked += [(page, 50, {"severity=critical": 1}), (page, 80, {})]
    renamed.run(binary, tmp_path, "firmware")


def test_no_alert_of_a_finding_that_the_series_limit_displaced_resolves(binary: Tools, tmp_path: Path) -> None:
    dropped = named("kubevirt_steward_series_dropped", {"family": SERIAL.family})
    full = [{"series": dropped, "values": "0x59 2x59 0x100"}]
    displaced = Scenario([replace(SERIAL, until=60)], more=full)
    alert = by("name", name="VMSerialDuplicate")
    displaced.asked += [(alert, minute, {"name=vm0000": 1}) for minute in (50, 70, 118)]
    displaced.asked += [
        (alert, 135, {}),
        (by("family", name="StewardSeriesDropped"), 62, {f"family={SERIAL.family}": 1}),
    ]
    displaced.run(binary, tmp_path, "firmware")


# -- what the steward says of itself


def test_a_check_without_an_answer_is_said_with_the_kind_that_is_not_seen(binary: Tools, tmp_path: Path) -> None:
    unknown = [
        {"series": named("kubevirt_steward_check_state", {"check": check, "state": state}), "values": f"{value}x60"}
        for check in ("evictions", "migrations", "ipam_vms")
        for state, value in (("answering", 0), ("unknown", 1))
    ]
    unseen = [
        {"series": named("kubevirt_steward_check_kind_unseen", {"check": check, "kind": "Pod"}), "values": "1x60"}
        for check in ("evictions", "migrations", "address_duplicates")
    ]
    blind = Scenario([], more=[*unknown, *unseen])
    blind.asked.append((by("kind", "check", name="StewardCheckUnknown"), 20, {"kind=Pod": 1, "check=ipam_vms": 1}))
    blind.run(binary, tmp_path)


def test_an_error_of_long_ago_is_quiet_in_a_new_prometheus(binary: Tools, tmp_path: Path) -> None:
    errors = {"series": named("kubevirt_steward_check_errors_total", {"check": "evictions"}), "values": "_x20 3x60"}
    started = {"series": named("process_start_time_seconds", {}), "values": "_x20 -90000x60"}
    new = Scenario([], more=[errors, started])
    new.asked += [(by("check", name="StewardCheckErrors"), minute, {}) for minute in (22, 30, 60)]
    new.run(binary, tmp_path)
