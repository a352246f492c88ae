"""The webhook of ipam-extensions: its certificate, and its registration as the manifests and cert-manager write it."""

from __future__ import annotations

import base64
from pathlib import Path

import trustme

from tests.cluster.apiserver import write_private
from tests.cluster.resources import MUTATING_WEBHOOKS
from tests.manifests import Object

__all__ = ["HOOK", "Webhook"]

HOOK = "kubevirt-ipam-controller-mutating-webhook-configuration"
URL = "https://127.0.0.1:9443/mutate-v1-pod"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}


class Webhook:
    def __init__(self, folder: Path) -> None:
        """`folder` is made, with what the controller serves by."""
        self.folder = folder
        folder.mkdir()
        authority = trustme.CA()
        issued = authority.issue_cert("127.0.0.1")
        issued.cert_chain_pems[0].write_to_path(folder / "tls.crt")
        write_private(folder / "tls.key", issued.private_key_pem.bytes().decode())
        self._ca = base64.b64encode(authority.cert_pem.bytes()).decode()

    def registered(self, *, trusted: bool) -> Object:
        """Not `trusted`, as if nothing had put the CA's certificate into it."""
        webhook = {
            "name": "ipam-claims.k8s.cni.cncf.io",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": URL} | ({"caBundle": self._ca} if trusted else {}),
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "objectSelector": {"matchLabels": {"kubevirt.io": "virt-launcher"}},
            "rules": [RULE],
            "sideEffects": "None",
        }
        kind = {"apiVersion": MUTATING_WEBHOOKS.api_version, "kind": "MutatingWebhookConfiguration"}
        return {**kind, "metadata": {"name": HOOK}, "webhooks": [webhook]}
