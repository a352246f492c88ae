"""Scenes of fleets: what is a storm of a namespace, what one of all, what is a backlog, and what a restart changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from exporter.facts.record import Ref
from reconcile.carry_out.loop import in_turn
from reconcile.carry_out.permission import Candidate
from reconcile.config.settings import Mode, SidecarConfig
from reconcile.decide.gates import Situation, blocked
from reconcile.decide.repair import Found, Hint
from reconcile.decide.storms import KNOWN, Open, Sizes, Storm, Storms, StormState
from reconcile.ledger.history import History

from ....repairs import NOW, REPAIR, ask, config, situation, written

__all__ = ["MINUTE", "Scene"]

# A fleet in which findings open and close, and the sidecar's own counting of it: what it would let through, and why.
#
# Everything is pure: runs follow each other by a clock that the scene moves, and what travels with the Lease is a dict.

MINUTE = 60.0
_GATES = ("storm", "budget_run", "budget_hour", "budget_namespace", "budget_fleet")


@dataclass
class Scene:
    """`vms` are their numbers by namespace; None where they can't be counted."""

    vms: dict[str, int] | None
    settings: dict[str, Any] = field(default_factory=dict)
    now: float = NOW
    open: dict[str, Open] = field(default_factory=dict)
    held_up: set[str] = field(default_factory=set)  # proposals, refused, waiting for approval
    lease: dict[str, str] = field(default_factory=dict)
    resumed: dict[str, float] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    checks: set[str] = field(default_factory=lambda: {"firmware_vms", "eviction_pdbs", "ipam_claims"})
    ready: bool = True
    done: int = 0

    def __post_init__(self) -> None:
        self.config: SidecarConfig = config(**self.settings)
        self.history = History()
        self.storms = Storms(self.lease)
        self._opened = 0

    # What happens.

    def appear(self, namespace: str, count: int, check: str = "firmware_vms", held_up: bool = False) -> list[str]:
        """New findings; their fingerprints."""
        found = [f"f{self._opened + at}" for at in range(count)]
        self._opened += count
        self.open |= {each: Open(each, namespace, check) for each in found}
        self.held_up |= set(found) if held_up else set()
        return found

    def vanish(self, fingerprints: list[str]) -> list[Open]:
        return [self.open.pop(each) for each in fingerprints]

    def restart(self) -> None:
        """Or another replica takes over."""
        self.storms = Storms(self.lease)

    def look(self, after: float = 0.5 * MINUTE) -> Scene:
        """A run that only looks."""
        self.now += after
        settings = self.config.storm
        if not self.ready:
            self.storms.unseen(self.now, settings)
        else:
            self.storms.take(list(self.open.values()), self.checks - self.unknown, self.now, settings)
            self.storms.next(self.writable, self.now, settings, self._sizes())
        self.lease |= self.storms.carried()
        return self

    def looks(self, minutes: float, every: float = MINUTE) -> Scene:
        for _ in range(round(minutes * MINUTE / every)):
            self.look(every)
        return self

    def run(self, after: float) -> Counter[str]:
        """A run that writes what the gates let through, in turn; the writes by namespace. What is written is gone."""
        self.look(after)
        self.history.forget(self.now)
        candidates = [_candidate(each) for each in self.open.values()]
        made: Counter[str] = Counter()
        writable = self.writable
        for candidate in in_turn(
            candidates,
            lambda each: each.found.hint.fingerprint in writable,
            self.history.written_by_namespace(self.now - 86_400),
        ):
            planned = sum(made.values())
            if planned == self.config.budgets.run:
                break
            found = candidate.found
            if found.hint.fingerprint not in writable or self.gates(found.namespace, found.vm, planned):
                continue
            self._write(found)
            made[found.namespace] += 1
        return made

    def _write(self, found: Found) -> None:
        self.done += 1
        target = Ref("VirtualMachine", found.namespace, found.vm, "u")
        for entry in written(self.done, self.now, "done", target=target, vm=found.vm):
            self.history.add(entry)
        del self.open[found.hint.fingerprint]

    # What is known of it.

    @property
    def writable(self) -> set[str]:
        return self.open.keys() - self.held_up

    def _sizes(self) -> Sizes:
        if self.vms is None:
            return Sizes(None, {}, self.resumed)
        rising = self.storms.rising(self.writable, self.config.storm)
        return Sizes(sum(self.vms.values()), {each: self.vms.get(each, 0) for each in rising}, self.resumed)

    def weather(self, namespace: str = "") -> str:
        """Of all, or of a namespace."""
        found = self.storms.namespaces.get(namespace, Storm()) if namespace else self.storms.fleet
        return found.state.value

    @property
    def stormy(self) -> set[str]:
        """The namespaces with a storm of their own."""
        return {name for name, storm in self.storms.namespaces.items() if storm.state is StormState.STORM}

    def gates(self, namespace: str, vm: str = "db", planned: int = 0) -> dict[str, str]:
        """Why nothing is written there, by the gate."""
        asked = replace(ask(vm=vm), namespace=namespace, mode=Mode.AUTO, planned=planned)
        found = blocked(asked, self._situation(namespace), self.config, reads=False)
        return {each.gate: each.why for each in found if each.gate in _GATES}

    def _situation(self, namespace: str) -> Situation:
        vms = self.vms
        return replace(
            situation(),
            now=self.now,
            history=self.history,
            storm=self.storms.fleet,
            storms=self.storms.namespaces,
            fleet=sum(vms.values()) if vms is not None else None,
            vms={namespace: vms.get(namespace, 0)} if vms is not None else {},
        )


