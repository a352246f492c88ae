"""Which commands of an advice only look, and what the others do."""

from __future__ import annotations

import pytest

from exporter.checks import all_checks
from exporter.domain.acts import acts_of
from exporter.questions.commands import command, in_parts, writes

from ....all_of import all_of, named, whole

COMMANDS = sorted({each for check in all_checks() for reason in check.reasons.values() for each in reason.commands})


@pytest.mark.parametrize(
    "text",
    [
        "kubectl get vmi -n ns db -o yaml",
        "kubectl get pods -A | grep -F -e 'a|b' -e 'kubevirt.io/domain:db'",
        "kubectl get nodes NODE -o jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}'",
        "kubectl exec -n ns pod -c compute -- virsh list --all",
        "virtctl guestosinfo -n ns db",
        "kubectl annotate vm -n ns db a=b --overwrite --dry-run=server",
        "kubectl get a\nkubectl logs b",
    ],
)
def test_what_only_looks(text: str) -> None:
    assert not command(text).changes


@pytest.mark.parametrize(
    ("text", "interrupts", "loses"),
    [
        ("virtctl stop -n ns db", True, False),
        ("virtctl restart -n ns db", True, False),
        ("kubectl drain node01 --ignore-daemonsets", True, False),
        ("kubectl delete pdb -n ns a", False, True),
        ("echo '{}' | kubectl delete --raw /apis/policy/v1/namespaces/ns/poddisruptionbudgets/a -f -", False, True),
        ("kubectl get vm a && kubectl edit vm a", False, False),
        ("kubectl get vm a; reboot", False, False),
        ("kubectl get vm $(rm -rf /)", False, False),
        ("kubectl exec -n ns pod -- virsh destroy 1", False, False),
        ("kubectl exec -n ns pod -- rm -rf /", False, False),
        ("A=$(kubectl delete vm a)", False, False),
        ("kubectl get vm `reboot`", False, False),
        ("kubectl get 'unclosed", False, False),
        ("something else", False, False),
        ("kubectl patch vm a --dry-run=server | kubectl apply -f -", False, False),
        ("kubectl create -f - <<EOF\nkind: VirtualMachine\nEOF", False, False),
    ],
)
def test_what_may_change_something(text: str, interrupts: bool, loses: bool) -> None:
    found = command(text)
    assert (found.changes, found.interrupts, found.loses) == (True, interrupts, loses)


@all_of(named(COMMANDS, str), whole)
def test_each_command_of_a_reason_is_known_to_look_or_to_change(text: str) -> None:
    """One that is neither says nothing of what it does: teach `exporter/questions/commands.py` its program."""
    assert command(text).changes == (writes(text) or bool(list(acts_of(text))))


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("kubectl get vmi -n ns db -o yaml", "Look"),
        ("kubectl describe resourcequotas -n ns", "Look"),
        ("kubectl get pods -n ns | grep -A 3 nodes", "Look"),
        ("kubectl get pods -A -o wide", "Look, as a cluster administrator"),
        ("kubectl --context c get nodes -o wide", "Look, as a cluster administrator"),
        ("kubectl describe nodes | grep -F -e a", "Look, as a cluster administrator"),
        ("kubectl get kubevirts.kubevirt.io -n kubevirt kubevirt", "Look, as a cluster administrator"),
        ("kubectl edit kubevirts.kubevirt.io -n kubevirt kubevirt", "Change"),
    ],
)
def test_a_command_stands_under_who_may_run_it(text: str, head: str) -> None:
    assert list(in_parts([text])) == [head]


def test_a_lost_node_is_tainted_once_its_host_is_off() -> None:
    found = command("kubectl taint nodes n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
    assert found.interrupts
    assert found.effects[0] == "Needs a cluster administrator."
    assert "Only once the host is switched off" in found.effects[1]
