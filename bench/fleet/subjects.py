"""Who is measured: how each is started, when it has all, and how its metrics show that a claim lost its label."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.children import REPOSITORY, warmed
from bench.fleet.process import Child
from bench.fleet.scraping import Page, scrape
from bench.fleet.state_metrics import arguments
from tests.cluster.process import free_ports
from tests.tools.build import tool

__all__ = ["SUBJECTS", "Running", "Subject"]


@dataclass(frozen=True)
class Subject:
    """`command` is made of a folder, a kubeconfig, two free ports and a Python; `module` is what that runs, if it does.

    `held` counts the VMs, VMIs, pods and claims that a page shows; `lost` finds the claims without their label.
    """

    title: str
    command: Callable[[Path, Path, int, int, str], list[str]]
    held: Callable[[str], int]
    lost: re.Pattern[str]
    module: str = ""
    tells_turns: bool = False


@dataclass
class Running:
    subject: Subject
    child: Child
    url: str

    def page(self) -> Page:
        return scrape(self.url)

    def turns(self) -> tuple[float, float]:
        """The longest turn of its event loop since the last time, in seconds of CPU and of the wall."""
        self.child.signal(signal.SIGUSR1)
        cpu, wall = json.loads(self.child.line())
        return cpu, wall

    def lost(self, text: str) -> set[str]:
        return set(self.subject.lost.findall(text))

    @contextmanager
    def ended(self) -> Iterator[Running]:
        with self.child:
            yield self


def start(subject: Subject, kubeconfig: Path, folder: Path, python: str) -> Running:
    port, other = free_ports(2)
    command = subject.command(folder, kubeconfig, port, other, python)
    path = {}
    if subject.module:
        warmed(python, subject.module)
        path = {"PYTHONPATH": str(REPOSITORY)}  # the Python has its own libraries
    return Running(subject, Child(command, folder / "subject.log", **path), f"http://127.0.0.1:{port}/metrics")


def _module(name: str) -> Callable[[Path, Path, int, int, str], list[str]]:
    return lambda _, kubeconfig, port, __, python: [python, "-m", f"bench.fleet.{name}", str(kubeconfig), str(port)]


def _state_metrics(*, cut: bool) -> Callable[[Path, Path, int, int, str], list[str]]:
    def command(folder: Path, kubeconfig: Path, port: int, other: int, _: str) -> list[str]:
        return [str(tool("kube-state-metrics")), *arguments(folder, kubeconfig, port, other, cut=cut)]

    return command


def _lines(*beginnings: str) -> Callable[[str], int]:
    """Samples that begin so: one for each object."""
    found = re.compile(rf"^(?:{'|'.join(map(re.escape, beginnings))})\{{", re.MULTILINE)
    return lambda text: sum(1 for _ in found.finditer(text))


def _counted(text: str) -> int:
    kinds = "VirtualMachine|VirtualMachineInstance|Pod|IPAMClaim"
    rows = re.findall(rf'^kubevirt_steward_kind_objects\{{kind="(?:{kinds})"\}} (\S+)', text, re.MULTILINE)
    return sum(int(float(row)) for row in rows)


_OF_CUSTOM = tuple(f"kube_customresource_{name}_info" for name in ("vm", "vmi", "claim"))
_SHOWN = _lines(*_OF_CUSTOM, "kube_pod_info")
_LOST = re.compile(
    r'^kube_customresource_claim_info\{(?![^}\n]* vm=|[^}\n]*,vm=)[^}\n]*[,{]name="([^"]+)"', re.MULTILINE
)

SUBJECTS = {
    "steward": Subject(
        "steward",
        _module("steward"),
        _counted,
        re.compile(r'^kubevirt_ipamclaim_unprotected\{[^}\n]*[,{]name="([^"]+)"', re.MULTILINE),
        module="bench.fleet.steward",
        tells_turns=True,
    ),
    "kube-state-metrics": Subject("kube-state-metrics, default", _state_metrics(cut=False), _SHOWN, _LOST),
    "kube-state-metrics-cut": Subject("kube-state-metrics, cut", _state_metrics(cut=True), _SHOWN, _LOST),
    "naive": Subject(
        "naive exporter",
        _module("naive"),
        _lines("naive_vm", "naive_vmi", "naive_claim", "naive_pod"),
        re.compile(r'^naive_claim\{[^}\n]*name="([^"]+)"[^}\n]*,vm=""\}', re.MULTILINE),
        module="bench.fleet.naive",
    ),
}
