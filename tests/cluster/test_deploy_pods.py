"""Every variant is consistent in itself: configuration, files, ports, names, references; by the product's readers."""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from exporter.checks import all_checks
from exporter.cli.parsers import all_commands
from exporter.config.loading import Loaded, Sources
from exporter.config.loading import load as load_exporter
from reconcile.config.loading import LoadedSidecar
from reconcile.config.loading import load as load_sidecar
from reconcile.plan.remediations import all_remediations
from tests.case_files import read_yaml
from tests.cluster.conftest import Tools
from tests.cluster.deployed import NAMESPACE, VARIANTS, charted, kustomized
from tests.manifests import Object
from tests.shared import REPO
from tests.tools.build import every

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"  # every pod with a token has it
PEERS = ("steward-exporter", "steward-reconcile")
NAMED = {"https": 9877, "reconcile": 9878}


class Pod:
    """The pod of one Deployment, among the objects that it is deployed with."""

    def __init__(self, deployed: Deployed, name: str) -> None:
        self.deployed, self.name = deployed, name
        self.template = deployed.named("Deployment")[name]["spec"]["template"]
        self.spec = self.template["spec"]
        self.containers = {each["name"]: each for each in self.spec["containers"]}

    def mounted(self, container: str, file: str) -> str:
        """The text of a file that a container reads out of a ConfigMap."""
        mounts = {each["mountPath"]: each["name"] for each in self.containers[container]["volumeMounts"]}
        volumes = {each["name"]: each for each in self.spec["volumes"]}
        path = Path(file)
        name = volumes[mounts[str(path.parent)]]["configMap"]["name"]
        text: str = self.deployed.named("ConfigMap")[name]["data"][path.name]
        return text

    def paths(self, container: str) -> list[str]:
        return [ACCOUNT, *(each["mountPath"] for each in self.containers[container]["volumeMounts"])]

    def served_names(self) -> list[str]:
        """What the certificate is for: by the init container, a Job, cert-manager, or OpenShift's service CA."""
        jobs = [each["spec"]["template"]["spec"]["containers"][0] for each in self.deployed.of("Job")]
        for maker in (*self.spec.get("initContainers", ()), *jobs):
            words = (word.replace("$(NAMESPACE)", NAMESPACE) for word in maker["args"])
            return ["127.0.0.1", *(word.removeprefix("--name=") for word in words if word.startswith("--name="))]
        certificates = self.deployed.named("Certificate")
        if certificates:
            spec = certificates[self.name]["spec"]
            return [*spec["dnsNames"], *spec.get("ipAddresses", ())]
        return [f"{self.name}.{NAMESPACE}.svc", f"{self.name}.{NAMESPACE}.svc.cluster.local"]


class Deployed:
    """The objects of one variant, by what is asked of them."""

    def __init__(self, objects: list[Object]) -> None:
        self.objects = objects
        self.pods = [Pod(self, name) for name in self.named("Deployment")]
        (self.exporter,) = (pod for pod in self.pods if "exporter" in pod.containers)
        self.sidecar = next((pod for pod in self.pods if "reconcile" in pod.containers), None)

    def of(self, kind: str) -> list[Object]:
        return [each for each in self.objects if each["kind"] == kind]

    def named(self, kind: str) -> dict[str, Object]:
        return {each["metadata"]["name"]: each for each in self.of(kind)}

    def answering(self, url: str) -> Pod:
        """Whose port a URL leads to: one of the same pod, or that of a Service."""
        parts = urlsplit(url)
        for pod in self.pods:
            ports = [port["containerPort"] for each in pod.spec["containers"] for port in each["ports"]]
            if parts.port in ports and parts.hostname in ("127.0.0.1", pod.name):
                return pod
        raise LookupError(f"nobody answers {url}")


@pytest.fixture(scope="module", params=VARIANTS)
def deployed(request: pytest.FixtureRequest, binary: Tools) -> Deployed:
    return Deployed(kustomized(binary("kubectl"), REPO / "deploy" / request.param))


