"""Repairs on KubeVirt's own control plane: the sidecar with no permission but those that are declared, and a person."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from exporter.checks import all_checks
from exporter.store.kind import ApiKind
from exporter.store.kinds import kube_virt, namespace, virtual_machine
from reconcile.ledger import Entry, Event, verify
from reconcile.plan.remediation import Remediation
from tests.case_files import read_yaml
from tests.cluster.client import ApiError
from tests.cluster.exporter import Exporter
from tests.cluster.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, EVENTS, LEASES
from tests.cluster.sidecar import Sidecar, steward
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.shared import REPO
from tests.waiting import wait_until

__all__ = ["ACCOUNT", "LATER", "Repairs", "forbid", "permit", "request_to_leave"]

ACCOUNT = "steward-reconcile"
OF_ALL = (kube_virt.KIND, namespace.KIND, virtual_machine.KIND)  # upgrades and pauses
PATIENCE = 90  # seconds
LATER = 3600.0  # seconds by which clocks are ahead: what has just begun is not repaired
COMMAND = """
import sys, time
own, ahead = time.time, float(sys.argv.pop(1))
time.time = lambda: own() + ahead
from exporter.__main__ import main
sys.exit(main())
"""


def permit(stage: Stage, remediation: Remediation) -> None:
    """Lets the sidecar's account do what the remediation declares, what every repair takes, and nothing else."""
    checks = [each for each in all_checks() if each.id in remediation.answers]
    kinds = {*OF_ALL, *remediation.reads, *(kind for each in checks for kind in (*each.reads, *each.requires))}
    rules: list[Object] = [
        {"apiGroups": [kind.group], "resources": [kind.plural], "verbs": ["get", "list"]}
        for kind in kinds
        if isinstance(kind, ApiKind)
    ]
    rules += [
        {"apiGroups": [write.group], "resources": [write.resource], "verbs": list(write.verbs)}
        for write in remediation.writes
    ]
    rules.append({"apiGroups": [""], "resources": ["events"], "verbs": ["create"]})
    lease = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]}
    _bind(stage, "ClusterRole", {"name": ACCOUNT}, rules)
    _bind(stage, "Role", {"name": ACCOUNT, "namespace": stage.namespace}, [lease])


def _bind(stage: Stage, kind: str, meta: Object, rules: list[Object]) -> None:
    version = CLUSTER_ROLES.api_version
    subject = {"apiGroup": CLUSTER_ROLES.group, "kind": "User", "name": ACCOUNT}
    role = {"apiGroup": CLUSTER_ROLES.group, "kind": kind, "name": ACCOUNT}
    client = stage.client
    client.apply({"apiVersion": version, "kind": kind, "metadata": meta, "rules": rules})
    bound = {"apiVersion": version, "kind": f"{kind}Binding", "metadata": meta, "roleRef": role, "subjects": [subject]}
    client.apply(bound)


def forbid(stage: Stage) -> None:
    stage.client.delete(CLUSTER_ROLE_BINDINGS, None, ACCOUNT)
    stage.client.delete(CLUSTER_ROLES, None, ACCOUNT)


def request_to_leave(stage: Stage, node: str, name: str = "db") -> None:
    """As the eviction webhook writes it where the VMI has just left its node."""

    def written() -> bool:
        vmi = stage.vmi(name)
        assert vmi is not None
        vmi["status"]["evacuationNodeName"] = node
        try:
            stage.control_plane.vms.handler(vmi["status"]["nodeName"]).update(vmi)
        except ApiError as error:
            if error.code == 409:
                return False
            raise
        return True

    wait_until(written, 30, f"{name} is asked to leave {node}")


