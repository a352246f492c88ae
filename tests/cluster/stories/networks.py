"""Networks that are misconfigured, in conflict or full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.cluster import fleet
from tests.cluster.resources import NAMESPACES, UDNS
from tests.cluster.stage import Seed, Stage, Story, nothing
from tests.cluster.stories import acts
from tests.manifests import Object

__all__ = ["STORIES"]


# -- networks


def _defined(**config: Any) -> Seed:
    """A NAD that is set up so, with no VM on it."""

    def seed(stage: Stage) -> Mapping[str, str]:
        stage.nad(**config)
        return {"NAME": "blue"}

    return seed


def _text(config: str) -> Seed:
    """A NAD with this text for its configuration."""

    def seed(stage: Stage) -> Mapping[str, str]:
        made = fleet.nad(stage.namespace, "blue")
        stage.client.create({**made, "spec": {"config": config}})
        return {"NAME": "blue"}

    return seed


def _conflict(stage: Stage) -> Mapping[str, str]:
    stage.nad(mtu=1400)
    stage.nad("green", mtu=1500)
    return {"NAME": "green"}


def _two_primaries(stage: Stage) -> Mapping[str, str]:
    stage.nad(role="primary")
    stage.nad("green", network=f"{stage.network}-green", role="primary", subnets="10.1.0.0/16")
    return {"NAME": "green"}


def _not_kept(stage: Stage) -> Mapping[str, str]:
    stage.nad(allowPersistentIPs=False)
    stage.claim(stage.vm())
    return {"NAME": "blue"}


def _full(stage: Stage) -> None:
    """Of seven addresses six are taken; as many are excluded."""
    stage.nad(subnets="10.0.0.0/28", excludeSubnets="10.0.0.8/29")
    addresses = [f"10.0.0.{host}/28" for host in range(1, 7)]
    stage.client.make(fleet.launcher_pod(stage.namespace, "web", {f"{stage.namespace}/blue": ""}, tuple(addresses)))


def _not_created(message: str) -> Seed:
    def seed(stage: Stage) -> Mapping[str, str]:
        stage.nad()
        stage.client.make(fleet.user_defined_network(stage.namespace, "blue", message))
        return {"NAME": "blue"}

    return seed


def _leaving(stage: Stage) -> Mapping[str, str]:
    """A network that was deleted, with nothing on it."""
    network = fleet.user_defined_network(stage.namespace, "blue", "")
    network["metadata"]["finalizers"] = ["k8s.ovn.org/user-defined-network-protection"]
    stage.client.create(network)
    rendered = fleet.nad(stage.namespace, "blue", network=f"{stage.namespace}_blue")
    rendered["metadata"]["labels"] = {"k8s.ovn.org/user-defined-network": ""}
    stage.client.create(rendered)
    stage.client.delete(UDNS, stage.namespace, "blue")
    return {"NAME": "blue"}


def _held(stage: Stage) -> Mapping[str, str]:
    stage.running(stage.vm())
    stage.pod()
    return _leaving(stage)


def _starting(stage: Stage, **networks: str) -> Mapping[str, str]:
    stage.client.make(fleet.vmi(stage.vm(**networks), phase="Scheduling"))
    return {"NAME": stage.namespace}


def _without_primary(stage: Stage) -> Mapping[str, str]:
    labels = {"k8s.ovn.org/primary-user-defined-network": ""}
    stage.client.patch(NAMESPACES, None, stage.namespace, {"metadata": {"labels": labels}})
    return _starting(stage, default="pod")


def _not_rendered(stage: Stage) -> Mapping[str, str]:
    stage.client.make(fleet.user_defined_network(stage.namespace, "blue", "no room"))
    return _starting(stage)


def _without_nad(stage: Stage) -> Mapping[str, str]:
    stage.vm()
    return {"NAME": "db"}


def _nad_again(stage: Stage) -> Mapping[str, Object]:
    return {"nad.yaml": fleet.nad(stage.namespace, "blue", stage.network)}


def _primary(stage: Stage) -> Mapping[str, Object]:
    network = fleet.user_defined_network(stage.namespace, "main", "")
    network["spec"]["layer2"]["role"] = "Primary"
    return {"network.yaml": network}


def _misconfigured(reason: str, seed: Seed, old: str, new: str) -> Story:
    return Story("VMNetworkMisconfigured", reason, seed, acts.EDIT, edits=(old, new))


FLAG, NO_FLAG = '"allowPersistentIPs": true', '"allowPersistentIPs": false'
PLUGINS = """{"cniVersion": "1.0.0", "name": "%s", "plugins": [
  {"type": "ovn-k8s-cni-overlay", "topology": "layer2", "netAttachDefName": "%s", "subnets": "10.0.0.0/16",
   "allowPersistentIPs": true}]}"""


def _conflist(stage: Stage) -> Mapping[str, str]:
    return _text(PLUGINS % (stage.network, f"{stage.namespace}/blue"))(stage) or {}


STORIES = [
    Story("VMNetworkConfigConflict", "NetworkConfigConflict", _conflict, acts.EDIT, edits=("1500", "1400")),
    Story("VMNetworkPersistenceDisabled", "PersistenceDisabled", _not_kept, acts.EDIT, edits=(NO_FLAG, FLAG)),
    Story("VMNetworkPoolPressure", "PoolPressure", _full, acts.EDIT, edits=("10.0.0.8/29", "10.0.0.14/32")),
    Story(
        "VMNetworkMisconfigured",
        "NetworkWithoutAddresses",
        _defined(subnets="10.0.0.5/32"),
        acts.EDIT,
        edits=("/32", "/24"),
    ),
    Story("VMNetworkBlocksNamespace", "BadJson", _text('{"name": "broken",}'), acts.EDIT, edits=(",}", "}")),
    Story(
        "VMNetworkBlocksNamespace",
        "SubnetsNotString",
        _defined(subnets=("10.0.0.0/16",)),
        acts.EDIT,
        edits=('[\n        "10.0.0.0/16"\n      ]', '"10.0.0.0/16"'),
    ),
    _misconfigured("MultiplePrimary", _two_primaries, '"primary"', '"secondary"'),
    _misconfigured("PersistentWithoutSubnets", _defined(subnets=""), '"subnets": ""', '"subnets": "10.0.0.0/16"'),
    _misconfigured("PersistentLayer3", _defined(topology="layer3"), FLAG, NO_FLAG),
    _misconfigured("NameMismatch", _defined(netAttachDefName="ns/other"), "ns/other", "NAMESPACE/blue"),
    _misconfigured("OverlappingExcludes", _defined(excludeSubnets="10.0.0.0/30,10.0.0.1/32"), ",10.0.0.1/32", ""),
    _misconfigured("ExcludeOutsideSubnets", _defined(excludeSubnets="10.9.0.0/24"), "10.9.0.0/24", "10.0.9.0/24"),
    _misconfigured(
        "ExcludesGateway", _defined(role="primary", excludeSubnets="10.0.0.0/24"), "10.0.0.0/24", "10.0.9.0/24"
    ),
    _misconfigured(
        "PersistentLocalnetWithoutSubnets",
        _defined(topology="localnet", subnets=""),
        '"subnets": ""',
        '"subnets": "10.0.0.0/16"',
    ),
    _misconfigured("Conflist", _conflist, '"plugins"', f'{FLAG}, "plugins"'),
    _misconfigured("NotOvn", _defined(type="bridge"), FLAG, NO_FLAG),
    Story("VMNetworkMisconfigured", "FlagOff", _not_created("allowPersistentIPs is disabled"), leaves=nothing),
    Story("VMNetworkMisconfigured", "NetworkNotCreated", _not_created("no room"), leaves=nothing),
    Story("VMNetworkDeletionStuck", "NetworkDeletionHeld", _held, leaves=nothing),
    Story("VMNetworkDeletionStuck", "NetworkDeletionStuck", _leaving, leaves=nothing),
    Story("VMNamespaceWithoutNetwork", "PrimaryNetworkMissing", _without_primary, (acts.MAKE_NETWORK,), files=_primary),
    Story("VMNamespaceWithoutNetwork", "NetworkNotRendered", _not_rendered, leaves=nothing),
    Story("VMNADMissing", "NadMissing", _without_nad, (acts.MAKE_NAD,), files=_nad_again),
]