@pytest.mark.parametrize(
    ("variant", "accounts"),
    [
        ("overlays/repairs", {"exporter": "steward-exporter", "reconcile": "steward-reconcile"}),
        ("overlays/openshift-repairs", {"exporter": "steward-exporter", "reconcile": "steward-reconcile"}),
        ("overlays/repairs-one-pod", {"exporter": "steward-reconcile", "reconcile": "steward-reconcile"}),
    ],
)
def test_the_sidecar_has_an_account_of_its_own_but_in_one_pod(
    variant: str, accounts: dict[str, str], binary: Tools, tmp_path: Path
) -> None:
    for objects in (
        kustomized(binary("kubectl"), REPO / "deploy" / variant),
        charted(binary("helm"), VARIANTS[variant], tmp_path),
    ):
        pods = Deployed(objects).pods
        assert {name: pod.spec["serviceAccountName"] for pod in pods for name in pod.containers} == accounts
        assert len(pods) == len(set(accounts.values()))


def loaded(deployed: Deployed, folder: Path) -> Loaded:
    pod = deployed.exporter
    environment = {each["name"]: each["value"] for each in pod.containers["exporter"]["env"]}
    file = environment.pop("STEWARD_CONFIG")
    (folder / "config.yaml").write_text(pod.mounted("exporter", file), encoding="utf-8")
    found = load_exporter(all_checks(), Sources(folder / "config.yaml", environment, {}))
    assert isinstance(found, Loaded), str(found)
    return found


def test_the_exporter_takes_its_settings_and_finds_their_files(deployed: Deployed, tmp_path: Path) -> None:
    config = loaded(deployed, tmp_path).config
    assert not config.insecure
    files = [config.tls.cert_file, config.tls.key_file]
    if deployed.sidecar:
        url = str(config.reconcile.url)
        assert deployed.answering(url) is deployed.sidecar
        files += [config.reconcile.ca_file, config.reconcile.token_file]
        assert (config.reconcile.server_name or urlsplit(url).hostname) in deployed.sidecar.served_names()
    else:
        assert config.reconcile.url is None
    for file in files:
        assert str(Path(str(file)).parent) in deployed.exporter.paths("exporter")


def test_the_sidecar_takes_its_settings_and_finds_their_files(deployed: Deployed, tmp_path: Path) -> None:
    pod = deployed.sidecar
    if pod is None:
        assert not deployed.named("PersistentVolumeClaim")
        return
    text = pod.mounted("reconcile", pod.containers["reconcile"]["args"][-1])
    (tmp_path / "reconcile.yaml").write_text(text, encoding="utf-8")
    found = load_sidecar(all_remediations(), tmp_path / "reconcile.yaml")
    assert isinstance(found, LoadedSidecar), str(found)
    config = found.config
    assert (config.mode, config.insecure) == ("plan", False)
    url = str(config.source.url)
    assert deployed.answering(url) is deployed.exporter
    assert (config.source.server_name or urlsplit(url).hostname) in deployed.exporter.served_names()
    for file in (config.tls.cert_file, config.tls.key_file, config.source.ca_file, config.source.token_file):
        assert str(Path(str(file)).parent) in pod.paths("reconcile")
    assert any(config.ledger.directory.startswith(f"{path}/") for path in pod.paths("reconcile"))


def test_every_command_is_one_of_the_steward(deployed: Deployed) -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    commands = parser.add_subparsers(required=True)
    for add in all_commands():
        add(commands)
    listened = {}
    for pod in deployed.pods:
        jobs = [each["spec"]["template"]["spec"]["containers"][0] for each in deployed.of("Job")]
        for container in (*pod.spec.get("initContainers", ()), *pod.spec["containers"], *jobs):
            assert container["command"] == ["steward"]
            arguments = parser.parse_args([word.replace("$(NAMESPACE)", NAMESPACE) for word in container["args"]])
            listened[container["name"]] = getattr(arguments, "listen", None)
    assert listened["exporter"] == "0.0.0.0:9877"


