"""Every variant is consistent in itself: configuration, files, ports, names, references; by the product's readers."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from exporter.checks import all_checks
from exporter.cli import all_commands
from exporter.config.loading import Loaded, Sources
from exporter.config.loading import load as load_exporter
from reconcile.config_file import Loaded as LoadedSidecar
from reconcile.config_file import load as load_sidecar
from reconcile.remediations import all_remediations
from tests.cluster.conftest import Tools
from tests.cluster.deployed import NAMESPACE, VARIANTS, kustomized
from tests.manifests import Object
from tests.shared import REPO
from tests.tools.build import every

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"  # every pod with a token has it
NAMED = {"https": 9877, "reconcile": 9878}


class Deployed:
    """The objects of one variant, by what is asked of them."""

    def __init__(self, objects: list[Object]) -> None:
        self.objects = objects
        (deployment,) = self.of("Deployment")
        self.template = deployment["spec"]["template"]
        self.spec = self.template["spec"]
        self.containers = {each["name"]: each for each in self.spec["containers"]}

    def of(self, kind: str) -> list[Object]:
        return [each for each in self.objects if each["kind"] == kind]

    def named(self, kind: str) -> dict[str, Object]:
        return {each["metadata"]["name"]: each for each in self.of(kind)}

    def mounted(self, container: str, file: str) -> str:
        """The text of a file that a container reads out of a ConfigMap."""
        mounts = {each["mountPath"]: each["name"] for each in self.containers[container]["volumeMounts"]}
        volumes = {each["name"]: each for each in self.spec["volumes"]}
        path = Path(file)
        name = volumes[mounts[str(path.parent)]]["configMap"]["name"]
        text: str = self.named("ConfigMap")[name]["data"][path.name]
        return text

    def paths(self, container: str) -> list[str]:
        return [ACCOUNT, *(each["mountPath"] for each in self.containers[container]["volumeMounts"])]

    def served_names(self) -> list[str]:
        """What the certificate is for: by the init container, by cert-manager, or by OpenShift's service CA."""
        for init in self.spec.get("initContainers", ()):
            words = (word.replace("$(NAMESPACE)", NAMESPACE) for word in init["args"])
            return ["127.0.0.1", *(word.removeprefix("--name=") for word in words if word.startswith("--name="))]
        certificates = self.named("Certificate")
        if certificates:
            spec = certificates["steward-exporter"]["spec"]
            return [*spec["dnsNames"], *spec["ipAddresses"]]
        return [f"steward-exporter.{NAMESPACE}.svc", f"steward-exporter.{NAMESPACE}.svc.cluster.local"]


@pytest.fixture(scope="module", params=VARIANTS)
def deployed(request: pytest.FixtureRequest, binary: Tools) -> Deployed:
    return Deployed(kustomized(binary("kubectl"), REPO / "deploy" / request.param))


def loaded(deployed: Deployed, folder: Path) -> Loaded:
    environment = {each["name"]: each["value"] for each in deployed.containers["exporter"]["env"]}
    file = environment.pop("STEWARD_CONFIG")
    (folder / "config.yaml").write_text(deployed.mounted("exporter", file), encoding="utf-8")
    found = load_exporter(all_checks(), Sources(folder / "config.yaml", environment, {}))
    assert isinstance(found, Loaded), str(found)
    return found


def test_the_exporter_takes_its_settings_and_finds_their_files(deployed: Deployed, tmp_path: Path) -> None:
    config = loaded(deployed, tmp_path).config
    assert not config.insecure
    files = [config.tls.cert_file, config.tls.key_file]
    if "reconcile" in deployed.containers:
        assert config.reconcile.url == "https://127.0.0.1:9878"
        files += [config.reconcile.ca_file, config.reconcile.token_file]
        assert (config.reconcile.server_name or "127.0.0.1") in deployed.served_names()
    else:
        assert config.reconcile.url is None
    for file in files:
        assert str(Path(str(file)).parent) in deployed.paths("exporter")


def test_the_sidecar_takes_its_settings_and_finds_their_files(deployed: Deployed, tmp_path: Path) -> None:
    if "reconcile" not in deployed.containers:
        assert not deployed.named("PersistentVolumeClaim")
        return
    text = deployed.mounted("reconcile", deployed.containers["reconcile"]["args"][-1])
    (tmp_path / "reconcile.yaml").write_text(text, encoding="utf-8")
    found = load_sidecar(all_remediations(), tmp_path / "reconcile.yaml")
    assert isinstance(found, LoadedSidecar), str(found)
    config = found.config
    assert (config.mode, config.insecure, config.source.url) == ("plan", False, "https://127.0.0.1:9877")
    assert (config.source.server_name or "127.0.0.1") in deployed.served_names()
    for file in (config.tls.cert_file, config.tls.key_file, config.source.ca_file, config.source.token_file):
        assert str(Path(str(file)).parent) in deployed.paths("reconcile")


def test_every_command_is_one_of_the_steward(deployed: Deployed) -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    commands = parser.add_subparsers(required=True)
    for add in all_commands():
        add(commands)
    listened = {}
    for container in (*deployed.spec.get("initContainers", ()), *deployed.spec["containers"]):
        assert container["command"] == ["steward"]
        arguments = parser.parse_args([word.replace("$(NAMESPACE)", NAMESPACE) for word in container["args"]])
        listened[container["name"]] = getattr(arguments, "listen", None)
    assert listened["exporter"] == "0.0.0.0:9877"


