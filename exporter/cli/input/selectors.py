"""What of the findings is asked for: of a VM, a node, a network, an object, a cause, or one finding.

`vm/NAME`, `vm/NAMESPACE/NAME`, `node/NAME`, `network/NAME`, `ipamclaim/NAMESPACE/NAME` as `-o name` prints it, or the
first digits of the id of a cause or of a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...facts.record import Ref
from ...questions.findings import FindingReport

_ID = re.compile(r"[0-9a-f]{4,16}")
_VMS = ("VirtualMachine", "VirtualMachineInstance")
_VM = ("vm", "virtualmachine", "vmi", "virtualmachineinstance")


@dataclass(frozen=True)
class Selection:
    """VMs are NAMESPACE/NAME, or NAME of any namespace; `objects` are pairs of a kind in small letters and such a path.
    Empty for all findings.
    """

    vms: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    objects: tuple[tuple[str, str], ...] = ()
    ids: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.vms or self.nodes or self.networks or self.objects or self.ids)

    def picks(self, finding: FindingReport) -> bool:
        return not self or (
            any(finding.fingerprint.startswith(each) or finding.cause.startswith(each) for each in self.ids)
            or any(_of_vm(finding, each) for each in self.vms)
            or any(each == finding.node or _about(finding, ("node",), each) for each in self.nodes)
            or finding.network in self.networks
            or any(_about(finding, (kind,), path) for kind, path in self.objects)
        )

    @property
    def kinds(self) -> frozenset[str]:
        """Those of its objects, in small letters."""
        return frozenset(kind for kind, _ in self.objects)

    @property
    def namespaces(self) -> frozenset[str]:
        """Those that all of it is in; empty where it may be anywhere."""
        paths = (*self.vms, *(path for _, path in self.objects))
        if self.nodes or self.networks or self.ids or not all("/" in each for each in paths):
            return frozenset()
        return frozenset(each.partition("/")[0] for each in paths)


def selection_of(texts: Iterable[str]) -> Selection:
    """Raises ValueError for what selects nothing, one sentence."""
    vms, nodes, networks, objects, ids = [], [], [], [], []
    for text in texts:
        kind, slash, path = text.partition("/")
        kind = kind.lower()
        if not slash and _ID.fullmatch(text):
            ids.append(text)
        elif not slash or not path or path.count("/") > 1 or not all(path.split("/")):
            raise ValueError(
                f"{text[:100]!r} selects nothing; write it as vm/NAME, vm/NAMESPACE/NAME, node/NAME or network/NAME, "
                "or as the id of a cause or finding, which `-o wide` shows"
            )
        elif kind in _VM:
            vms.append(path)
        elif kind == "node":
            nodes.append(path)
        elif kind == "network":
            networks.append(path)
        else:
            objects.append((kind, path))
    return Selection(tuple(vms), tuple(nodes), tuple(networks), tuple(objects), tuple(ids))


def vms_of(finding: FindingReport) -> Iterator[str]:
    """NAMESPACE/NAME of each VM that it is about."""
    if finding.vm:
        yield f"{finding.subject.namespace}/{finding.vm}"
    yield from (each.path for each in _refs(finding) if each.kind in _VMS)


def _of_vm(finding: FindingReport, path: str) -> bool:
    subject = finding.subject
    own = finding.vm and path in (finding.vm, f"{subject.namespace}/{finding.vm}")
    return bool(own) or any(each.kind in _VMS and path in (each.name, each.path) for each in _refs(finding))


def _about(finding: FindingReport, kinds: Iterable[str], path: str) -> bool:
    return any(each.kind.lower() in kinds and path in (each.name, each.path) for each in _refs(finding))


def _refs(finding: FindingReport) -> tuple[Ref, ...]:
    return (finding.subject, *finding.related)
