"""A ValidatingAdmissionPolicy for the sidecar's ServiceAccount, by what its configuration enables, as manifests. Pure.

RBAC says which resources the sidecar may patch; this says which fields, from what to what, and in which namespaces. It
matches whatever any remediation could write, so that a role that is still bound for an earlier configuration allows
nothing. `admissionregistration.k8s.io/v1` has it since Kubernetes 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from exporter.facts.selector import Requirement, Selector

from ..carry_out.execute import REASONS
from ..plan.annotations import APPROVED_PLAN, PAUSED, PREFIX, RESUMED
from ..plan.patterns import PRESENT, Is, Like, quoted
from ..plan.remediation import Remediation
from ..plan.requests import MANAGER, NOT_PLANNED, PROBE
from ..plan.writes import PAUSE, Created, Deleted, Field, Form, Patched, Sides, Write, changed_in_cel, levels
from .accounts import NAME, ServiceAccount, metadata_of

_API = "admissionregistration.k8s.io"
_OPERATIONS = {Created: "CREATE", Patched: "UPDATE", Deleted: "DELETE"}
_LEASES = "leases.coordination.k8s.io"
_NAMESPACE = "request.?namespace.orValue('')"
_WRITTEN = (
    "request.operation + ' ' + request.resource.resource\n"
    "+ (request.resource.group == '' ? '' : '.' + request.resource.group)\n"
    "+ (request.?subResource.orValue('') == '' ? '' : '/' + request.subResource)"
)
_BOUND = f"""request.operation == 'DELETE'
? request.?options.?preconditions.?uid.hasValue() && request.?options.?preconditions.?resourceVersion.hasValue()
: variables.written in ['CREATE events', 'CREATE {_LEASES}', 'UPDATE {_LEASES}']
|| request.?options.?fieldManager.orValue('') == {quoted(MANAGER)}"""
_RENEWED = Patched(Field("/spec/renewTime"))  # for the levels alone
EVENT = Like(
    reason=Is(*REASONS), type=Is("Normal", "Warning"), reportingComponent=MANAGER, source=Like(component=MANAGER)
)

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Enabled:
    """A remediation that may write: in the namespaces of `only`, or with None in all but those of `never`. Where it is
    so `by_labels` they say so first, and of the others whatever selects them allows it, nothing that selects them
    denies it, and something does or it may write `elsewhere`.
    """

    remediation: Remediation
    only: tuple[str, ...] | None = None
    never: tuple[str, ...] = ()
    by_labels: tuple[tuple[Selector, bool], ...] = ()
    elsewhere: bool = False

    @property
    def where(self) -> str:
        """The same in CEL."""
        if self.by_labels:
            return self._by_labels()
        if self.only is not None:
            return f"{_NAMESPACE} in {quoted(self.only)}"
        return f"!({_NAMESPACE} in {quoted(self.never)})" if self.never else "true"

    def _by_labels(self) -> str:
        named, denied = self.only or (), [_selected(each) for each, allowed in self.by_labels if not allowed]
        allowed = [_selected(each) for each, allowed in self.by_labels if allowed]
        terms = [
            "namespaceObject != null",
            f"!({_NAMESPACE} in {quoted((*named, *self.never))})",
            *(f"!({each})" for each in denied),
            *(() if self.elsewhere else (f"({' || '.join(allowed) or 'false'})",)),
        ]
        unnamed = " && ".join(terms)
        # What has no namespace has no labels either.
        bare = f" || {_NAMESPACE} == ''" if self.elsewhere else ""
        return f"({_NAMESPACE} in {quoted(named)} || {unnamed}{bare})"


def _selected(selector: Selector) -> str:
    return " && ".join(_holds(each) for each in selector.requirements)


def _holds(requirement: Requirement) -> str:
    labels, key = "namespaceObject.metadata.labels", quoted(requirement.key)
    there = f"has({labels}) && {key} in {labels}"
    if requirement.operator in ("In", "NotIn"):
        there = f"{there} && {labels}[{key}] in {quoted(requirement.values)}"
    return f"!({there})" if requirement.operator in ("NotIn", "DoesNotExist") else f"({there})"


@dataclass(frozen=True)
class Lease:
    """The sidecar's."""

    namespace: str
    name: str


def policy(
    enabled: Iterable[Enabled], remediations: Iterable[Remediation], account: ServiceAccount, lease: Lease
) -> Iterator[Manifest]:
    """The policy and its binding. Where nothing is `enabled` it allows nothing; `remediations` are all there are."""
    enabled = tuple(enabled)
    sides = Sides(levels([*(form for each in enabled for form in _forms(each)), PAUSE, _RENEWED]))
    allowed = dict(_allowed(enabled, lease, sides))
    changes = [("changed", changed_in_cel(sides))] if allowed else []
    # A variable is known to those after it.
    variables = [("written", _WRITTEN), ("bound", _BOUND), *sides.variables(), *changes, *allowed.items()]
    says = f"{account.username} {NOT_PLANNED}: "
    validations = [
        (
            " || ".join(f"variables.{name}" for name in allowed) or "false",
            f"{quoted(says + 'no remediation that is enabled there plans it: ')} + variables.written",
        ),
        (
            "variables.bound",
            quoted(f"{says}a deletion needs a UID and a resourceVersion, any other fieldManager {MANAGER}"),
        ),
    ]
    condition = {"name": "sidecar", "expression": f"request.userInfo.username == {quoted(account.username)}"}
    yield from denying(NAME, _matched(remediations, lease), condition, variables, validations)