def test_ports_have_one_name_and_number_everywhere(deployed: Deployed) -> None:
    ports = {port["name"]: port["containerPort"] for each in deployed.spec["containers"] for port in each["ports"]}
    assert ports.items() <= NAMED.items()
    (service,) = deployed.of("Service")
    assert {each["name"]: each["port"] for each in service["spec"]["ports"]} == ports
    assert all(each["targetPort"] == each["name"] for each in service["spec"]["ports"])
    for container in deployed.spec["containers"]:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container.get(probe, {}).get("httpGet")
            if asked:
                assert (asked["scheme"], asked["port"]) == ("HTTPS", container["ports"][0]["name"])
    (policy,) = deployed.of("NetworkPolicy")
    (rule,) = policy["spec"]["ingress"]
    assert {each["port"] for each in rule["ports"]} == set(ports)
    for selected in (service["spec"]["selector"], policy["spec"]["podSelector"]["matchLabels"]):
        assert selected.items() <= deployed.template["metadata"]["labels"].items()
    for monitor in deployed.of("ServiceMonitor"):
        assert set(ports) <= {each["port"] for each in monitor["spec"]["endpoints"]} <= set(NAMED)
        labels = service["metadata"]["labels"].items()
        assert monitor["spec"]["selector"]["matchLabels"].items() <= labels
        for endpoint in monitor["spec"]["endpoints"]:
            assert (endpoint["scheme"], endpoint["honorLabels"]) == ("https", True)
            name = endpoint["tlsConfig"].get("serverName")
            assert endpoint["tlsConfig"].get("insecureSkipVerify") or name in deployed.served_names()


def test_what_is_referred_to_is_there(deployed: Deployed) -> None:
    (service,) = deployed.of("Service")
    annotations = service["metadata"].get("annotations", {})
    secrets = {each["spec"]["secretName"] for each in deployed.of("Certificate")}
    secrets |= {annotations[each] for each in annotations if each.endswith("serving-cert-secret-name")}
    for volume in deployed.spec["volumes"]:
        if "configMap" in volume:
            assert volume["configMap"]["name"] in deployed.named("ConfigMap")
        if "secret" in volume:
            assert volume["secret"]["secretName"] in secrets
        if "persistentVolumeClaim" in volume:
            assert volume["persistentVolumeClaim"]["claimName"] in deployed.named("PersistentVolumeClaim")
    assert deployed.spec["serviceAccountName"] in deployed.named("ServiceAccount")
    roles = deployed.named("ClusterRole").keys() | deployed.named("Role").keys()
    for binding in (*deployed.of("ClusterRoleBinding"), *deployed.of("RoleBinding")):
        assert binding["roleRef"]["name"] in roles
        for subject in binding["subjects"]:
            own = subject["namespace"] == NAMESPACE
            assert not own or subject["name"] in deployed.named("ServiceAccount")
            assert subject["namespace"] != "default"


def granted(deployed: Deployed, role: str) -> Iterator[str]:
    for binding in deployed.of("ClusterRoleBinding"):
        if binding["roleRef"]["name"] == role:
            yield from (f"{each['namespace']}/{each['name']}" for each in binding["subjects"])


def test_the_pod_may_ask_who_is_asking_and_whoever_scrapes_may(deployed: Deployed) -> None:
    account = f"{NAMESPACE}/{deployed.spec['serviceAccountName']}"
    for role in ("steward-exporter", "steward-access"):
        assert account in granted(deployed, role)
    assert (account in granted(deployed, "steward-viewer")) is ("reconcile" in deployed.containers)
    scraped = bool(deployed.of("ServiceMonitor")) or "kubevirt-steward-scrape" in deployed.named("ConfigMap")
    assert (
        any(fnmatch(each, "*monitoring/prometheus*") for each in granted(deployed, "steward-metrics-reader")) is scraped
    )


def test_every_object_says_what_release_it_is_of(deployed: Deployed) -> None:
    for each in deployed.objects:
        if each["kind"] == "Namespace":
            continue
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/part-of"] == "kubevirt-steward"
        assert labels["app.kubernetes.io/version"]
    images = {each["image"] for each in (*deployed.spec.get("initContainers", ()), *deployed.spec["containers"])}
    assert images == {f"kubevirt-steward:{deployed.template['metadata']['labels']['app.kubernetes.io/version']}"}


def test_a_prometheus_without_its_operator_reads_the_files(binary: Tools, tmp_path: Path) -> None:
    maps = Deployed(kustomized(binary("kubectl"), REPO / "deploy/overlays/vanilla-prometheus")).named("ConfigMap")
    rules = maps["kubevirt-steward-rules"]["data"]
    assert rules == {file.name: file.read_text(encoding="utf-8") for file in (REPO / "rules").glob("*.yaml")}
    for name, text in rules.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    config = yaml.safe_load(maps["kubevirt-steward-scrape"]["data"]["scrape.yaml"]) | {"rule_files": list(rules)}
    (job,) = config["scrape_configs"]
    assert (job["job_name"], job["scheme"], job["honor_labels"]) == ("kubevirt-steward", "https", True)
    # Debian's promtool knows no Kubernetes.
    assert job.pop("kubernetes_sd_configs") == [{"role": "endpointslice", "namespaces": {"names": [NAMESPACE]}}]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    for promtool in every("promtool"):
        command = [str(promtool), "check", "config", "--syntax-only", str(tmp_path / "prometheus.yml")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
