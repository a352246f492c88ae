"""IPAMClaims with wrong addresses or networks, or that are not used as they should be."""

from __future__ import annotations

from collections.abc import Mapping

from tests.cluster import fleet
from tests.cluster.resources import NAMESPACES, PODS
from tests.cluster.stage import Stage, Story, touched
from tests.cluster.stories import acts
from tests.manifests import Object

__all__ = ["STORIES"]


# -- its addresses


def _outside(stage: Stage) -> None:
    stage.nad(subnets="10.9.0.0/16")
    owner = stage.vm()
    stage.claim(owner)
    stage.running(owner)
    stage.pod(ip="")


def _excluded(stage: Stage) -> None:
    stage.nad(excludeSubnets="10.0.0.4/30")
    stage.claim(stage.vm(), "10.0.0.5/16")


def _other_prefix(stage: Stage) -> None:
    stage.nad()
    owner = stage.vm()
    stage.claim(owner)
    stage.running(owner)
    stage.pod(ip="10.0.0.5/16")


def _one_family(stage: Stage) -> None:
    stage.nad(subnets="10.0.0.0/16,fd00::/64")
    stage.claim(stage.vm(), "10.0.0.5/16")


def _drift(stage: Stage) -> None:
    stage.nad()
    owner = stage.vm()
    stage.claim(owner)
    stage.running(owner)
    stage.pod(ip="10.0.0.6/24")


# -- its network

_SELECTED = {"LABEL": "example.com-network", "VALUE": "blue"}


def _mismatch(stage: Stage) -> None:
    stage.nad(network=f"{stage.network}-green")
    stage.client.create(fleet.nad(stage.namespace, "old", stage.network))
    stage.claim(stage.vm())


def _no_network(stage: Stage) -> None:
    stage.claim(stage.vm())


def _not_here(stage: Stage) -> None:
    other = f"{stage.namespace}-other"
    stage.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    stage.nad(namespace=other)
    stage.claim(stage.vm())


def _labelled(stage: Stage, _: Mapping[str, str]) -> bool:
    labels = stage.client.get(NAMESPACES, None, stage.namespace)["metadata"]["labels"]
    return bool(labels["example.com-network"] == "blue")


def _missing_nad(stage: Stage) -> Mapping[str, Object]:
    return {"NAD.yaml": fleet.nad(stage.namespace, "blue", stage.network)}


# -- its use


def _empty(stage: Stage) -> None:
    stage.nad()
    owner = stage.vm()
    stage.claim(owner, None)
    stage.running(owner)
    stage.pod()


def _leaked(stage: Stage) -> None:
    """It holds the only address of its network that can be allocated."""
    stage.nad(subnets="10.0.0.4/30", excludeSubnets="10.0.0.6/32")
    stage.claim(stage.vm(green="green"), "10.0.0.5/30")


def _not_referenced(stage: Stage) -> None:
    stage.nad()
    owner = stage.vm()
    stage.claim(owner)
    stage.running(owner)
    stage.pod("")


STORIES = [
    Story("VMIPAMClaimAddressInvalid", "IpOutsidePool", _outside, acts.EXCHANGE, stops=True),
    Story("VMIPAMClaimAddressInvalid", "IpExcluded", _excluded, acts.EXCHANGE),
    Story("VMIPAMClaimAddressInvalid", "PrefixMismatch", _other_prefix, (acts.STATUS,)),
    Story("VMIPAMClaimAddressInvalid", "FamilyIncomplete", _one_family, acts.EXCHANGE),
    Story("VMIPAMClaimAddressInvalid", "IpDrift", _drift, (acts.STATUS,)),
    Story("VMIPAMClaimNetworkMismatch", "NetworkMismatch", _mismatch, acts.EXCHANGE, values=_SELECTED),
    Story(
        "VMIPAMClaimNetworkMismatch", "NetworkMissing", _no_network, (acts.MAKE,), files=_missing_nad, values=_SELECTED
    ),
    Story(
        "VMIPAMClaimNetworkMismatch",
        "NetworkNotInNamespace",
        _not_here,
        (acts.SELECT,),
        leaves=_labelled,
        files=_missing_nad,
        values=_SELECTED,
    ),
    Story(
        "VMIPAMClaimNetworkMismatch",
        "NetworkNotInNamespace",
        _not_here,
        (acts.MAKE,),
        files=_missing_nad,
        values=_SELECTED,
    ),
    Story("VMIPAMClaimLeftBehind", "LeakedClaim", _leaked, acts.EXCHANGE),
    Story("VMPersistentIPBroken", "EmptyClaim", _empty, (acts.TOUCH_POD,), leaves=touched(PODS, "virt-launcher-db")),
    Story(
        "VMIPAMClaimUnprotected",
        "NotReferenced",
        _not_referenced,
        (acts.TOUCH_POD,),
        leaves=touched(PODS, "virt-launcher-db"),
    ),
]
