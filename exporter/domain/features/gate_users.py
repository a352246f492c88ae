"""Whom a switch of a feature gate concerns, by what VMs and VMIs ask for.

A gate that neither a rule nor the table here names has no answer: nobody knows whom it hits, which is not the same as
nobody.
"""

from __future__ import annotations

from collections.abc import Callable

from ...facts.rule import Ground, Request, Rule
from ...facts.rules import BY_ID
from .configuration import Effective

Concerned = Callable[[tuple[Request, ...]], bool]
"""Whether a VM or VMI with these requests is concerned, those by its networks among them."""

_PROFILE = "kubevirt/kubevirt.json"  # the file that virt-handler puts on nodes while KubevirtSeccompProfile is on

# Of gates that concern every VM, when they do (pkg/virt-controller/services of kubevirt/kubevirt).
_EVERY: dict[str, Callable[[Effective], bool]] = {
    "ConfigurableHypervisor": lambda known: bool(known.settings.hypervisors),
    "CrossArchitectureVirtualization": lambda _: True,  # launcher pods select nodes by another label
    "IOMMUFD": lambda _: True,  # launcher pods ask for a device more
    "KubevirtSeccompProfile": lambda known: known.seccomp_profile == _PROFILE,
}


def concerned_by(gate: str, before: Effective, after: Effective) -> Concerned | None:
    """None where no rule says who asks for what the gate decides, in the releases before and after."""
    if gate in _EVERY:
        every = any(_EVERY[gate](known) for known in (before, after))
        return lambda _: every
    if gate == "DisableMDEVConfiguration":  # virt-handler makes the devices of a vGPU, or leaves that to others
        made = before.mediated_devices | after.mediated_devices
        return lambda requests: any(rule == "permitted_host_devices" and name in made for rule, name in requests)
    rules = {
        each.id: each
        for each in BY_ID.values()
        if gate in (each.gate, *each.decides) and (each.counts_in(before) or each.counts_in(after))
    }
    if not rules:
        return None
    grounds = Ground(before), Ground(after)

    def concerned(requests: tuple[Request, ...]) -> bool:
        return any(rule in rules and _matters(rules[rule], gate, name, *grounds) for rule, name in requests)

    return concerned


def _matters(rule: Rule, gate: str, parameter: str, before: Ground, after: Ground) -> bool:
    """Where something else decides too, one may be allowed as before."""
    return rule.gate == gate or rule.why(before, parameter) != rule.why(after, parameter)
