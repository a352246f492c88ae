"""What the exporter finds of a namespace and its networks."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tests.cluster.exporter import Exporter
from tests.manifests import Object
from tests.networks.control_plane import IPAM_NAMESPACE, OVN_NAMESPACE
from tests.waiting import wait_until

__all__ = ["Findings"]

CLUSTERS = ("", OVN_NAMESPACE, IPAM_NAMESPACE)  # what is of the cluster, and its controllers'


@dataclass(frozen=True)
class Findings:
    exporter: Exporter
    namespace: str

    def all(self) -> list[Object]:
        """Those of the namespace's objects, of its networks, and of the cluster."""
        found: list[Object] = self.exporter.report()["findings"]
        return [
            each
            for each in found
            if each["subject"].get("namespace", "") in CLUSTERS or each["subject"]["namespace"] == self.namespace
        ]

    def of(self, name: str) -> set[str]:
        """The reasons of one object."""
        return {each["reason"] for each in self.all() if each["subject"]["name"] == name}

    def reasons(self) -> set[str]:
        return {each["reason"] for each in self.all()}

    def wait(self, reason: str, name: str = "", severity: str = "") -> Object:
        """The finding of a reason, of one object or any, once there is one with this severity."""

        def there() -> Object | None:
            for each in self.all():
                wanted = (reason, name or each["subject"]["name"], severity or each["severity"])
                if (each["reason"], each["subject"]["name"], each["severity"]) == wanted:
                    return each
            return None

        what = f"{reason} {severity} is found of {name or self.namespace}"
        try:
            return wait_until(there, 30, what)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; found are {sorted(self.reasons())}") from error

    def of_network(self, reason: str, network: str) -> Object:
        """The finding of a reason that is about a network, whichever of its NADs is the subject."""

        def there() -> Object | None:
            found: list[Object] = self.exporter.report()["findings"]
            return next((each for each in found if (each["reason"], each.get("network")) == (reason, network)), None)

        return wait_until(there, 30, f"{reason} is found of network {network}")

    def wait_none(self, reason: str) -> None:
        wait_until(lambda: reason not in self.reasons(), 30, f"{reason} is no longer found in {self.namespace}")

    def usage(self, network: str) -> Object:
        """What `GET /api/v1/networks` says of one network."""
        status, body = self.exporter.get(f"/api/v1/networks?network={network}")
        assert status == 200, body
        found: list[Object] = json.loads(body)["networks"]
        return found[0] if found else {"subnets": []}

    def counted(self, network: str) -> dict[str, int]:
        """What the addresses of its first subnet are used for."""
        subnets = self.usage(network)["subnets"]
        return {use: count for use, count in subnets[0]["usage"].items() if count} if subnets else {}

    def wait_counted(self, network: str, wanted: dict[str, int]) -> None:
        what = f"of network {network} is used {wanted}"
        wait_until(lambda: self.counted(network) == wanted or None, 30, what)

    def wait_calm(self) -> None:
        """Nothing is found above info, once what was so for a moment is over."""
        try:
            wait_until(lambda: not self._worse(), 30, f"nothing of {self.namespace} is above info")
        except TimeoutError as error:
            raise TimeoutError(f"{error}; found are {self._worse()}") from error

    def _worse(self) -> list[str]:
        return [f"{each['reason']}: {each['message']}" for each in self.all() if each["severity"] != "info"]