def denying(
    name: str,
    matched: Iterable[Manifest],
    condition: Manifest,
    variables: Iterable[tuple[str, str]],
    validations: Iterable[tuple[str, str]],
) -> Iterator[Manifest]:
    """A policy that denies whatever a validation does not hold for, and its binding. `matched` are rules of resources;
    a validation is an expression and the one that says what is wrong.
    """
    yield {
        "apiVersion": f"{_API}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata_of(name),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": list(matched)},
            "matchConditions": [condition],
            "variables": [{"name": each, "expression": expression} for each, expression in variables],
            "validations": [
                {"expression": expression, "messageExpression": message, "reason": "Forbidden"}
                for expression, message in validations
            ],
        },
    }
    yield {
        "apiVersion": f"{_API}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata_of(name),
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def _matched(remediations: Iterable[Remediation], lease: Lease) -> Iterator[Manifest]:
    """Few enough that little of what others write is looked at: of Events and Leases what RBAC leaves open."""
    groups: dict[str, set[str]] = {}
    for write in (each for remediation in remediations for each in remediation.writes if each.admitted):
        groups.setdefault(write.group, set()).add(write.resource)
    for group, resources in sorted(groups.items()):
        yield _rule(group, sorted(resources), sorted(_OPERATIONS.values()))
    yield _rule("", ["events"], ["CREATE"])
    resource, _, group = _LEASES.partition(".")
    yield _rule(group, [resource], ["CREATE"])
    yield _rule(group, [resource], ["UPDATE"]) | {"resourceNames": [lease.name]}


def _rule(group: str, resources: list[str], operations: list[str]) -> Manifest:
    return {"apiGroups": [group], "apiVersions": ["*"], "operations": operations, "resources": resources}


def _allowed(enabled: tuple[Enabled, ...], lease: Lease, sides: Sides) -> Iterator[tuple[str, str]]:
    """A name and an expression for each remediation, and for what goes with every repair."""
    for each in enabled:
        if forms := _forms(each):
            guarded = (_guarded(form, resources, sides) for form, resources in forms.items())
            yield each.remediation.id, _where(each.where, guarded)
    if not enabled:
        return
    where = " || ".join(dict.fromkeys(each.where for each in enabled))
    patched = {
        resource: None
        for each in enabled
        for form, resources in _forms(each).items()
        for resource in resources
        if isinstance(form, Patched) and "/" not in resource
    }
    if patched:
        yield "paused", _where(where, [_guarded(PAUSE, list(patched), sides)])
    yield "event", _event(where, sides)
    yield "lease", _lease(lease, sides)
    yield "probe", _probe(lease, sides)


def _forms(enabled: Enabled) -> dict[Form, list[str]]:
    """What it writes, and what takes that back, each with the resources."""
    found: dict[Form, list[str]] = {}
    for write in enabled.remediation.writes:
        for form in write.forms if write.admitted else ():
            found.setdefault(form, []).append(_resource(write))
    return found | {
        form.back(): resources for form, resources in found.items() if isinstance(form, Patched) and form.can_go_back
    }


def _guarded(form: Form, resources: list[str], sides: Sides) -> str:
    written = [f"{_OPERATIONS[type(form)]} {each}" for each in resources]
    guard = f"== {quoted(written[0])}" if len(written) == 1 else f"in {quoted(written)}"
    return f"variables.written {guard}\n&& {form.cel(sides)}"


def _resource(write: Write) -> str:
    resource, slash, subresource = write.resource.partition("/")
    return (f"{resource}.{write.group}" if write.group else resource) + slash + subresource


def _where(where: str, forms: Iterable[str]) -> str:
    either = "\n|| ".join(forms)  # && binds closer
    return either if "true" in where.split(" || ") else f"({where})\n&& ({either})"


def _event(where: str, sides: Sides) -> str:
    """One of an object without a namespace is in `default`."""
    new = sides.new.at()
    of = new.key("involvedObject").key("namespace").value()
    there = f"({_NAMESPACE} == {of} && ({where}) || {_NAMESPACE} == 'default' && ({of} == null || {of} == ''))"
    return f"variables.written == 'CREATE events'\n&& {there}\n&& {EVENT.cel(new)}"


def _probe(lease: Lease, sides: Sides) -> str:
    """The dry run that the policy of approvals has to refuse: of two that refuse, one alone is heard of."""
    approves = Like(metadata=Like(name=PROBE, annotations=Like(**{APPROVED_PLAN: PRESENT}))).cel(sides.new.at())
    return (
        f"variables.written == 'CREATE {_LEASES}' && request.?dryRun.orValue(false)\n"
        f"&& {_NAMESPACE} == {quoted(lease.namespace)} && {approves}"
    )


def _lease(lease: Lease, sides: Sides) -> str:
    """Its creation and its renewal; who paused everything is the one to resume it."""
    named = Like(metadata=Like(name=lease.name)).cel(sides.new.at())
    here = f"{_NAMESPACE} == {quoted(lease.namespace)} && {named}"
    ours = f"p.startsWith({quoted(f'/metadata/annotations/{PREFIX}')})"
    paused, resumed = (quoted(f"/metadata/annotations/{each}") for each in (PAUSED, RESUMED))
    kept = f"p != {paused} && !p.startsWith({resumed})"  # also of one remediation
    return (
        f"{here}\n&& (variables.written == 'CREATE {_LEASES}'\n|| variables.written == 'UPDATE {_LEASES}'\n"
        f"&& variables.changed.all(p, p.startsWith('/spec/') || {ours} && {kept}))"
    )
