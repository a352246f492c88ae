"""The changelog has the form that tools and people expect, and what is deprecated says so."""

from __future__ import annotations

import re
from itertools import pairwise

from packaging.version import Version

from exporter.checks import all_checks
from exporter.counts import all_states
from release.locks import pyproject
from tests.all_of import each_of
from tests.shared import REPO

SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]  # of Keep a Changelog
RELEASE = re.compile(r"(\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})")


def mistakes(changelog: str, version: str) -> list[str]:
    """What a changelog of this version of the product has wrong."""
    releases = [part.split("\n", 1) for part in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]]
    found = [] if releases and releases[0][0] == "Unreleased" else ["the first section is not Unreleased"]
    dated = [(heading, RELEASE.fullmatch(heading)) for heading, _ in releases[1:]]
    found += [f"{heading} is no version with a day" for heading, match in dated if match is None]
    days = [(Version(match[1]), match[2]) for _, match in dated if match]
    found += [f"{later[0]} is above {earlier[0]}" for earlier, later in pairwise(days) if earlier <= later]
    if days and days[0][0] != Version(version):
        found.append(f"the newest release is {days[0][0]}, the project's version is {version}")
    for heading, text in releases:
        before, *sections = re.split(r"^### ", text, flags=re.MULTILINE)
        names = [section.split("\n", 1)[0] for section in sections]
        if before.strip() or [name for name in SECTIONS if name in names] != names:
            found.append(f"{heading} has other sections than {', '.join(SECTIONS)}, in this order")
        found += [f"{heading} has an empty section" for section in sections if "\n- " not in section]
    return found


def test_the_changelog_has_its_form() -> None:
    text = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    assert mistakes(text, pyproject()["project"]["version"]) == []


@each_of(
    ("changelog", "mistake"),
    [
        ("# Changelog\n\n## 1.0.0 - 2026-01-31\n\n### Added\n- a\n", "the first section is not Unreleased"),
        ("## Unreleased\n\n## 1.0.0\n", "1.0.0 is no version with a day"),
        ("## Unreleased\n\n## 0.9.0 - 2026-01-01\n\n## 1.0.0 - 2026-01-31\n", "1.0.0 is above 0.9.0"),
        ("## Unreleased\n\n## 1.1.0 - 2026-01-01\n", "the newest release is 1.1.0, the project's version is 1.0.0"),
        ("## Unreleased\n\n### New\n- a\n", "Unreleased has other sections"),
        ("## Unreleased\n\n### Fixed\n- a\n\n### Added\n- b\n", "Unreleased has other sections"),
        ("## Unreleased\n\n- a\n", "Unreleased has other sections"),
        ("## Unreleased\n\n### Added\n\n### Fixed\n- a\n", "Unreleased has an empty section"),
    ],
)
def test_what_is_wrong_with_a_changelog_is_named(changelog: str, mistake: str) -> None:
    assert any(each.startswith(mistake) for each in mistakes(changelog, "1.0.0"))


def families() -> list[tuple[str, str, str]]:
    """Name, help and stability of every family."""
    of_checks = {reason.family for check in all_checks() for reason in check.reasons.values()}
    of_states = {gauge for state in all_states() for gauge in state.gauges}
    found = {(each.name, each.help, each.stability) for each in of_checks}
    return sorted(found | {(each.name, each.help, each.stability) for each in of_states})


def test_a_deprecated_metric_says_since_when_and_no_other_does() -> None:
    for name, text, stability in families():
        assert stability in ("experimental", "stable", "deprecated"), name
        assert (stability == "deprecated") is bool(re.match(r"Deprecated since \d+\.\d+: ", text)), name


def test_every_python_that_is_promised_is_tested() -> None:
    makefile = (REPO / "Makefile").read_text(encoding="utf-8")
    tested = next(line for line in makefile.splitlines() if line.startswith("PYTHONS ?= ")).split()[2:]
    minor = r"Programming Language :: Python :: (3\.\d+)"
    promised = [match[1] for each in pyproject()["project"]["classifiers"] if (match := re.fullmatch(minor, each))]
    assert tested == promised
    assert pyproject()["project"]["requires-python"] == f">={promised[0]}"
    assert f"| Python | {promised[0]} to {promised[-1]};" in (REPO / "docs/stability.md").read_text(encoding="utf-8")
