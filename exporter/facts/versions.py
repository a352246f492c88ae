"""Versions of KubeVirt as its builds write them: of a release, of a pre-release, and of what lies between two.

`hack/version.sh` of kubevirt/kubevirt makes them from the tags: v1.9.0, v1.9.0-rc.1, v1.9.0-beta.0.123+84c76d1142ea4d.
Builds from a clone that is packaged otherwise have what `git describe` prints: v1.4.1-75-gb3a54913fd.

A KubeVirt object says of which version it is in the tag of virt-operator's image, or where that has a digest in the
variable KUBEVIRT_VERSION (pkg/virt-operator/util/config.go): what a distributor likes, or "latest". What its operator
was built of, as above, it says too.

SUSE, and Harvester with it, builds releases anew and appends the number of its package: 1.7.0-150700.3.16.2, where
150700 is SLE 15 SP7 (the tags of its virt-operator images).

OpenShift Virtualization has the number of its OpenShift, and is made of the release branch of the HyperConverged
Cluster Operator that names the release of KubeVirt in hack/config, beside the console plugin of that OpenShift:
release-1.8 KubeVirt 0.58 and 4.12, release-1.10 1.0 and 4.14, and so on to release-1.18, 1.8 and 4.22.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

_STAGES = ("alpha", "beta", "rc", "")  # of a tag, in their order; the last is the release
FORM = r"v?([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})(?:-(alpha|beta|rc)\.([0-9]{1,6}))?"
"""The regular expression of a tag."""

_REBUILT = re.compile(r"(v?[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6})-1[5-9][0-9]{4}(?:\.[0-9]{1,6}){1,5}")
_BEGINNING = re.compile(r"v?[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6}(?![0-9])")
_BUILD = re.compile(FORM + r"(?:[-.]([0-9]{1,6})(?:\+|-g)[0-9a-f]{7,40})?(?:-dirty)?")
_OPENSHIFT = re.compile(r"v?4\.([0-9]{1,3})\.[0-9]{1,6}(?:[-.][0-9a-z.-]{1,64})?")
_OPENSHIFTS = {8: 41, 9: 44, 10: 49, 11: 53, 12: 58, 13: 59}  # 4.x and 0.x; from 4.14 on, which is 1.0, without gaps
_LAST_OPENSHIFT = 22
_LAST_MAJOR = 2  # KubeVirt's own numbers are at 1; what is above are others' numbers
_FROM_RC = {(0, 59), (1, 1), (1, 2), (1, 4)}  # their branches begin at an rc, and main goes on after it


class Version(Struct, frozen=True, gc=False, order=True):
    """Ordered as the tags are; `stage` counts alpha, beta, rc and release from 0, `commits` are those since the tag."""

    major: int
    minor: int
    patch: int = 0
    stage: int = len(_STAGES) - 1
    number: int = 0
    commits: int = 0

    @property
    def release(self) -> tuple[int, int]:
        return self.major, self.minor

    @property
    def tag(self) -> str:
        """Its tag, or the last one before it, as v1.9.0-rc.0."""
        before = f"-{_STAGES[self.stage]}.{self.number}" if _STAGES[self.stage] else ""
        return f"v{self.major}.{self.minor}.{self.patch}{before}"

    @property
    def between(self) -> bool:
        """Whether it was built between two tags of the development branch, so that the version does not say of what.

        Tags of releases are on release branches alone, where no gate changes, and so are most release candidates.
        """
        on_main = _STAGES[self.stage] in ("alpha", "beta") or (self.stage == 2 and self.release in _FROM_RC)
        return self.commits > 0 and on_main

    def __str__(self) -> str:
        return f"{self.tag} and {self.commits} commits" if self.commits else self.tag


@lru_cache(maxsize=256)
def parse(text: str) -> Version | None:
    """None for a text that is not the version of an upstream build."""
    found = _BUILD.fullmatch(text) if len(text) <= 128 else None
    if found is None:
        return None
    major, minor, patch, number, commits = (int(found[place] or 0) for place in (1, 2, 3, 5, 6))
    return Version(major, minor, patch, _STAGES.index(found[4] or ""), number, commits)


class Upstream(Struct, frozen=True, gc=False):
    """As which version of upstream a build counts: a text that `parse` reads, or empty where nobody knows."""

    version: str = ""
    patch: bool = True  # whether its patch is known, or only the release


def upstream_of(text: str, built: str = "", *, openshift: bool = False) -> Upstream:
    """Of a build whose version is `text`, by an operator that was built of `built`.

    Nothing is known where the two contradict each other.
    """
    if len(text) > 128:
        return Upstream()
    own = parse(text)
    if rebuilt := _REBUILT.fullmatch(text):
        return Upstream(f"v{rebuilt[1].removeprefix('v')}")
    if own is not None and own.major <= _LAST_MAJOR:
        return Upstream(text)
    release = _of_openshift(text) if openshift else None
    like = release or begins_like(text)
    made = parse(built)
    if made is not None and sum(made.release) > 0 and made.major <= _LAST_MAJOR:
        return Upstream(built) if like is None or like.release == made.release else Upstream()
    return Upstream(release.tag, patch=False) if release is not None else Upstream()


def _of_openshift(text: str) -> Version | None:
    named = _OPENSHIFT.fullmatch(text)
    number = int(named[1]) if named else 0
    if number in _OPENSHIFTS:
        return Version(0, _OPENSHIFTS[number])
    return Version(1, number - 14) if max(_OPENSHIFTS) < number <= _LAST_OPENSHIFT else None


def begins_like(text: str) -> Version | None:
    """The release whose number a text begins with: perhaps what was built, and nothing to rely on."""
    beginning = _BEGINNING.match(text)
    found = parse(beginning[0]) if beginning else None
    return found if found is not None and found.major <= _LAST_MAJOR else None


def number_of(text: str) -> tuple[int, int]:
    """Major and minor of the version that a text begins with; (0, 0) of one that is no number of upstream's."""
    found = re.match(r"v?([0-9]{1,6})\.([0-9]{1,6})", text)
    major, minor = (int(found[1]), int(found[2])) if found else (0, 0)
    return (major, minor) if major <= _LAST_MAJOR else (0, 0)
