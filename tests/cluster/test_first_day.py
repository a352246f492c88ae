"""The first day by the book: docs/quickstart.md from its start, on a real API server, as somebody who knows no more.

Its commands are run as they stand there. No kubelet runs, so the test does what one would: it runs the commands of the
Deployment that was applied, with its files and the token of its ServiceAccount. What docs/helm.md, docs/prometheus.md,
docs/access.md and docs/troubleshooting.md have people call is run as well.
"""

from __future__ import annotations

import base64
import json
import os
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.conftest import MakeApiServer, Tools
from tests.cluster.deployed import NAMESPACE
from tests.cluster.process import Process, free_ports
from tests.cluster.resources import Resource
from tests.cluster.shell import Shell
from tests.manifests import Object
from tests.manuals import CodeBlock, blocks_of
from tests.shared import REPO
from tests.waiting import wait_until

TEST = str(Path(__file__).relative_to(REPO))
DEPLOYMENTS, CONFIG_MAPS = Resource("apps", "v1", "deployments"), Resource("", "v1", "configmaps")
UUID = "5d307ca9-b3ef-428c-8861-06e72d69f223"


def here(manual: str) -> list[CodeBlock]:
    """The blocks of a document that this test runs."""
    return [block for block in blocks_of(REPO / "docs" / manual) if block.run_by == TEST]


@dataclass
class Day:
    """A person with a checkout, kubectl as an administrator, and a cluster of two VMs with one firmware UUID."""

    server: ApiServer
    shell: Shell
    said: list[str] = field(default_factory=list)

    def run(self, block: CodeBlock, **given: str) -> str:
        text = block.text
        for name, value in given.items():
            text, count = re.subn(rf"^{name}=\S+", f"{name}={value}", text, flags=re.MULTILINE)
            assert count == 1, f"{block.where} has no line {name}=…"
        done = self.shell(f"set -o pipefail\n{text}")
        assert done.returncode in (0, 1), (
            f"{block.where}\n{done.stdout}{done.stderr}"
        )  # 1 of steward that finds something
        return done.stdout


@pytest.fixture
def day(own_api_server: MakeApiServer, binary: Tools, tmp_path: Path) -> Day:
    server = own_api_server()
    admin = server.client()
    for name in ("shop", "monitoring", "team-a"):
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for name in ("web", "copy-of-web"):
        admin.create(fleet.vm("shop", name, firmware={"uuid": UUID}))
    shell = Shell(binary("kubectl"), server, [sys.executable, "-m", "exporter"], tmp_path)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/steward").symlink_to(tmp_path / ".bin/steward")
    (tmp_path / "deploy").symlink_to(REPO / "deploy")
    return Day(server, shell)


@dataclass
class Pod:
    """The pod of the Deployment that was applied, as processes here: its init container, then its container."""

    day: Day
    folder: Path

    def __post_init__(self) -> None:
        client = self.day.server.client()
        self.spec = client.get(DEPLOYMENTS, NAMESPACE, "steward-exporter")["spec"]["template"]["spec"]
        (container,) = self.spec["containers"]
        volumes = {each["name"]: each for each in self.spec["volumes"]}
        self._paths = {}
        for mount in container["volumeMounts"]:
            own = self.folder / mount["name"]
            own.mkdir(parents=True)
            self._paths[mount["mountPath"]] = str(own)
            named = volumes[mount["name"]].get("configMap")
            for file, text in (client.get(CONFIG_MAPS, NAMESPACE, named["name"])["data"] if named else {}).items():
                (own / file).write_text(text, encoding="utf-8")
        (port,) = free_ports(1)
        self.url = f"https://127.0.0.1:{port}"
        self.image = container["image"]
        for init in self.spec.get("initContainers", ()):
            subprocess.run(self._command(init, {}), check=True, env=self._env(init))
        listens = {"0.0.0.0:9877": f"127.0.0.1:{port}"}
        made = self.day.shell(f"kubectl -n {NAMESPACE} create token {self.spec['serviceAccountName']}")
        kubeconfig = self.day.server.kubeconfig("in-the-pod", made.stdout.strip())
        command = [*self._command(container, listens), "--kubeconfig", str(kubeconfig)]
        env = [f"{name}={value}" for name, value in self._env(container).items() if name.startswith("STEWARD_")]
        self.process = Process("the pod", ["env", *env, *command], self.folder / "log")

    def _command(self, container: Object, instead: dict[str, str]) -> list[str]:
        assert container["command"] == ["steward"]
        words = [self._here(word, instead | {"$(NAMESPACE)": NAMESPACE}) for word in container["args"]]
        return [sys.executable, "-m", "exporter", *words]

    def _env(self, container: Object) -> dict[str, str]:
        own = {each["name"]: self._here(each["value"], {}) for each in container.get("env", ()) if "value" in each}
        return {**os.environ, "PYTHONPATH": str(REPO), **own}

    def _here(self, word: str, instead: dict[str, str]) -> str:
        for there, own in (self._paths | instead).items():
            word = word.replace(there, own)
        return word

    def get(self, path: str, password: str = "") -> tuple[int, str]:
        """As a browser asks, by user name and password; it goes on where it is warned of the certificate."""
        request = urllib.request.Request(self.url + path)
        if password:
            pair = base64.b64encode(f"anybody:{password}".encode()).decode()
            request.add_header("Authorization", f"Basic {pair}")
        try:
            with urllib.request.urlopen(request, context=ssl._create_unverified_context()) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""


