"""By which release of upstream an installation is understood; else why nobody knows, and what to set."""

from __future__ import annotations

from ...store.kinds.kube_virt import KubeVirt
from .gates import NEWEST
from .versions import Version, begins_like, parse

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
        return f'{kubevirt.ref} is of version "{text[:60]}", which is none of upstream; {_advice(kubevirt, text)}'
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
