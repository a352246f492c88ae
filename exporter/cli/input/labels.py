"""Which VMs have the labels of `-l`: of a cluster the API server is asked, as by `kubectl get vm -l`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...facts.selector import Selector
from ...store.cluster import Cluster
from ...store.kind import ApiKind
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from .filters import Filters, UsageError

if TYPE_CHECKING:
    from ...kube.transport import Transport  # dear to import, and a dump needs none

_EVERYWHERE = ("",)


async def labelled_in_cluster(transport: Transport, cluster: Cluster, filters: Filters) -> Filters:
    """With the VMs that the selector selects now, and VMIs that stand alone. Raises UsageError where that may not be
    asked.
    """
    if filters.selector is None:
        return filters
    places = sorted(filters.namespaces or filters.selection.namespaces) or _EVERYWHERE
    vms, vmis = [
        await _listed(transport, kind, filters.selector, places)
        for kind in (VirtualMachine.KIND, VirtualMachineInstance.KIND)
    ]
    alone = {each for each in vmis if cluster.get(VirtualMachine, *each) is None}
    return replace(filters, labelled=frozenset(("", f"{namespace}/{name}") for namespace, name in vms | alone))


def refuse_none(filters: Filters, *, unseen: bool = False) -> None:
    """Raises UsageError where no VM has the labels that were asked for; `unseen` says that there may be more VMs."""
    if filters.labelled is not None and not filters.labelled:
        if unseen:
            raise UsageError(f"no VM that is seen has the labels {filters.selector}, and not all VMs are seen")
        where = f" in {', '.join(sorted(filters.namespaces))}" if filters.namespaces else ""
        raise UsageError(f"no VM has the labels {filters.selector}{where}")


async def _listed(
    transport: Transport, kind: ApiKind[Any], selector: Selector, places: Collection[str]
) -> set[tuple[str, str]]:
    from ...kube.client import Client, Timeouts
    from ...kube.errors import AbsentError, StatusError
    from ...kube.watch.decode import Decoder
    from ...kube.watch.listing import paged

    client, pace = Client(transport), Timeouts()
    selected = replace(kind, selectors=(*kind.selectors, ("labelSelector", selector.parameter)))
    found: set[tuple[str, str]] = set()
    try:
        served = await client.served_version(kind)
        for place in places:
            listed = await paged(client, Decoder(kind), selected, served, pace, place)
            found |= listed.objects.keys()
    except AbsentError:
        return set()
    except StatusError as error:
        if error.code != 403:
            raise
        hint = "" if places != _EVERYWHERE else ", or name your namespace with -n"
        raise UsageError(f'which VMs have these labels is not known: grant "list" on {kind.resource}{hint}') from None
    return found