def _candidate(each: Open) -> Candidate:
    subject = Ref("VirtualMachine", each.namespace, each.fingerprint, "u")
    hint = Hint(each.check, "NotPersisted", subject, each.fingerprint)
    return Candidate(Found(hint, "warning", "", each.fingerprint, NOW), REPAIR, Mode.AUTO)


SEVENTY_THREE = {"shop": 20, "bank": 20, "lab": 13, "web": 10, "db": 10}
THOUSAND = {f"team{at}": 20 for at in range(50)}
HOUR, DAY = 60 * MINUTE, 86_400.0


def test_a_quiet_fleet_has_no_storm() -> None:
    scene = Scene(SEVENTY_THREE).look()
    for at in range(48):
        scene.appear(list(SEVENTY_THREE)[at % 5], 1)
        scene.looks(15)
        assert (scene.weather(), scene.stormy) == ("normal", set())


def test_a_tenant_s_twelve_pdbs_stop_that_tenant_alone() -> None:
    scene = Scene(SEVENTY_THREE).look()
    scene.appear("lab", 12, "eviction_pdbs")
    scene.appear("shop", 1)
    scene.look()

    assert (scene.weather(), scene.stormy) == ("normal", {"lab"})
    assert scene.gates("shop") == {}
    assert scene.gates("lab") == {
        "storm": "there is a storm in namespace lab: 12 findings of eviction_pdbs are new in namespace lab with 13 VMs "
        "(within 15m); 10 are a storm. Find the common cause first. To repair these findings "
        "anyway: steward reconcile resume -n lab"
    }


def test_proposals_are_no_storm() -> None:
    scene = Scene(SEVENTY_THREE).look()
    for namespace in SEVENTY_THREE:
        scene.appear(namespace, 12, held_up=True)
    scene.look()
    assert (scene.weather(), scene.stormy) == ("normal", set())


def test_what_is_not_planned_yet_counts_until_it_turns_out_to_be_a_proposal() -> None:
    scene = Scene(SEVENTY_THREE).look()
    argo = scene.appear("shop", 12)
    scene.look()
    assert scene.stormy == {"shop"}
    scene.held_up |= set(argo)
    scene.look()
    assert scene.weather("shop") == "cooldown"
    scene.looks(16)
    assert scene.gates("shop") == {}


def test_findings_of_several_causes_are_no_storm() -> None:
    scene = Scene(SEVENTY_THREE).look()
    for check in ("firmware_vms", "eviction_pdbs", "ipam_claims"):
        scene.appear("shop", 9, check)
    scene.look()
    assert scene.gates("shop") == {}


def test_ten_thousand_vms_are_worked_off_at_the_pace_of_the_budgets() -> None:
    """Every VM of before KubeVirt 1.6 lacks a UUID: all 20 of an hour, in each hour in which there is a run."""
    vms = {f"team{at}": 100 for at in range(100)}
    scene = Scene(vms, {"budgets": {"run": 20}})
    for namespace in vms:
        scene.appear(namespace, 100)
    days = [sum((scene.run(4 * HOUR) for _ in range(6)), Counter()) for _ in range(2)]
    assert [sum(each.values()) for each in days] == [120, 120]
    assert all(max(each.values()) <= 2 for each in days)
    assert (scene.weather(), scene.stormy) == ("normal", set())


def test_of_a_small_fleet_one_in_twenty_vms_is_worked_off_a_day() -> None:
    vms = {f"team{at}": 20 for at in range(10)}
    scene = Scene(vms)
    for namespace in vms:
        scene.appear(namespace, 20)
    days = [sum((scene.run(HOUR) for _ in range(24)), Counter()) for _ in range(4)]
    assert [sum(each.values()) for each in days] == [10, 10, 10, 10]
    assert all(len(each) == 10 for each in days)  # every namespace has its turn on each day


