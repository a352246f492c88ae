"""The NADs that VMs refer to, and those of a network. Of one there may be thousands, and as many who ask."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from ...findings.check import View
from ...store.indexes.networks import NAD, REFERENCE, primary
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition, ruling


class NadsOfNetwork(NamedTuple):
    """The NADs of one network, in any namespace, by name; and by `namespace/name`, as pods refer to them."""

    nads: tuple[NetworkAttachmentDefinition, ...]
    keys: frozenset[str]
    namespaces: frozenset[str]
    effective: tuple[NetworkAttachmentDefinition, ...]  # those that allow persistent IPs
    primary: frozenset[str]  # the effective ones by their role
    secondary: frozenset[str]
    ruler: NetworkAttachmentDefinition | None  # the one of the effective whose pool the network most likely has


def nads_of(view: View, network: str) -> NadsOfNetwork:
    """Found out once for all who ask, until one of them changes."""
    return view.derived(NAD, network, partial(_nads_of, view, network), (NetworkAttachmentDefinition,))


def _nads_of(view: View, network: str) -> NadsOfNetwork:
    found = view.members(NAD, network, NetworkAttachmentDefinition) if network else []
    nads = tuple(sorted(found, key=lambda each: (each.namespace, each.name)))
    effective = tuple(each for each in nads if each.effective)
    return NadsOfNetwork(
        nads,
        frozenset([_key(each) for each in nads]),
        frozenset([each.namespace for each in nads]),
        effective,
        frozenset([_key(each) for each in effective if each.role == "primary"]),
        frozenset([_key(each) for each in effective if each.role != "primary"]),
        effective[0] if len(effective) == 1 else ruling(effective),
    )


def _key(nad: NetworkAttachmentDefinition) -> str:
    return f"{nad.namespace}/{nad.name}"


def referred_to(view: View, namespace: str, key: str) -> NetworkAttachmentDefinition | None:
    """The NAD that a VM refers to by `namespace/name`; by empty text, its namespace's primary one.

    Of several primary ones, which is a finding of its own, the first by name.
    """
    key = key or primary(namespace)
    return view.derived(REFERENCE, key, partial(_first, view, key), (NetworkAttachmentDefinition,))


def _first(view: View, key: str) -> NetworkAttachmentDefinition | None:
    return min(view.members(REFERENCE, key, NetworkAttachmentDefinition), key=lambda each: each.name, default=None)


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
