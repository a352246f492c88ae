"""With what each question is asked. A field is declared once: an option of the command follows from it, and a parameter
of the API and of the page.

Each start of the command line imports this, so it imports nothing that answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, get_type_hints


class Argument(NamedTuple):
    """`position` says that the command takes it without an option. A value that is `whole` can hold commas, which
    separate the values of others in a parameter; one of `labels` is a selector.
    """

    help: str
    metavar: str = ""
    position: bool = False
    short: str = ""
    whole: bool = False
    labels: bool = False


class Parameter(NamedTuple):
    """A field, by the name that its option and its parameter have. It takes `several` values, one, or is a `flag`."""

    field: str
    name: str
    several: bool
    flag: bool
    argument: Argument


def parameters(asked: type[Any]) -> tuple[Parameter, ...]:
    """Of what a question is asked with, in their order. A field without an Argument is part of a path."""
    found = []
    for name, hint in get_type_hints(asked, include_extras=True).items():
        for argument in getattr(hint, "__metadata__", ()):
            of = hint.__origin__
            found.append(Parameter(name, name.replace("_", "-"), of not in (str, bool), of is bool, argument))
    return tuple(found)


def sent(asked: Any) -> Iterator[tuple[str, str]]:
    """The parameters by which the API is asked the same."""
    for each in parameters(type(asked)):
        value = getattr(asked, each.field)
        values = value if each.several else ("true" if each.flag else value,) if value else ()
        yield from ((each.name, one) for one in values)


Several = tuple[str, ...]


class NetworksQuery(NamedTuple):
    network: Annotated[str, Argument("Network to show (default all)", "NETWORK", position=True)] = ""


class InstancetypesQuery(NamedTuple):
    name: Annotated[str, Argument("Name to show, or NAMESPACE/NAME (default all)", "NAME", position=True)] = ""


class FeaturesQuery(NamedTuple):
    feature: Annotated[
        Several,
        Argument(
            "Features to show, such as gpu_dra, or a feature gate, such as VSOCK (default all)",
            "FEATURE",
            position=True,
        ),
    ] = ()
    unallowed: Annotated[bool, Argument("Show only features that VMs request and the cluster rejects")] = False


class VMQuery(NamedTuple):
    """`manifest` is that of a VM which is not there yet; a running steward is not asked about one."""

    namespace: str
    name: str
    manifest: Any = None
    beside: Annotated[str, Argument("Also say in what this other VM differs", "[NAMESPACE/]NAME")] = ""


class VMsQuery(NamedTuple):
    """Numbers are text here: a wrong one is refused in one sentence, wherever it comes from."""

    namespace: Annotated[Several, Argument("Namespaces (default all)", "NS", short="-n")] = ()
    node: Annotated[Several, Argument("Only VMs on these nodes", "NODE")] = ()
    state: Annotated[Several, Argument("Only VMs in these states, such as Running or Failing", "STATE")] = ()
    cannot: Annotated[
        Several, Argument("Only VMs for which a finding forbids one of these acts, such as start or migrate", "ACT")
    ] = ()
    restart_required: Annotated[bool, Argument("Only VMs of which a change waits for a restart")] = False
    instancetype: Annotated[Several, Argument("Only VMs with this instancetype or preference", "[NAMESPACE/]NAME")] = ()
    network: Annotated[Several, Argument("Only VMs on this network, or NAD as NAMESPACE/NAME", "NETWORK")] = ()
    feature: Annotated[Several, Argument("Only VMs that use one of these features, such as gpu_dra", "FEATURE")] = ()
    sort: Annotated[str, Argument("Sort by name, findings, node or state (default name)", "BY")] = ""
    limit: Annotated[str, Argument("Most VMs to show (default all)", "NUMBER")] = ""
    page: Annotated[str, Argument("Number of the page, of as many VMs as --limit says (default 1)", "NUMBER")] = ""


class DrainQuery(NamedTuple):
    """Where nothing is named, it is about the nodes that are cordoned or tainted for a drain."""

    node: Annotated[Several, Argument("Nodes to drain", "NODE", position=True)] = ()
    all_cordoned: Annotated[bool, Argument("All nodes that are cordoned or tainted for a drain")] = False
    selector: Annotated[
        str, Argument("All nodes with these labels, such as zone=a,!gpu", "LABELS", short="-l", whole=True, labels=True)
    ] = ""


class MaintenanceQuery(NamedTuple):
    """Of all nodes where none is named."""

    node: Annotated[Several, Argument("Nodes to look at (default all)", "NODE")] = ()
    limit: Annotated[str, Argument("Most nodes to look at (default all)", "NUMBER")] = ""
    page: Annotated[str, Argument("Number of the page, of as many nodes as the limit says (default 1)", "NUMBER")] = ""


_DELETED = "Delete this {}. NAME alone is a cluster-wide one."


class ImpactQuery(NamedTuple):
    """All of it together."""

    delete_instancetype: Annotated[Several, Argument(_DELETED.format("instancetype"), "[NAMESPACE/]NAME")] = ()
    delete_preference: Annotated[Several, Argument(_DELETED.format("preference"), "[NAMESPACE/]NAME")] = ()
    disable: Annotated[Several, Argument("Disable this feature gate", "GATE")] = ()
    enable: Annotated[Several, Argument("Enable this feature gate", "GATE")] = ()
    upgrade_to: Annotated[Several, Argument("Upgrade KubeVirt to this version, such as 1.9", "VERSION")] = ()
    set: Annotated[
        Several,
        Argument(
            "Set a field of spec.configuration of KubeVirt to JSON or text. null removes the field.",
            "PATH=VALUE",
            whole=True,
        ),
    ] = ()


class UpgradeQuery(NamedTuple):
    to: Annotated[str, Argument("Release of KubeVirt, such as 1.9 (default the next one)", "VERSION")] = ""


class MigrationsQuery(NamedTuple):
    namespace: Annotated[Several, Argument("Namespaces of the VMIs (default all)", "NS")] = ()
    name: Annotated[Several, Argument("Names of the VMIs (default all)", "NAME")] = ()