def test_a_webhook_that_breaks_everything_is_a_storm_of_all() -> None:
    scene = Scene(THOUSAND).look()
    findings = [each for namespace in list(THOUSAND)[:30] for each in scene.appear(namespace, 8)]
    scene.look()

    assert (scene.weather(), scene.stormy) == ("storm", set())
    assert scene.gates("team49")["storm"] == (
        "there is a storm: 240 findings of firmware_vms are new in 30 namespaces of a fleet of 1000 VMs (counted as "
        "240, since one namespace counts for at most 20); 100 are a storm. Find the common cause first. To repair "
        "these findings anyway: steward reconcile resume"
    )
    scene.looks(120)  # it does not become a backlog by waiting for the window
    assert scene.weather() == "storm"
    scene.vanish(findings[20:])
    assert scene.look().weather() == "cooldown"
    assert scene.looks(14).gates("team49")["storm"].startswith("a storm ended: ")
    assert scene.looks(2).gates("team49") == {}


def test_a_storm_is_seen_although_it_comes_bit_by_bit() -> None:
    scene = Scene(THOUSAND).look()
    for at in range(12):
        for namespace in list(THOUSAND)[:10]:
            scene.appear(namespace, 1)
        scene.look(MINUTE)
        assert scene.weather() == ("storm" if at >= 9 else "normal")


@pytest.mark.parametrize(("namespaces", "weather"), [(1, "normal"), (4, "normal"), (5, "storm")])
def test_no_namespace_alone_stops_the_others(namespaces: int, weather: str) -> None:
    scene = Scene(THOUSAND).look()
    for namespace in list(THOUSAND)[:namespaces]:
        scene.appear(namespace, 5000)
    scene.look()
    assert (scene.weather(), len(scene.stormy)) == (weather, namespaces)


def test_where_tenants_have_many_namespaces_it_takes_more_of_them() -> None:
    scene = Scene(THOUSAND, {"storm": {"namespaces": 25}}).look()
    for namespace in list(THOUSAND)[:20]:
        scene.appear(namespace, 500)
    assert scene.look().weather() == "normal"


@pytest.mark.parametrize("before", [0, 8, 300])
def test_a_restart_is_no_rise(before: int) -> None:
    scene = Scene(THOUSAND).look()
    for namespace in THOUSAND:
        scene.appear(namespace, before, held_up=True)
    scene.looks(20)
    scene.held_up.clear()  # all could be written now
    for _ in range(3):
        scene.restart()
        scene.looks(2)
        assert (scene.weather(), scene.stormy) == ("normal", set())


def test_the_first_start_of_all_is_no_rise() -> None:
    scene = Scene(THOUSAND)
    for namespace in THOUSAND:
        scene.appear(namespace, 20)
    assert scene.look().weather() == "normal"


def test_a_storm_lasts_over_a_restart_and_is_seen_if_it_comes_in_one() -> None:
    scene = Scene(THOUSAND).look()
    scene.appear("team0", 15)
    scene.looks(30)
    scene.resumed = {"team0": scene.now}
    scene.looks(20)
    assert (scene.weather(), scene.stormy) == ("normal", set())

    for namespace in list(THOUSAND)[:20]:
        scene.appear(namespace, 10)
    scene.restart()
    scene.look()
    assert scene.weather() == "storm"
    assert len(scene.stormy) == 20

    began = scene.storms.fleet.since
    scene.restart()
    assert scene.weather() == "storm"
    scene.looks(60)
    assert (scene.weather(), scene.storms.fleet.since) == ("storm", int(began))


def test_a_cooldown_lasts_over_a_restart() -> None:
    scene = Scene(THOUSAND).look()
    found = scene.appear("team0", 15)
    scene.look()
    scene.vanish(found)
    scene.look()
    scene.restart()
    assert "nothing is written in namespace team0 until" in scene.look().gates("team0")["storm"]


def test_an_exporter_that_begins_anew_is_no_rise() -> None:
    scene = Scene(THOUSAND).look()
    for namespace in THOUSAND:
        scene.appear(namespace, 5)
    scene.looks(5)
    scene.resumed = {"": scene.now}
    scene.looks(5)
    there = dict(scene.open)
    scene.ready = False
    scene.open.clear()
    scene.looks(30)
    scene.ready = True
    for namespace in THOUSAND:  # check by check, and namespace by namespace
        scene.open |= {name: each for name, each in there.items() if each.namespace == namespace}
        scene.unknown = {"firmware_vms"} if namespace != "team49" else set()
        scene.look()
    assert (scene.weather(), scene.stormy) == ("normal", set())


def test_findings_that_flap_are_counted_once() -> None:
    scene = Scene(THOUSAND).look()
    flapping = [each for namespace in list(THOUSAND)[:20] for each in scene.appear(namespace, 8)]
    scene.looks(2)
    scene.resumed = {"": scene.now}
    scene.looks(2)
    for _ in range(20):
        gone = scene.vanish(flapping)
        scene.looks(5)
        scene.open |= {each.fingerprint: each for each in gone}
        scene.looks(5)
        assert (scene.weather(), scene.stormy) == ("normal", set())


