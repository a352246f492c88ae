"""Which feature gates are on: a function of the version and of the two lists in the KubeVirt object.

As `IsEnabled` in `pkg/virt-config/featuregate/feature-gates.go` of kubevirt/kubevirt, and what was in its place before
v1.9.0-beta.0. Names are case-sensitive. What a few gates need beside that is in `configuration`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from ...facts.versions import Version, begins_like, parse
from ...store.kinds.kube_virt import KubeVirt
from .gate_table import PRE_RELEASES, STATES

STAGES = {"A": "Alpha", "B": "Beta", "GA": "GA", "DEP": "Deprecated", "DISC": "Discontinued", "U": "Alpha"}
"""The words for states; one that has none is as good as Alpha."""

_DISABLING = Version(1, 9, 0, 1, 0)  # v1.9.0-beta.0: from here on Beta is on, and a gate can be disabled
_DISCONTINUING = (1, 2)  # up to here a gate that is discontinued was off although listed
_LIKE = 0.7
_LONGEST = 64  # characters of a name that are compared with others


def _columns() -> dict[tuple[int, int], dict[str, str]]:
    rows = [line.split() for line in STATES.split("\n") if line]
    releases = [parse(f"{release}.0") for release in rows[0][1:]]
    return {
        version.release: {row[0]: row[place + 1] for row in rows[1:]}
        for place, version in enumerate(releases)
        if version is not None
    }


_COLUMNS = _columns()
_PRE_RELEASES = {tag: each for each in map(parse, PRE_RELEASES) if each is not None for tag in (each.tag,)}
NEWEST = max(_COLUMNS)
"""The newest release whose gates are known, from a commit before it."""
NAMES = frozenset(_COLUMNS[NEWEST])
"""Of every gate that any release has."""


def next_release(version: Version) -> tuple[int, int] | None:
    """The release after that of a version; None where none is known."""
    return min((release for release in _COLUMNS if release > version.release), default=None)


@lru_cache(maxsize=32)
def states_of(version: Version) -> Mapping[str, str]:
    """The state of every gate that any release has: a key of `STAGES`, or - for one that this release does not have.

    A release that is newer or older than all that are known has the states of the next one to it.
    """
    known = max((release for release in _COLUMNS if release <= version.release), default=min(_COLUMNS))
    states = dict(_COLUMNS[known])
    if known == version.release and version.patch == 0:
        before = [(each, tag) for tag, each in _PRE_RELEASES.items() if each.release == known and each <= version]
        tag = max(before)[1] if before and not _released(version) else ""
        for state, names in PRE_RELEASES.get(tag, {}).items():
            states |= dict.fromkeys(names.split(), state)
    return states


def _released(version: Version) -> bool:
    return version >= Version(version.major, version.minor, version.patch)


class Gates(Struct, frozen=True, gc=False):
    """The feature gates of one version with `featureGates` and `disabledFeatureGates` as they are written."""

    version: Version
    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()

    @property
    def newer(self) -> bool:
        """Whether the version is newer than all releases whose gates are known for sure."""
        return self.version.release >= NEWEST

    @property
    def names(self) -> tuple[str, ...]:
        """Those that the version knows, sorted."""
        return tuple(sorted(name for name, state in states_of(self.version).items() if state != "-"))

    @property
    def disabling(self) -> bool:
        """Whether Beta is on in this version, and `disabledFeatureGates` has an effect."""
        return self.version >= _DISABLING

    def state(self, gate: str) -> str:
        return states_of(self.version).get(gate, "-")

    def stage(self, gate: str) -> str:
        """Alpha, Beta, GA, Deprecated or Discontinued; empty for a gate that the version does not know."""
        return STAGES.get(self.state(gate), "")

    def known(self, gate: str) -> bool:
        return self.state(gate) != "-"

    def on(self, gate: str) -> bool:
        return self.source(gate) in ("always", "listed", "default")

    def source(self, gate: str) -> str:
        """Why it is on: always, listed or default. Why it is off: disabled, or off."""
        state = self.state(gate)
        if state == "GA":
            return "always"
        if not self.disabling:
            discontinued = state == "DISC" and self.version.release <= _DISCONTINUING
            return "listed" if gate in self.enabled and not discontinued else "off"
        if state != "-" and gate in self.enabled:
            return "listed"
        if state == "B":
            return "disabled" if gate in self.disabled else "default"
        return "off"

    def off(self, gate: str) -> str:
        """That a gate is off, in words: with the unknown name that stands in its place, where one is like it."""
        written = self.written(gate)
        return f"feature gate {gate} is off" + (f': featureGates has the unknown name "{written}"' if written else "")

    def written(self, gate: str) -> str:
        """The unknown name in `featureGates` that is like a gate; empty where that is listed, or nothing is like it."""
        return _written(self, gate)[:_LONGEST]

    def nearest(self, gate: str) -> str:
        """The gate of this version whose name is most like it; empty where none is."""
        names = {name.lower(): name for name in self.names}
        word = gate[:_LONGEST].strip().lower()
        return next((names[each] for each in difflib.get_close_matches(word, names, 1, _LIKE)), "")


@lru_cache(maxsize=256)
def _written(gates: Gates, gate: str) -> str:
    unknown = (each for each in gates.enabled if not gates.known(each))
    return next((each for each in unknown if gates.nearest(each) == gate), "") if gate not in gates.enabled else ""


# By which release of upstream an installation is understood; else why nobody knows, and what to set.

ASSUME = "assumeUpstreamVersion"
"""The setting of the exporter with which a version that is none of upstream is taken for one."""

OLDEST = Version(0, 59)
"""The first release whose gates are known."""

_KNOWN_SINCE = f"which is older than {OLDEST}, the first whose feature gates are known"


def version_of(kubevirt: KubeVirt, version: str | None = None) -> Version | str:
    """Of an object, or of another version that it would have. A sentence where nobody knows."""
    text = kubevirt.upstream if version is None else version
    if not text:
        return f"{kubevirt.ref} has no version in its status yet"
    known = parse(text)
    if known is None or not (known.release <= NEWEST or begins_like(text)):
        return (
            f'{kubevirt.ref} is of version "{text[:60]}", which is not an upstream release; {_advice(kubevirt, text)}'
        )
    if known < OLDEST:
        return f"{kubevirt.ref} is of {known}, {_KNOWN_SINCE}"
    if known.release > NEWEST:
        newest = ".".join(map(str, NEWEST))
        return (
            f"{kubevirt.ref} is of {known}, and the feature gates of nothing newer than {newest} are known; "
            f"{ASSUME}: v{newest}.0 has it evaluated as that"
        )
    if known.between:
        return (
            f"{kubevirt.ref} is of {known}, whose feature gates are in no release; to have it evaluated as the tag "
            f"before it, set {ASSUME}: {known.tag}"
        )
    return known


def _advice(kubevirt: KubeVirt, text: str) -> str:
    """What to set for a version that is none of upstream."""
    like, made = begins_like(text), parse(kubevirt.built)
    if like is not None and made is not None and like.release != made.release:
        return f"its virt-operator was built of {made}; if all of it was, set {ASSUME}: {made.tag}"
    if like is None or like.release > NEWEST:
        return f"set {ASSUME} to the release that it is built of, such as v1.8.4"
    if like < OLDEST:
        return f"it may be built of {like.tag}, {_KNOWN_SINCE}"
    return f"if it is built of {like.tag}, set {ASSUME}: {like.tag}"