@pytest.fixture
def pod(day: Day, tmp_path: Path) -> Iterator[Any]:
    made: list[Pod] = []

    def start() -> Pod:
        made.append(Pod(day, tmp_path / "pod"))
        made[-1].process.start(lambda: made[-1].get("/healthz")[0] == 200)
        return made[-1]

    yield start
    for each in made:
        each.process.kill()


def test_from_the_quick_start_to_the_page(day: Day, pod: Any) -> None:
    look, installation, viewer = here("quickstart.md")
    said = day.run(look)
    assert "Duplicate" in said
    digest = f"sha256:{'ab' * 32}"
    day.run(installation, IMAGE="registry.example/team/kubevirt-steward", DIGEST=digest)
    running = pod()
    assert running.image == f"registry.example/team/kubevirt-steward@{digest}"
    wait_until(lambda: running.get("/readyz")[0] == 200, 60, "it is ready")  # by the permissions of the manifests alone

    assert running.get("/")[0] == 401
    token = day.run(viewer).strip().splitlines()[-1]
    status, page = running.get("/", token)
    assert status == 200
    assert "LatentDuplicate" in page
    assert running.get("/metrics", token)[0] == 403  # whoever looks is not who scrapes
    findings = json.loads(running.get("/api/v1/findings", token)[1])
    assert {each["reason"] for each in findings["findings"]} >= {"LatentDuplicate"}

    for block in here("access.md"):
        day.run(block)
    for block in here("troubleshooting.md"):
        assert day.run(block) == "yes\n"


@pytest.mark.parametrize(
    ("manual", "kind", "has"),
    [
        ("install.md", "ServiceAccount", "imagePullSecrets:\n- name: registry-credentials\n"),
        ("sizing.md", "Deployment", "          limits:\n            memory: 1Gi\n"),
    ],
)
def test_a_patch_for_a_kustomization_applies(manual: str, kind: str, has: str, binary: Tools, tmp_path: Path) -> None:
    (block,) = (each for each in blocks_of(REPO / "docs" / manual) if each.text.startswith("patches:"))
    (tmp_path / "deploy").symlink_to(REPO / "deploy")
    (tmp_path / "mine").mkdir()
    text = f"kind: Kustomization\nresources: [../deploy/base]\n{block.text}"
    (tmp_path / "mine/kustomization.yaml").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [binary("kubectl"), "kustomize", tmp_path / "mine"], check=True, capture_output=True, text=True
    )
    made = [each for each in done.stdout.split("---\n") if f"\nkind: {kind}\n" in each]
    assert made
    assert [each for each in made if has not in each] == []


def test_the_chart_by_the_book(day: Day, binary: Tools, tmp_path: Path) -> None:
    """Without Prometheus Operator, whose CRDs are not here: with that, test_deploy_removal.py installs it."""
    (tmp_path / ".bin/helm").symlink_to(binary("helm"))
    (block,) = here("helm.md")
    text = block.text.replace(" --set monitoring.kind=prometheusOperator", "")
    assert text != block.text
    done = day.shell(f"set -e\n{text}")
    assert done.returncode == 0, done.stderr
    made = day.server.client().get(DEPLOYMENTS, NAMESPACE, "steward-exporter")
    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert container["image"].startswith("registry.example/kubevirt-steward:")


def test_what_a_prometheus_without_its_operator_is_given(day: Day) -> None:
    applied = day.shell("kubectl apply --server-side -k deploy/overlays/vanilla-prometheus")
    assert applied.returncode == 0, applied.stderr
    ca = base64.b64encode(b"the CA\n").decode()
    secret = {"metadata": {"name": "steward-exporter-tls", "namespace": NAMESPACE}, "data": {"ca.crt": ca}}
    day.server.client().apply({"apiVersion": "v1", "kind": "Secret", **secret})  # as the Job writes it
    (block,) = here("prometheus.md")
    day.run(block)
    client = day.server.client()
    scrape = client.get(CONFIG_MAPS, "monitoring", "kubevirt-steward-scrape")["data"]
    assert scrape["ca.crt"] == "the CA\n"
    assert "scrape_configs:" in scrape["scrape.yaml"]
    rendered = client.get(CONFIG_MAPS, "monitoring", "kubevirt-steward-rules")["data"]
    assert rendered.keys() == client.get(CONFIG_MAPS, NAMESPACE, "kubevirt-steward-rules")["data"].keys()