def test_ports_have_one_name_and_number_everywhere(deployed: Deployed) -> None:
    assert (
        deployed.named("Service").keys()
        == deployed.named("NetworkPolicy").keys()
        == deployed.named("Deployment").keys()
    )
    for pod in deployed.pods:
        ports = {port["name"]: port["containerPort"] for each in pod.spec["containers"] for port in each["ports"]}
        assert ports.items() <= NAMED.items()
        service, policy = (deployed.named(kind)[pod.name] for kind in ("Service", "NetworkPolicy"))
        assert {each["name"]: each["port"] for each in service["spec"]["ports"]} == ports
        assert all(each["targetPort"] == each["name"] for each in service["spec"]["ports"])
        for container in pod.spec["containers"]:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                asked = container.get(probe, {}).get("httpGet")
                if asked:
                    assert (asked["scheme"], asked["port"]) == ("HTTPS", container["ports"][0]["name"])
        (rule,) = policy["spec"]["ingress"]
        assert {each["port"] for each in rule["ports"]} == set(ports)
        for selected in (service["spec"]["selector"], policy["spec"]["podSelector"]["matchLabels"]):
            assert selected.items() <= pod.template["metadata"]["labels"].items()


def test_two_pods_let_each_other_in(deployed: Deployed) -> None:
    for pod in deployed.pods:
        (rule,) = deployed.named("NetworkPolicy")[pod.name]["spec"]["ingress"]
        others = [each.name for each in deployed.pods if each is not pod]
        labels = [each["podSelector"]["matchLabels"] for each in rule["from"] if "podSelector" in each]
        assert labels == [{"app.kubernetes.io/name": name} for name in others]


def test_each_port_is_scraped_once_and_by_a_name_of_its_certificate(deployed: Deployed) -> None:
    for monitor in deployed.of("ServiceMonitor"):
        (wanted,) = monitor["spec"]["selector"]["matchExpressions"]
        scraped = []
        for pod in deployed.pods:
            service = deployed.named("Service")[pod.name]
            assert service["metadata"]["labels"][wanted["key"]] in wanted["values"]
            for endpoint in monitor["spec"]["endpoints"]:
                if endpoint["port"] not in {each["name"] for each in service["spec"]["ports"]}:
                    continue
                scraped.append(endpoint["port"])
                assert (endpoint["scheme"], endpoint["honorLabels"]) == ("https", True)
                assert endpoint["tlsConfig"]["serverName"] in pod.served_names()
        served = [each["name"] for service in deployed.of("Service") for each in service["spec"]["ports"]]
        assert sorted(scraped) == sorted(served)


def test_what_is_referred_to_is_there(deployed: Deployed) -> None:
    secrets = {each["spec"]["secretName"] for each in deployed.of("Certificate")} | deployed.named("Secret").keys()
    for service in deployed.of("Service"):
        annotations = service["metadata"].get("annotations", {})
        secrets |= {annotations[each] for each in annotations if each.endswith("serving-cert-secret-name")}
    for endpoint in (each for monitor in deployed.of("ServiceMonitor") for each in monitor["spec"]["endpoints"]):
        (where,) = endpoint["tlsConfig"]["ca"].items()
        there = {"secret": secrets, "configMap": deployed.named("ConfigMap")}
        assert where[1]["name"] in there[where[0]]
        assert endpoint["authorization"]["credentials"]["name"] in secrets
    for each in deployed.of("Secret"):
        account = each["metadata"].get("annotations", {}).get("kubernetes.io/service-account.name")
        assert account is None or account in deployed.named("ServiceAccount")
    for pod in deployed.pods:
        for volume in pod.spec["volumes"]:
            if "configMap" in volume:
                assert volume["configMap"]["name"] in deployed.named("ConfigMap")
            if "secret" in volume:
                assert volume["secret"]["secretName"] in secrets
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in deployed.named("PersistentVolumeClaim")
        assert pod.spec["serviceAccountName"] in deployed.named("ServiceAccount")
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


