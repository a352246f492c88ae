"""The NADs that VMs refer to."""

from __future__ import annotations

from ...findings.check import View
from ...store.indexes.networks import REFERENCE, primary
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition

__all__ = ["ReferredNads", "referred_to"]


def referred_to(view: View, namespace: str, key: str) -> NetworkAttachmentDefinition | None:
    """The NAD that a VM refers to by `namespace/name`; by empty text, its namespace's primary one.

    Of several primary ones, which is a finding of its own, the first by name.
    """
    found = view.members(REFERENCE, key or primary(namespace), NetworkAttachmentDefinition)
    return found[0] if len(found) == 1 else min(found, key=lambda each: each.name, default=None)


class ReferredNads:
    """The same for one evaluation, in which a VM, its VMI and each of their interfaces ask for the same ones."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._found: dict[tuple[str, str], NetworkAttachmentDefinition | None] = {}

    def of(self, namespace: str, key: str) -> NetworkAttachmentDefinition | None:
        place = namespace, key
        if place not in self._found:
            self._found[place] = referred_to(self._view, namespace, key)
        return self._found[place]
