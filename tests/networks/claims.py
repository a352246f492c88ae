"""The claims of a namespace, as the controllers leave them and as a person writes to them."""

from __future__ import annotations

import secrets

from tests.cluster.client import ApiError
from tests.cluster.resources import EVENTS, IPAM_CLAIMS, Resource
from tests.manifests import Object
from tests.networks.nads import PATIENCE, Networks
from tests.waiting import wait_until

__all__ = ["Claims"]


class Claims(Networks):
    def forget(self, claim: str) -> None:
        """As the runbooks replace a claim of a stopped VM: it is deleted, and released."""
        self.client.delete(IPAM_CLAIMS, self.namespace, claim)
        self.release(claim)

    def release(self, claim: str) -> None:
        """Takes the finalizer off a claim in deletion, whoever uses it."""
        self.unhold(IPAM_CLAIMS, claim)
        self.wait_gone(IPAM_CLAIMS, claim)

    def write_ips(self, claim: str, ips: list[str]) -> None:
        """As a person writes another status."""
        self._status(IPAM_CLAIMS, claim, {"ips": ips})

    def touch(self, resource: Resource, name: str) -> None:
        """An event of the object, for those who act on events alone; OVN-Kubernetes tries pods again by itself too."""
        note = {"example.com/touched": secrets.token_hex(4)}
        self.client.patch(resource, self.namespace, name, {"metadata": {"annotations": note}})

    def claim(self, name: str) -> Object | None:
        return self.client.find(IPAM_CLAIMS, self.namespace, name)

    def ips(self, claim: str) -> list[str]:
        found = self.claim(claim)
        return list((found or {}).get("status", {}).get("ips") or ())

    def wait_ips(self, claim: str) -> list[str]:
        return wait_until(lambda: self.ips(claim), PATIENCE, f"claim {claim} has an address")

    def wait_gone(self, resource: Resource, name: str) -> None:
        wait_until(lambda: self.client.find(resource, self.namespace, name) is None, PATIENCE, f"{name} is gone")

    def events(self, reason: str) -> list[str]:
        """What the events of a reason say."""
        found = self.client.list(EVENTS, self.namespace)["items"]
        return [str(each["message"]) for each in found if each["reason"] == reason]

    def _status(self, resource: Resource, name: str, status: Object) -> None:
        """Whoever else writes meanwhile is not in the way."""
        self.client.patch(resource, self.namespace, f"{name}/status", {"status": status})

    def unhold(self, resource: Resource, name: str, finalizer: str = "") -> None:
        """Takes one finalizer off it, or all; whoever else writes meanwhile is not undone."""

        def done() -> bool:
            found = self.client.find(resource, self.namespace, name)
            if found is None:
                return True
            kept = [each for each in found["metadata"].get("finalizers", ()) if finalizer not in ("", each)]
            try:
                self.client.update({**found, "metadata": {**found["metadata"], "finalizers": kept}})
            except ApiError as error:
                if error.code not in (404, 409):
                    raise
                return error.code == 404
            return True

        wait_until(done, PATIENCE, f"{name} is held no longer")
