"""The two controllers of networks, as programs that whoever runs the tests has built: no module of Go gives them.

Both vendor what they need, so a checkout builds without a network; see CONTRIBUTING.md.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.kubevirt import network

__all__ = ["ipam_controller", "ovnkube", "why_not"]

VARIABLES = {
    "STEWARD_OVNKUBE": "OVN-Kubernetes' program `ovnkube`",
    "STEWARD_IPAM_CONTROLLER": "the controller of KubeVirt's ipam-extensions",
}
# ovnkube looks them up when it starts, and never runs them: there is no OVN here.
LOOKED_UP = {
    "openvswitch-common": ("ovs-ofctl", "ovs-appctl"),
    "openvswitch-switch": ("ovs-vsctl",),
    "ovn-common": ("ovn-nbctl", "ovn-sbctl", "ovn-appctl"),
    "iproute2": ("ip",),
    "procps": ("sysctl",),
}


def ovnkube() -> Path:
    return Path(os.environ["STEWARD_OVNKUBE"])


def ipam_controller() -> Path:
    return Path(os.environ["STEWARD_IPAM_CONTROLLER"])


def why_not() -> str | None:
    """Why the tests can't run here, in a sentence that names what is to be set or installed; None if they can."""
    for variable, what in VARIABLES.items():
        path = os.environ.get(variable)
        if not path:
            return f"{variable} is not set: it is the path of {what} (CONTRIBUTING.md says how to build it)"
        if not os.access(path, os.X_OK):
            return f"{variable} is {path}, and there is no program that can be run"
    missing = [package for package, names in LOOKED_UP.items() if not all(map(shutil.which, names))]
    if missing:
        return f"STEWARD_OVNKUBE does not start without what these packages bring: install {', '.join(missing)}"
    return network.why_not()


if __name__ == "__main__":
    sys.exit(why_not())