def test_each_pod_may_ask_who_is_asking_and_whoever_scrapes_may(deployed: Deployed) -> None:
    for pod in deployed.pods:
        account = f"{NAMESPACE}/{pod.spec['serviceAccountName']}"
        for role, name in (("steward-exporter", "exporter"), ("steward-reconcile", "reconcile")):
            assert (account in granted(deployed, role)) is (name in pod.containers)
        assert account in granted(deployed, "steward-access")
        assert (account in granted(deployed, "steward-viewer")) is (deployed.sidecar is not None)
    by = [f"{NAMESPACE}/steward-scraper"] if deployed.of("ServiceMonitor") else []
    by += ["monitoring/prometheus"] if "kubevirt-steward-scrape" in deployed.named("ConfigMap") else []
    assert list(granted(deployed, "steward-metrics-reader")) == by


def test_prometheus_sends_no_token_of_its_own_and_verifies_whom_it_asks(deployed: Deployed) -> None:
    """As an operator with `arbitraryFSAccessThroughSMs: {deny: true}` demands: no file of its Prometheus is named."""
    for monitor in deployed.of("ServiceMonitor"):
        for endpoint in monitor["spec"]["endpoints"]:
            assert endpoint.keys() == {"port", "scheme", "honorLabels", "interval", "authorization", "tlsConfig"}
            assert endpoint["tlsConfig"].keys() == {"ca", "serverName"}
    assert "insecure_skip_verify: true" not in str(deployed.named("ConfigMap").get("kubevirt-steward-scrape"))


def test_every_object_says_what_release_it_is_of(deployed: Deployed) -> None:
    for each in deployed.objects:
        if each["kind"] == "Namespace":
            continue
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/part-of"] == "kubevirt-steward"
        assert labels["app.kubernetes.io/version"]
    for pod in deployed.pods:
        images = {each["image"] for each in (*pod.spec.get("initContainers", ()), *pod.spec["containers"])}
        assert images == {f"kubevirt-steward:{pod.template['metadata']['labels']['app.kubernetes.io/version']}"}


def test_a_prometheus_without_its_operator_reads_the_files(binary: Tools, tmp_path: Path) -> None:
    maps = Deployed(kustomized(binary("kubectl"), REPO / "deploy/overlays/vanilla-prometheus")).named("ConfigMap")
    rules = maps["kubevirt-steward-rules"]["data"]
    assert rules == {file.name: file.read_text(encoding="utf-8") for file in (REPO / "rules").glob("*.yaml")}
    for name, text in rules.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    config = read_yaml(maps["kubevirt-steward-scrape"]["data"]["scrape.yaml"]) | {"rule_files": list(rules)}
    kept = []
    for job in config["scrape_configs"]:
        assert (job["scheme"], job["honor_labels"]) == ("https", True)
        assert job["tls_config"]["ca_file"] == "ca.crt"
        keep = next(each for each in job["relabel_configs"] if each.get("action") == "keep")
        found = [(name, port) for name in PEERS for port in NAMED if re.fullmatch(keep["regex"], f"{name};{port}")]
        kept += [(*each, job["tls_config"]["server_name"]) for each in found]
        # Debian's promtool knows no Kubernetes.
        assert job.pop("kubernetes_sd_configs") == [{"role": "endpointslice", "namespaces": {"names": [NAMESPACE]}}]
    assert kept == [(PEERS[0], "https", PEERS[0]), *((each, "reconcile", PEERS[1]) for each in PEERS)]  # in either pod
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    for promtool in every("promtool"):
        command = [str(promtool), "check", "config", "--syntax-only", str(tmp_path / "prometheus.yml")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
