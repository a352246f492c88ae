"""VMs with the MAC address or the IP address of another one on the same network."""

from __future__ import annotations

from tests.cluster import fleet
from tests.cluster.stage import NETWORKS, Stage, Story, nothing
from tests.cluster.stories import acts

__all__ = ["STORIES"]

_MAC = "02:00:00:00:00:01"
_DB = {"NAME": "db"}  # the one of the two that is stopped


def _one_mac_address(stage: Stage) -> None:
    stage.nad()
    for name in ("db", "copy"):
        made = fleet.vm(stage.namespace, name, NETWORKS)
        for interface in made["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"]:
            interface["macAddress"] = _MAC
        stage.running(stage.client.create(made))


def _one_ip_address(stage: Stage) -> None:
    stage.nad()
    for last, name in enumerate(("db", "copy"), start=1):
        made = fleet.vmi(stage.client.create(fleet.vm(stage.namespace, name, NETWORKS)))
        reported = {"name": "blue", "mac": f"02:00:00:00:00:0{last}", "ipAddress": "10.0.0.5"}
        made["status"]["interfaces"] = [{**reported, "infoSource": "domain, guest-agent"}]
        stage.client.make(made)


STORIES = [
    Story("VMMACAddressDuplicate", "DuplicateMAC", _one_mac_address, (acts.SET_MAC,), stops=True, values=_DB),
    Story("VMIPAddressDuplicate", "DuplicateGuestIP", _one_ip_address, leaves=nothing, values=_DB),
]
