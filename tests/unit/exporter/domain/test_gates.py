"""Feature gates: their states per release, and what is on by version and by the two lists."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from exporter.domain.features.gates import PRE_RELEASES, STAGES, Gates, states_of
from exporter.facts.versions import Upstream, Version, begins_like, number_of, parse, upstream_of

_SECOND = Path(__file__).with_name("gate_states.csv")


def version(text: str) -> Version:
    found = parse(text)
    assert found is not None, text
    return found


def gates(of: str, *enabled: str, disabled: tuple[str, ...] = ()) -> Gates:
    return Gates(version(of), enabled, disabled)


NAMES = sorted(states_of(version("v1.9.0")))
DISABLING = ("v1.9.0-beta.0", "v1.9.0-rc.0", "v1.9.0-rc.2", "v1.9.0", "v1.9.3", "v1.10.0", "v2.0.0")
LISTING = ("v1.3.0", "v1.4.1", "v1.5.3", "v1.6.6", "v1.7.4", "v1.8.4", "v1.9.0-alpha.0")
LISTS = some.lists(some.sampled_from([*NAMES, "downwardmetrics", "NoSuchGate", ""]), max_size=6).map(tuple)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("v1.9.0", "v1.9.0"),
        ("1.8.4", "v1.8.4"),
        ("v1.9.0-rc.2", "v1.9.0-rc.2"),
        ("v1.9.0-beta.0.1264+d923fdb8150000", "v1.9.0-beta.0"),
        ("v1.9.0-beta.0-1264-gd923fdb815", "v1.9.0-beta.0"),
        ("v1.8.1-12+84c76d1142ea4d-dirty", "v1.8.1"),
    ],
)
def test_versions_of_upstream_builds_are_read(text: str, tag: str) -> None:
    assert version(text).tag == tag


OPENSHIFTS = {
    "4.8.7": "v0.41.0",
    "4.12.15": "v0.58.0",
    "4.13.11": "v0.59.0",
    "v4.14.0": "v1.0.0",
    "v4.16.7": "v1.2.0",
    "4.18.11": "v1.4.0",
    "v4.20.3-12": "v1.6.0",
    "v4.21.0.rhel9-87": "v1.7.0",
    "4.22.0": "v1.8.0",
}


@pytest.mark.parametrize(
    ("text", "built", "version"),
    [
        ("1.7.0-150700.3.16.2", "", "v1.7.0"),  # SLE 15 SP7
        ("1.6.3-150700.15.3.1", "v1.6.0", "v1.6.3"),  # Harvester
        ("1.1.0-150500.8.6.1", "", "v1.1.0"),
        ("1.8.4", "", "1.8.4"),
        ("v1.9.0-rc.2", "v1.8.0", "v1.9.0-rc.2"),
        ("v1.3.1-78-gb3a54913fd", "", "v1.3.1-78-gb3a54913fd"),
        ("v4.18.13", "v1.4.1-75-gb3a54913fd", "v1.4.1-75-gb3a54913fd"),
        ("sha256:8a5ef6a5d4", "v1.5.3-4-gb3a54913fd", "v1.5.3-4-gb3a54913fd"),
        ("latest", "v1.6.6", "v1.6.6"),
        ("devel", "v1.9.0-beta.0.1264+d923fdb8150000", "v1.9.0-beta.0.1264+d923fdb8150000"),
        ("v1.2.0-h3", "v1.2.0-dirty", "v1.2.0-dirty"),
    ],
)
def test_a_build_counts_as_the_release_that_it_or_its_operator_is_of(text: str, built: str, version: str) -> None:
    assert upstream_of(text, built) == Upstream(version)


@pytest.mark.parametrize("text", OPENSHIFTS)
def test_openshifts_number_says_the_release_and_not_its_patch(text: str) -> None:
    assert upstream_of(text, openshift=True) == Upstream(OPENSHIFTS[text], patch=False)
    assert upstream_of(text) == Upstream()  # another distributor's number
    assert upstream_of(text, "v1.9.0", openshift=True) == Upstream()


@pytest.mark.parametrize(
    ("text", "built"),
    [
        ("1.7.0-1507.3", ""),
        ("1.7.0-150700", ""),
        ("1.7.0-250700.1.1", ""),
        ("v4.19.0-rhel9", ""),
        ("1.7-150700.3.1", ""),
        ("v1.2.0-h3", "v1.6.6"),  # its operator alone was replaced
        ("v1.2.0-h3", "v0.0.0-master+$Format:%h$"),
        ("v1.2.0-h3", "v0.0.0"),
        ("devel", ""),
        ("20261124_d923fdb815", ""),
        ("", ""),
        ("9" * 200, "v1.9.0"),
    ],
)
def test_other_builds_count_as_none(text: str, built: str) -> None:
    assert upstream_of(text, built) == Upstream()


def test_the_number_of_a_version() -> None:
    assert number_of("v1.34.2+k3s1") == (1, 34)
    assert number_of("v1.8.4-1766.el9") == (1, 8)
    assert number_of("v4.19.1") == (0, 0)  # no number of upstream's
    assert number_of("devel") == (0, 0)


def test_what_a_text_begins_with_is_only_alike() -> None:
    found = begins_like("v1.8.4-1766.el9")
    assert found is not None
    assert found.tag == "v1.8.4"
    assert begins_like("enterprise-1.8.4") is None
    assert begins_like("1.8") is None
    assert begins_like("4.18.3-el9") is None


@pytest.mark.parametrize(
    "text",
    ["", "v1.9", "1.9.0.1", "v1.8.4-1766.el9", "v4.19.0-rhel9", "devel", "v1.9.0-", "١.٩.٠", " v1.9.0", "v" * 200],
)
def test_other_texts_are_no_versions(text: str) -> None:
    assert parse(text) is None


def test_versions_are_ordered_as_the_tags_are() -> None:
    texts = ["v1.8.4", "v1.9.0-alpha.0", "v1.9.0-beta.0", "v1.9.0-beta.0.3+d923fdb815", "v1.9.0-rc.0", "v1.9.0-rc.2"]
    found = [version(text) for text in (*texts, "v1.9.0", "v1.9.1", "v1.10.0")]

    assert found == sorted(found)
    assert [each.between for each in found[:5]] == [False, False, False, True, False]


@pytest.mark.parametrize(
    ("text", "between"),
    [
        ("v1.4.0-alpha.0-120-gb3a54913fd", True),
        ("v1.4.0-rc.0-300-gb3a54913fd", True),  # main went on after that tag
        ("v1.4.0-rc.0", False),
        ("v1.5.0-rc.0-3-gb3a54913fd", False),  # on its release branch
        ("v1.3.1-78-gb3a54913fd", False),
    ],
)
def test_what_may_be_of_the_development_branch_is_of_no_release(text: str, between: bool) -> None:
    assert version(text).between == between


def test_two_transcriptions_of_the_table_are_the_same() -> None:
    with _SECOND.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    releases = {column: version(column if "-" in column else f"{column}.0") for column in rows[0] if column != "gate"}

    for column, release in releases.items():
        theirs = {row["gate"]: row[column] for row in rows if row[column] != "-"}
        ours = {gate: state for gate, state in states_of(release).items() if state != "-"}
        assert ours == theirs, column


def test_every_state_has_a_word() -> None:
    for text in (*LISTING, *DISABLING, *PRE_RELEASES, "v0.59.0", "v1.0.0", "v1.1.0", "v1.2.0"):
        assert set(states_of(version(text)).values()) <= {*STAGES, "-"}


def test_pre_releases_have_the_table_of_their_own() -> None:
    assert gates("v1.9.0-beta.0").state("RebootPolicy") == "A"
    assert gates("v1.9.0-beta.0").state("PanicDevices") == "GA"
    assert gates("v1.9.0-rc.0").state("GPUsWithDRA") == "A"
    assert gates("v1.9.0-rc.0").state("RebootPolicy") == "B"
    for text in ("v1.9.0-rc.1", "v1.9.0-rc.2", "v1.9.0-rc.7", "v1.9.4"):
        assert states_of(version(text)) == states_of(version("v1.9.0"))
    assert states_of(version("v1.9.0-beta.3")) == states_of(version("v1.9.0-beta.0"))


def test_a_release_that_is_not_known_yet_has_the_newest_table() -> None:
    for text in ("v1.10.0-alpha.0", "v1.10.0", "v1.11.2", "v2.0.0"):
        assert gates(text).newer
        assert gates(text).state("LibvirtHooksServerAndClient") == "GA"
    assert not gates("v1.9.9").newer


def test_beta_is_off_up_to_1_8_and_on_from_1_9() -> None:
    for gate in ("Snapshot", "KubevirtSeccompProfile", "ImageVolume"):
        assert (gates("v1.8.4").source(gate), gates("v1.9.0").source(gate)) == ("off", "default")
    assert not gates("v1.9.0-alpha.0").on("Snapshot")
    assert gates("v1.9.0-beta.0").on("Snapshot")


@given(some.sampled_from(DISABLING), some.sampled_from(NAMES), LISTS, LISTS)
def test_from_1_9_ga_beats_enabled_beats_disabled_beats_beta(
    of: str, gate: str, enabled: tuple[str, ...], disabled: tuple[str, ...]
) -> None:
    given_ = gates(of, *enabled, disabled=disabled)
    state = given_.state(gate)
    expected = {state == "GA": "always"}.get(True) or (
        "off"
        if state == "-"
        else "listed"
        if gate in enabled
        else "off"
        if state != "B"
        else "disabled"
        if gate in disabled
        else "default"
    )

    assert given_.source(gate) == expected
    assert given_.on(gate) == (expected in ("always", "listed", "default"))


@given(some.sampled_from(LISTING), some.sampled_from([*NAMES, "NoSuchGate"]), LISTS, LISTS)
def test_up_to_1_8_a_gate_is_on_if_listed_or_ga_and_none_can_be_disabled(
    of: str, gate: str, enabled: tuple[str, ...], disabled: tuple[str, ...]
) -> None:
    with_both, without = gates(of, *enabled, disabled=disabled), gates(of, *enabled)

    assert with_both.on(gate) == without.on(gate) == (with_both.state(gate) == "GA" or gate in enabled)


@given(some.sampled_from(DISABLING), some.text(max_size=30))
def test_from_1_9_an_unknown_name_is_inert(of: str, name: str) -> None:
    given_ = gates(of, name)

    assert given_.on(name) == given_.known(name)


@pytest.mark.parametrize(
    ("of", "gate", "on"),
    [
        ("v1.2.2", "Macvtap", True),  # deprecated
        ("v1.3.0", "Macvtap", True),  # discontinued, but nobody asks any more
        ("v1.1.0", "CPUNodeDiscovery", True),
        ("v1.0.0", "NonRootExperimental", True),
        ("v1.2.0", "DownwardMetrics", True),
    ],
)
def test_older_releases(of: str, gate: str, on: bool) -> None:
    assert gates(of, "Macvtap", "DownwardMetrics").on(gate) == on


def test_names_are_case_sensitive_and_the_nearest_is_found() -> None:
    found = gates("v1.9.0", "downwardmetrics", " HostDisk")

    assert not found.on("DownwardMetrics")
    assert not found.on("HostDisk")
    assert found.nearest("downwardmetrics") == "DownwardMetrics"
    assert found.nearest("HotPlugVolume") == "HotplugVolumes"
    assert found.nearest("Frobnication" * 1000) == ""
