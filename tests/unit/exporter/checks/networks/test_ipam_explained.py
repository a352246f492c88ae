"""What a broken stack explains is one finding of the stack; the rest is said, and what is left comes with its grace."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.checks import all_checks
from tests.evaluation import Evaluation
from tests.rows import full

Row = dict[str, Any]

_CONTROLLER = {"kind": "Deployment", "name": "kubevirt-ipam-controller-manager"}
_NETWORK = {"kind": "Deployment", "name": "ovnkube-control-plane"}
_WEBHOOK = {
    "kind": "MutatingWebhookConfiguration",
    "name": "ipam",
    "webhook": "ipam-claims.k8s.cni.cncf.io",
    "ca": "Q0E=",
}
_WELL = [_CONTROLLER, _NETWORK, _WEBHOOK]
_AFTER = "2026-09-21T14:13:00Z"  # 20 seconds before the clock of the tests


def _vm(name: str, uid: str, **pod: Any) -> list[Row]:
    networks = {"blue": "blue"}
    return [
        {"kind": "VirtualMachine", "name": name, "uid": uid, "networks": networks},
        {"kind": "VirtualMachineInstance", "name": name, "uid": f"i{uid}", "vm": uid, "networks": networks},
        {"kind": "Pod", "name": f"pod-{name}", "domain": name, "vmi": f"i{uid}", **pod},
    ]


def _claim(name: str, uid: str, **more: Any) -> Row:
    named = {"kind": "IPAMClaim", "name": f"{name}.blue", "vm": name, "owner": uid, "network": "tenantblue"}
    return named | more


_HELD = {"attached": [["ns/blue", ""]], "addresses": {"ns/blue": ["10.0.0.6/16"]}}
_FLEET = [
    {"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "tenantblue"},
    *_vm("missing", "v1", claims=["missing.blue"]),
    *_vm("empty", "v2", claims=["empty.blue"]),
    _claim("empty", "v2"),
    *_vm("bare", "v3", **_HELD),
    _claim("bare", "v3", ips=["10.0.0.6/16"]),
    # What no stack explains: one address twice, and one that the network does not have.
    _claim("one", "v4", ips=["10.0.0.9/16"]),
    _claim("two", "v5", ips=["10.0.0.9/16"]),
    _claim("poison", "v6", ips=["192.168.0.9/16"]),
    *(
        {"kind": "VirtualMachine", "name": name, "uid": uid}
        for name, uid in (("one", "v4"), ("two", "v5"), ("poison", "v6"))
    ),
]
_ALWAYS = {"DuplicateIP", "IpOutsidePool"}
_EXPLAINED = {"MissingClaim", "EmptyClaim", "NotReferenced"}


def _evaluation(stack: list[Row], **more: Any) -> Evaluation:
    checks = [check for check in all_checks() if check.id in ("ipam_claims", "ipam_vms", "ipam_stack")]
    evaluation = Evaluation(checks, **more)
    for row in [*stack, *_FLEET]:
        evaluation.seen(full(row))
    return evaluation


def _reasons(evaluation: Evaluation) -> set[str]:
    return {reason for _, _, reason, _ in evaluation.found()}


@pytest.mark.parametrize(
    ("stack", "said", "withheld"),
    [
        (_WELL, set(), set()),
        ([], set(), set()),
        ([{**_CONTROLLER, "ready": 0}, _NETWORK, _WEBHOOK], {"ControllerNotReady"}, _EXPLAINED),
        ([_NETWORK], {"ControllerMissing"}, _EXPLAINED),
        ([_CONTROLLER, _NETWORK], {"WebhookMissing"}, {"NotReferenced"}),
        ([_CONTROLLER, {**_NETWORK, "ready": 0}, _WEBHOOK], {"ControlPlaneNotReady"}, {"EmptyClaim"}),
        ([_CONTROLLER, _NETWORK, {**_WEBHOOK, "ca": ""}], {"WebhookUntrusted"}, set()),
    ],
)
def test_each_failure_withholds_what_it_explains(stack: list[Row], said: set[str], withheld: set[str]) -> None:
    assert _reasons(_evaluation(stack)) == _ALWAYS | said | (_EXPLAINED - withheld)


def test_the_finding_of_the_stack_says_what_is_withheld() -> None:
    evaluation = _evaluation([{**_CONTROLLER, "ready": 0}, _NETWORK, _WEBHOOK])
    evaluation.evaluate()
    (found,) = (each for each in evaluation.engine.findings() if each.check == "ipam_stack")
    assert found.message.endswith("Withheld until it works: MissingClaim, NotReferenced, EmptyClaim.")


def test_what_is_left_when_the_stack_is_well_has_its_grace() -> None:
    evaluation = _evaluation([{**_CONTROLLER, "ready": 0}, _NETWORK, _WEBHOOK], initial=False)
    evaluation.evaluate()
    evaluation.seen(full({**_CONTROLLER, "since": _AFTER}))
    assert _reasons(evaluation).isdisjoint(_EXPLAINED)
    evaluation.now += 660
    assert _reasons(evaluation) >= _EXPLAINED