def test_a_second_storm_of_the_same_objects_is_one() -> None:
    scene = Scene(THOUSAND).look()
    found = [each for namespace in list(THOUSAND)[:20] for each in scene.appear(namespace, 8)]
    assert scene.look().weather() == "storm"
    gone = scene.vanish(found)
    assert scene.looks(60).weather() == "normal"
    scene.open |= {each.fingerprint: each for each in gone}
    assert scene.look().weather() == "storm"


def test_what_is_left_after_a_day_is_a_backlog() -> None:
    scene = Scene(THOUSAND).look()
    for namespace in THOUSAND:
        scene.appear(namespace, 15)
    scene.looks(60 * 23, every=10 * MINUTE)
    assert (scene.weather(), len(scene.stormy)) == ("storm", 50)
    scene.looks(75, every=MINUTE)
    assert (scene.weather(), scene.stormy) == ("normal", set())
    assert sum(scene.run(MINUTE).values()) == 5


def test_a_person_who_knows_what_it_is_ends_it() -> None:
    scene = Scene(THOUSAND).look()
    scene.appear("team0", 15)
    scene.appear("team1", 15)
    scene.looks(5)
    scene.resumed = {"team0": scene.now}
    assert scene.look().stormy == {"team1"}
    scene.appear("team0", 15)
    assert scene.look().stormy == {"team0", "team1"}  # what came later is a rise of its own
    scene.look()
    scene.resumed = {"": scene.now}
    assert scene.look().stormy == set()


def test_a_mode_that_is_switched_on_is_no_rise() -> None:
    scene = Scene(THOUSAND).look()
    findings = [each for namespace in THOUSAND for each in scene.appear(namespace, 15, held_up=True)]
    scene.looks(20)
    scene.restart()
    scene.held_up -= set(findings)
    assert (scene.look().weather(), scene.stormy) == ("normal", set())


def test_a_check_of_a_new_version_finds_a_backlog() -> None:
    scene = Scene(THOUSAND, checks={"ipam_claims"}).look()
    scene.checks |= {"firmware_vms"}
    scene.restart()
    for namespace in THOUSAND:
        scene.appear(namespace, 15)
    assert (scene.look().weather(), scene.stormy) == ("normal", set())


def test_without_the_number_of_vms_the_least_number_is_a_storm() -> None:
    scene = Scene(None).look()
    for at in range(10):
        scene.appear(f"team{at}", 1)
    assert scene.look().weather() == "storm"
    assert "of a fleet of unknown size" in scene.storms.fleet.why
    scene = Scene(None).look()
    scene.appear("team0", 10)
    assert scene.look().stormy == {"team0"}
    assert "with an unknown number of VMs" in scene.storms.namespaces["team0"].why


def test_what_cannot_be_read_of_the_lease_is_a_storm_that_ends_in_a_cooldown() -> None:
    scene = Scene(THOUSAND, lease={KNOWN: "{"})
    scene.appear("team0", 15)
    assert scene.weather() == "storm"
    assert scene.look().weather() == "cooldown"
    assert scene.looks(16).gates("team0") == {}


@pytest.mark.parametrize("each", [1, 30])
def test_the_lease_stays_small_and_a_restart_no_rise(each: int) -> None:
    vms = {f"a-namespace-with-quite-a-long-name-{at:05}": 40 for at in range(3000)}
    scene = Scene(vms).look()
    for at, namespace in enumerate(vms):
        scene.appear(namespace, each + at % 3)
    scene.restart()
    scene.lease.clear()
    scene.storms = type(scene.storms)()
    scene.look()
    assert len(scene.lease[KNOWN]) <= 16_384

    scene.restart()
    assert (scene.look().weather(), scene.stormy) == ("normal", set())

    for namespace in list(vms)[::3]:  # a third of them: most of these the Lease has no room for
        scene.appear(namespace, 20)
    scene.restart()
    assert scene.look().weather() == "storm"
    assert len(scene.lease[KNOWN]) <= 16_384


def test_who_has_something_to_repair_all_day_leaves_something_for_others() -> None:
    scene = Scene({"noisy": 10, "quiet": 10, **THOUSAND})
    scene.look()
    for hour in range(24):
        scene.appear("noisy", 6)
        scene.run(HOUR)
        if hour == 22:
            scene.appear("quiet", 1)
    assert scene.history.written_by_namespace(0)["noisy"] == 26  # half of the day's 51, of 1020 VMs
    assert scene.history.written_by_namespace(0)["quiet"] == 1
    assert (
        "their second half is shared out by VMs: namespace noisy has used 26"
        in (scene.gates("noisy", "another")["budget_fleet"])
    )