class Repairs:
    """What one remediation does in one namespace."""

    def __init__(self, stage: Stage, exporter: Exporter, folder: Path, remediation: Remediation) -> None:
        self.stage, self.exporter, self.folder, self.remediation = stage, exporter, folder, remediation
        permit(stage, remediation)

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    def sidecar(self, mode: str, *, ahead: float = LATER, kill_at: str = "", arrives: float = 0.0) -> Sidecar:
        """What is not answered `arrives` within so many seconds, if not 0: see `How`."""
        own = {"mode": "off", "namespaces": {self.stage.namespace: mode}, "minAge": "0s"}
        settings = {
            "mode": "off",
            "remediations": {self.remediation.id: own},
            "lease": {"namespace": self.stage.namespace},
        }
        kubeconfig = self.stage.control_plane.kubeconfig(ACCOUNT)
        how: dict[str, Any] = {"ahead": ahead, "kill_at": kill_at, "forked": bool(arrives), "arrives": arrives}
        return Sidecar(self.folder, kubeconfig, self.exporter.url, settings, **how)

    def free_lease(self) -> None:
        """The Lease of a sidecar that was killed is as if it was given up, so that the next one need not wait."""
        ours = "steward.kubevirt-steward.io/"
        notes = {f"{ours}lease-process": "gone", f"{ours}lease-released": "gone"}
        given_up = {"metadata": {"annotations": notes}, "spec": {"holderIdentity": None}}
        for lease in self.stage.client.list(LEASES, self.stage.namespace)["items"]:
            self.stage.client.patch(LEASES, self.stage.namespace, lease["metadata"]["name"], given_up)

    def finding(self, reason: str, name: str = "db") -> Object:
        """The one that the remediation answers, once it is reported."""
        query = f"?namespace={self.stage.namespace}"

        def reported() -> Object | None:
            found = self.exporter.report(query)["findings"]
            return next((f for f in found if (f["reason"], f["subject"]["name"]) == (reason, name)), None)

        return wait_until(reported, PATIENCE, f"{reason} of {name} is reported", every=0.1)

    def found(self, reason: str) -> list[str]:
        """What it is reported of."""
        reports = self.exporter.report(f"?namespace={self.stage.namespace}")["findings"]
        return [each["subject"]["name"] for each in reports if each["reason"] == reason]

    def person(self, *words: str, exporter: bool = True, ahead: float = LATER) -> Any:
        """A command of `steward reconcile` with an admin's permissions, and how it ended."""
        source = ("--exporter", self.exporter.url) if exporter else ()
        asked = ("reconcile", *words, "--kubeconfig", str(self.stage.control_plane.kubeconfig()), *source)
        command = (sys.executable, "-c", COMMAND, str(ahead), *asked)
        return subprocess.run(command, cwd=REPO, capture_output=True, text=True, timeout=120, check=False)

    def plan(self, finding: Object) -> Object:
        """As a person sees it, with the answer of the API server and its webhooks to a dry run."""
        asked = (finding["fingerprint"], "--remediation", self.remediation.id, "--dry-run", "-o", "json")
        done = self.person("plan", *asked)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        (plan,) = answer if isinstance(answer, list) else answer["repairs"]
        made: Object = plan
        return made

    def approve(self, finding: Object, plan: Object) -> None:
        words = (finding["fingerprint"], "--remediation", self.remediation.id, "--plan", plan["hash"], "--for", "6h")
        done = self.person("approve", *words)
        assert done.returncode == 0, done.stderr

    def undo(self, attempt: str, *accepted: str) -> Any:
        """Taken back by a person, who gives up what is lost by its words. It is a write: the clock has to be right."""
        words = [word for each in accepted for word in ("--accept", each)]
        return self.person("undo", attempt, "--yes", "--ledger", str(self.ledger), *words, exporter=False, ahead=0.0)

    def kept(self, attempt: str) -> Object:
        """The object as it was before, as a person gets it to create it again."""
        done = steward("reconcile", "ledger", attempt, "--object", "--ledger", str(self.ledger))
        assert done.returncode == 0, done.stderr
        whole: Object = read_yaml(done.stdout)
        return whole

    def attempt(self, entries: Iterable[Entry]) -> str:
        """The one that was done, of a ledger that is whole."""
        assert verify(self.ledger) == []
        (done,) = [
            each.attempt
            for each in entries
            if each.event is Event.DONE or (each.event is Event.RESOLVED and each.happened)
        ]
        return done

    def events(self) -> list[Object]:
        """Those of the sidecar in the namespace."""
        listed = self.stage.client.list(EVENTS, self.stage.namespace)["items"]
        return [each for each in listed if each.get("reportingComponent") == "kubevirt-steward"]

    def approved(self, finding: Object, sidecar: Sidecar) -> Object:
        """The plan, carried out once a person has approved of it, and not before. The sidecar runs in mode approve."""
        target = finding["fingerprint"], self.remediation.id
        try:
            waits = wait_until(lambda: self._shown(sidecar, *target, "waiting"), PATIENCE, "the plan waits", every=0.1)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; of {target} the sidecar shows {sidecar.plans()}; {sidecar}") from error
        plan = self.plan(finding)
        assert plan["state"] == "planned", plan
        for field in ("hash", "write", "effect", "risk", "undo"):
            assert plan[field] == waits[field]
        assert sidecar.events() == []
        self.approve(finding, plan)
        sidecar.wait_for("verified")
        assert sidecar.events() == ["intended", "done", "verified"]
        (event,) = self.events()
        assert event["reason"] == "Repaired"
        assert plan["effect"][:100] in event["message"]
        return plan

    def _shown(self, sidecar: Sidecar, fingerprint: str, remediation: str, state: str) -> Object | None:
        found = (
            each for each in sidecar.plans() if (each["fingerprint"], each["remediation"]) == (fingerprint, remediation)
        )
        return next((each for each in found if each["state"] == state), None)
