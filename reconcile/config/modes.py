"""Which mode holds where. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ..plan.remediation import Remediation
from .settings import Mode, SidecarConfig

_ORDER = (Mode.OFF, Mode.PLAN, Mode.SHADOW, Mode.APPROVE, Mode.AUTO)


def mode_of(
    config: SidecarConfig, remediation_id: str, namespace: str, labels: Mapping[str, str] | None = MappingProxyType({})
) -> Mode:
    """The namespace's mode before that by its labels before the remediation's before that of all.

    Where the `labels` are not known, None, it is the one that allows the most: a gate is closed then.
    """
    own = config.of(remediation_id)
    named, rest = own.namespaces.get(namespace), own.mode or config.mode
    if named or not config.by_labels(remediation_id, namespace):
        return Mode(named or rest)
    if labels is None:
        possible = [Mode(rest), *(Mode(each.mode) for each in own.namespace_selectors if each.mode)]
        return max(possible, key=_ORDER.index)
    found = [Mode(each.mode) for each in own.namespace_selectors if each.mode and each.matches(labels)]
    return min(found, key=_ORDER.index) if found else Mode(rest)


def is_stricter(mode: Mode, than: Mode) -> bool:
    """Whether less is done by itself in one configured mode than in another."""
    return _ORDER.index(mode) < _ORDER.index(than)


def modes_of(config: SidecarConfig, remediation_id: str) -> set[Mode]:
    """All that it has anywhere."""
    own = config.of(remediation_id)
    selected = (Mode(each.mode) for each in own.namespace_selectors if each.mode)
    return {mode_of(config, remediation_id, ""), *map(Mode, own.namespaces.values()), *selected}


def may_write(config: SidecarConfig, remediations: Iterable[Remediation]) -> bool:
    """Whether any remediation is carried out anywhere, unasked or when approved."""
    return bool(_modes(config, remediations) & {Mode.APPROVE, Mode.AUTO})


def shadows(config: SidecarConfig, remediations: Iterable[Remediation]) -> bool:
    """Whether any remediation is in mode `shadow` anywhere."""
    return Mode.SHADOW in _modes(config, remediations)


def _modes(config: SidecarConfig, remediations: Iterable[Remediation]) -> set[Mode]:
    return {mode for each in remediations if not each.proposes_only for mode in modes_of(config, each.id)}
