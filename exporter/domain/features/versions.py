"""Versions of KubeVirt as its builds write them: of a release, of a pre-release, and of what lies between two.

`hack/version.sh` of kubevirt/kubevirt makes them from the tags: v1.9.0, v1.9.0-rc.1, v1.9.0-beta.0.123+84c76d1142ea4d.
SUSE, and Harvester with it, builds releases anew and appends the number of its package: 1.7.0-150700.3.16.2, where
150700 is SLE 15 SP7 (the tags of its virt-operator images).
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

__all__ = ["FORM", "Version", "begins_like", "parse", "release_of"]

_STAGES = ("alpha", "beta", "rc", "")  # of a tag, in their order; the last is the release
FORM = r"v?([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})(?:-(alpha|beta|rc)\.([0-9]{1,6}))?"
"""The regular expression of a tag."""

_REBUILT = re.compile(r"(v?[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6})-1[5-9][0-9]{4}(?:\.[0-9]{1,6}){1,5}")
_BEGINNING = re.compile(r"v?[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6}(?![0-9])")
_BUILD = re.compile(FORM + r"(?:[-.]([0-9]{1,6})(?:\+|-g)[0-9a-f]{7,40})?(?:-dirty)?")


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

        Release branches begin with the first rc, and after that no gate changes.
        """
        return self.commits > 0 and _STAGES[self.stage] in ("alpha", "beta")

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


def release_of(text: str) -> Version | None:
    """As `parse`; of a release that a distributor built anew, that release."""
    rebuilt = _REBUILT.fullmatch(text) if len(text) <= 128 else None
    return parse(rebuilt[1]) if rebuilt else parse(text)


def begins_like(text: str) -> Version | None:
    """The release whose number a text begins with: perhaps what was built, and nothing to rely on."""
    beginning = _BEGINNING.match(text)
    return parse(beginning[0]) if beginning else None
