"""The committed configuration of Alertmanager: accepted, and doing with each alert what docs/alerting.md says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from exporter.rules import Values
from exporter.rules.formats import files
from tests.case_files import read_yaml
from tests.cluster.alertmanager import Alertmanager
from tests.cluster.conftest import MakeApiServer, Tools
from tests.cluster.custom_resources import install
from tests.cluster.notified import Inbox, faster_routes
from tests.manifests import Object
from tests.rules import FILES, RULES, rules_of
from tests.tools.crds import published
from tests.waiting import wait_until

COMMITTED = RULES / "alertmanager/alertmanager.yaml"
MANUAL = RULES.parent / "docs/alerting.md"
ALWAYS = {"kubernetes_operator_component": "kubevirt-steward", "cluster": "east"}
CRD = "alertmanagerconfigs.monitoring.coreos.com"


def run(*command: str | Path, **how: Any) -> str:
    done: subprocess.CompletedProcess[str] = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_amtool_takes_the_configuration(binary: Tools) -> None:
    assert "SUCCESS" in run(binary("amtool"), "check-config", COMMITTED)


def test_amlint_finds_no_route_or_inhibition_without_an_alert(tmp_path: Path) -> None:
    """Two inhibitions that share a matcher are a circle to it: the one that all of ours share is left out."""
    amlint = Path(sys.executable).with_name("amlint")
    rules = [part for file in FILES for part in ("--rules", str(file))]
    shared = '  - kubernetes_operator_component="kubevirt-steward"\n'
    above, inhibitions = COMMITTED.read_text(encoding="utf-8").split("inhibit_rules:")
    assert shared in inhibitions
    (tmp_path / "alertmanager.yaml").write_text(f"{above}inhibit_rules:{inhibitions.replace(shared, '')}")
    run(amlint, "check", tmp_path / "alertmanager.yaml", "--strict", *rules)


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        ({"alertname": "KubeVirtEvictionWebhookDown", "severity": "critical", "area": "evictions"}, "pager"),
        ({"alertname": "VMIPAMClaimDuplicateIP", "severity": "critical", "namespace": "shop"}, "tenants,pager"),
        ({"alertname": "VMIPAMClaimDuplicateIP", "severity": "warning", "namespace": "shop"}, "tenants"),
        ({"alertname": "VMEvictionNotMigratable", "area": "evictions", "namespace": "shop"}, "tenants,platform"),
        ({"alertname": "VMFeatureBlocked", "area": "features"}, "platform"),
        ({"alertname": "VMNetworkPoolPressure", "area": "networks", "namespace": "kubevirt-steward"}, "platform"),
        ({"alertname": "KubeVirtConfigurationInvalid", "area": "features", "namespace": "kubevirt"}, "platform"),
        ({"alertname": "StewardBlind", "area": "steward", "namespace": "kubevirt-steward"}, "platform"),
    ],
)
def test_an_alert_goes_to(binary: Tools, labels: dict[str, str], receiver: str) -> None:
    named = [f"{label}={text}" for label, text in {"severity": "warning", **ALWAYS, **labels}.items()]
    routed = run(binary("amtool"), "config", "routes", "test", "--config.file", COMMITTED, *named)
    assert routed.strip() == receiver


# -- inhibitions


def fitting(matchers: list[str]) -> dict[str, str]:
    """The labels of an alert that all matchers take, one of ours where they ask for a name."""
    labels: dict[str, str] = {}
    for label, how, value in (re.fullmatch(r'(\w+)(=~|!~|!=|=)"(.*)"', each).groups() for each in matchers):  # type: ignore[union-attr]
        if how == "=~":
            names = sorted({rule.name for file in FILES for rule in rules_of(file) if rule.alerts})
            words = [*value.split("|"), *names]
            labels[label] = next(word for word in words if re.fullmatch(value, word) and word.isalnum())
        else:
            labels[label] = {"=": value, "!=": "there", "!~": "VMMACAddressDuplicate"}[how]
    return labels


@pytest.mark.parametrize("options", [(), ("kubevirt=true",)])
def test_an_inhibition_holds_back_what_it_is_for_and_nothing_of_anybody_else(
    binary: Tools, options: tuple[str, ...]
) -> None:
    """Each of them at once, in clusters of its own, and all without the label."""
    config = read_yaml(files("alertmanager", (), Values().with_set(options, ()))["alertmanager.yaml"])
    route = {"receiver": "nobody", "group_wait": "0s"}
    server = Alertmanager(binary("alertmanager"), config={**config, "route": route, "receivers": [{"name": "nobody"}]})
    sources: list[dict[str, str]] = []
    targets: list[dict[str, str]] = []
    held: set[str] = set()

    def fire(to: list[dict[str, str]], of: dict[str, str], case: str, **more: str) -> None:
        to.append({**{label: text for label, text in {**of, **more}.items() if text}, "case": case})

    for number, rule in enumerate(config["inhibit_rules"]):
        objects = [label for label in rule["equal"] if label != "cluster"]
        same = dict.fromkeys(objects, "same")
        source, target = (fitting(rule[f"{side}_matchers"]) for side in ("source", "target"))
        foreign = {"kubernetes_operator_component": "etcd"}
        for cluster in (f"c{number}", ""):
            fire(sources, {**source, **same}, "source", cluster=cluster)
            fire(targets, {**target, **same}, f"{number} in {cluster!r}", cluster=cluster)
            held.add(f"{number} in {cluster!r}")
            fire(targets, {**target, **same, **foreign}, f"foreign, {number} in {cluster!r}", cluster=cluster)
            fire(targets, {**target, **same}, f"nobody's, {number}", cluster=cluster, kubernetes_operator_component="")
            fire(targets, {**target, **same}, f"west, {number}", cluster=f"w{number}")
        fire(sources, {**source, **same, **foreign}, "foreign source", cluster=f"f{number}")
        fire(targets, {**target, **same}, f"beside a foreign source, {number}", cluster=f"f{number}")
        if objects:
            bare = dict.fromkeys(objects, "")
            fire(sources, {**source, **bare}, "source of nothing", cluster=f"n{number}")
            fire(targets, {**target, **bare}, f"without an object, {number}", cluster=f"n{number}")
    try:
        server.start()
        server.fire_all(sources)
        server.fire_all(targets)

        def inhibited() -> set[str]:
            shown = [each for each in server.alerts() if each["status"]["inhibitedBy"]]
            return {each["labels"]["case"] for each in shown} - {"source"}

        wait_until(lambda: inhibited() >= held, 30, "all that is to be held back is")
        assert inhibited() == held
    finally:
        server.stop()


# -- AlertmanagerConfig


@pytest.fixture(scope="module")
def crd() -> Object:
    (found,) = (each for each in published("prometheus-operator") if each["metadata"]["name"] == CRD)
    return found


def test_an_api_server_takes_the_alertmanagerconfig(
    own_api_server: MakeApiServer, binary: Tools, crd: Object, tmp_path: Path
) -> None:
    server = own_api_server(with_crds=False)
    install(server.client(), [crd])
    server.client().create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": Values().namespace}})
    kubectl = (binary("kubectl"), "--kubeconfig", server.kubeconfig("admin"))
    for name in ("alertmanagerconfig", "openshift-user-alertmanagerconfig"):
        file = tmp_path / f"{name}.yaml"
        file.write_text(rendered(name), encoding="utf-8")
        assert "serverside-applied" in run(*kubectl, "apply", "--server-side", "--validate=strict", "-f", file)


def rendered(name: str) -> str:
    (text,) = files(name, (), Values(exported=name.startswith("openshift-user"))).values()
    return text


def test_routes_below_the_first_have_its_shape(crd: Object) -> None:
    """The API server does not look at them: their schema says only that anything may be there."""
    (version,) = crd["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["route"]
    route = read_yaml(rendered("alertmanagerconfig"))["spec"]["route"]
    assert route["routes"]
    for each in route["routes"]:
        jsonschema.validate(each, {**schema, "additionalProperties": False})


def test_both_formats_have_the_same_routes_and_inhibitions() -> None:
    config, spec = read_yaml(COMMITTED.read_text()), read_yaml(rendered("alertmanagerconfig"))["spec"]

    def matchers(listed: list[dict[str, str]]) -> list[str]:
        return [f'{each["name"]}{each["matchType"]}"{each["value"]}"' for each in listed]

    (steward,) = config["route"]["routes"]
    pairs = zip((steward, *steward["routes"]), (spec["route"], *spec["route"]["routes"]), strict=True)
    for ours, theirs in pairs:
        assert (ours["receiver"], ours["matchers"]) == (theirs["receiver"], matchers(theirs["matchers"]))
        assert (ours["group_by"], ours["group_wait"]) == (theirs["groupBy"], theirs["groupWait"])
        assert (ours["group_interval"], ours["repeat_interval"]) == (theirs["groupInterval"], theirs["repeatInterval"])
    for inhibition, rule in zip(config["inhibit_rules"], spec["inhibitRules"], strict=True):
        assert inhibition["source_matchers"] == matchers(rule["sourceMatch"])
        assert inhibition["target_matchers"] == matchers(rule["targetMatch"])
        assert inhibition["equal"] == rule["equal"]


# -- what docs/alerting.md says of silences


@pytest.fixture
def alertmanager(binary: Tools) -> Iterator[Alertmanager]:
    inbox = Inbox()
    server = Alertmanager(binary("alertmanager"), config=faster_routes(inbox))
    try:
        server.start()
        yield server
    finally:
        server.stop()
        inbox.close()


DRAIN = {"area": "evictions", "alertname": "VMEvictionNotMigratable", "severity": "warning"}
FIRING = {
    "drained": {**DRAIN, "node": "node01"},
    "other node": {**DRAIN, "node": "node02"},
    "webhook": {"area": "evictions", "alertname": "KubeVirtEvictionWebhookDown", "severity": "critical"},
    "claim": {"area": "ipam", "alertname": "VMIPAMClaimLeftBehind", "severity": "warning"},
    "page": {"area": "ipam", "alertname": "VMIPAMClaimDuplicateIP", "severity": "critical"},
    "blind": {"area": "steward", "alertname": "StewardBlind", "severity": "warning"},
}


@pytest.mark.parametrize(
    ("first_line", "silenced"),
    [
        ("amtool silence add area=evictions cluster=east node=node01", {"drained"}),
        ("amtool silence add area=evictions cluster=east 'alertname!=", {"drained", "other node"}),
        ("for area in", {"claim"}),
    ],
)
def test_a_silence_of_the_manual_takes_what_it_is_for(
    binary: Tools, alertmanager: Alertmanager, tmp_path: Path, first_line: str, silenced: set[str]
) -> None:
    fenced = re.findall(r"^```\w*[^\n]*\n(.*?)^```$", MANUAL.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    script = next(block for block in fenced if first_line in block)
    (tmp_path / ".config/amtool").mkdir(parents=True)
    (tmp_path / ".config/amtool/config.yml").write_text(f"alertmanager.url: {alertmanager.url}\n")
    path = f"{binary('amtool').parent}:/usr/bin:/bin"
    added, _, ends = script.partition("amtool silence query --within")

    run("bash", "-euc", added, env={"HOME": str(tmp_path), "PATH": path, "USER": "ann"})

    for name, labels in FIRING.items():
        alertmanager.fire({**ALWAYS, **labels, "seeded": name})
    alerts = alertmanager.alerts()
    assert len(alerts) == len(FIRING)
    assert {each["labels"]["seeded"] for each in alerts if each["status"]["silencedBy"]} == silenced

    if ends:
        run("bash", "-euc", f"amtool silence query --within{ends}", env={"HOME": str(tmp_path), "PATH": path})
        left = {each["labels"]["seeded"] for each in alertmanager.alerts() if each["status"]["silencedBy"]}
        assert left == silenced - {"claim"}
