"""What is measured of a subject, phase by phase, each begun once it has nothing left to do."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench.fleet.changes import CHANGES, CLAIM, MIX
from bench.fleet.orders import Order
from bench.fleet.process import Child
from bench.fleet.scraping import Page
from bench.fleet.server import Server
from bench.fleet.subjects import Running

__all__ = ["Plan", "measured"]

Figures = dict[str, Any]
_LOOK = 0.1  # seconds between two looks at a process
_CALM = 1.5  # seconds; then it has nothing to do
_LITTLE = 0.03  # of a core: what one that has nothing to do may take
_CLAIMS = 20  # changes of claims a second, by which latencies are measured
_LATE = 20.0  # seconds after which a change is not waited for any more
_PAUSE = 0.1  # seconds at least between two scrapes


@dataclass(frozen=True)
class Plan:
    vms: int
    rates: tuple[int, ...] = (100, 500, 2000)
    seconds: float = 10.0  # of each rate
    events: int = 1000  # of each kind of change
    events_rate: float = 200.0
    scrapes: int = 100
    patience: float = 900.0  # until it is ready


def measured(running: Running, server: Server, plan: Plan) -> Figures:
    figures: Figures = {"ready": _until_ready(running, plan)}
    turns: Figures = {}
    _note_turn(running, turns, "until ready")
    figures["memory"] = running.child.memory()
    figures["scrape"] = _scrapes(running, plan)
    _note_turn(running, turns, "scrapes")
    figures["idle"] = idle = _idle(running.child)
    figures["events"] = {kind: _per_event(running, server, plan, kind, idle) for kind in CHANGES}
    _note_turn(running, turns, "a kind of event alone")
    figures["latency"] = {}
    for rate in plan.rates:
        figures["latency"][str(rate)] = _latency(running, server, plan, rate)
        _note_turn(running, turns, f"{rate} events/s, scraped all the time")
    figures["memory at the end"] = running.child.memory()
    return figures | ({"turns": turns} if turns else {})


def _note_turn(running: Running, turns: Figures, phase: str) -> None:
    if running.subject.tells_turns:
        cpu, wall = running.turns()
        turns[phase] = {"cpu": cpu, "wall": wall}


def _calm(child: Child, patience: float) -> tuple[float, float]:
    """Waits until it has nothing to do; gives when that began, and its CPU by then. TimeoutError if it never has."""
    deadline = time.monotonic() + patience
    seen = deque([(time.monotonic(), child.cpu, child.waited)], maxlen=int(_CALM / _LOOK))
    while time.monotonic() < deadline:
        time.sleep(_LOOK)
        seen.append((time.monotonic(), child.cpu, child.waited))
        (since, cpu, waited), (now, used, kept) = seen[0], seen[-1]
        # One that has had no CPU, since others had it, is not done.
        if len(seen) == seen.maxlen and used - cpu + abs(kept - waited) < _LITTLE * (now - since):
            return since, cpu
    raise TimeoutError(f"it has been busy for {patience:.0f} s")


def _until_ready(running: Running, plan: Plan) -> Figures:
    """It is ready when it does nothing more and its page shows all. Scrapes that asked too early are taken off."""
    deadline, wasted = time.monotonic() + plan.patience, 0.0
    while True:
        at, cpu = _calm(running.child, deadline - time.monotonic())
        held = running.subject.held(running.page().text)
        if held >= 4 * plan.vms:
            return {"wall": at - running.child.began, "cpu": cpu - wasted, "objects": held}
        wasted += running.child.cpu - cpu


def _scrapes(running: Running, plan: Plan) -> Figures:
    before, began = running.child.cpu, time.monotonic()
    pages: list[Page] = []
    while len(pages) < plan.scrapes and (len(pages) < 10 or time.monotonic() - began < 30):
        pages.append(running.page())
    _calm(running.child, 60)
    used = running.child.cpu - before
    return {
        "count": len(pages),
        "cpu": used / len(pages),
        **_quantiles([page.seconds for page in pages]),
        "bytes": pages[-1].bytes,
        "text": len(pages[-1].text.encode()),
        "samples": sum(1 for line in pages[-1].text.splitlines() if line and line[0] != "#"),
    }


def _idle(child: Child) -> float:
    """Of a core, while nothing happens."""
    began, before = time.monotonic(), child.cpu
    time.sleep(5)
    return (child.cpu - before) / (time.monotonic() - began)


def _per_event(running: Running, server: Server, plan: Plan, kind: str, idle: float) -> Figures:
    """CPU seconds of one event, on average over many; what it takes while nothing happens is taken off."""
    seconds = plan.events / plan.events_rate
    order = Order(seconds, claims=plan.events_rate) if kind == CLAIM else Order(seconds, plan.events_rate, {kind: 1})
    server.begin(Order(0, shares=order.shares, claims=order.claims))
    server.done()  # what is to be sent is made ready
    _calm(running.child, 60)
    began, before = time.monotonic(), running.child.cpu
    server.begin(order)
    sent = server.done()["sent"]
    at, after = _calm(running.child, 120)
    return {"sent": sent, "cpu": (after - before - idle * (at - began)) / sent}


def _latency(running: Running, server: Server, plan: Plan, rate: int) -> Figures:
    """From the moment a change is sent to the end of the first scrape that shows it, scraped all the time."""
    order = Order(plan.seconds, rate - _CLAIMS, MIX, _CLAIMS)
    _calm(running.child, 120)
    before, waited, began = running.child.cpu, running.child.waited, time.monotonic()
    server.begin(order)
    shown: list[tuple[float, set[str]]] = []
    _scrape_until(running, shown, began + plan.seconds)
    done = server.done()
    lost, end = dict(done["lost"]), time.monotonic() + _LATE
    while time.monotonic() < end and not lost.keys() <= set().union(*(names for _, names in shown)):
        _scrape_until(running, shown, time.monotonic())
    took = time.monotonic() - began
    waits = [_first(shown, name, since) for name, since in lost.items()]
    seen = [wait for wait in waits if wait is not None]
    return {
        "sent a second": done["sent"] / done["took"],
        "reached": done["sent"] / done["took"] / rate,
        "changes": len(lost),
        "unseen": len(lost) - len(seen),
        **(_quantiles(seen) if seen else {}),
        "between scrapes": max((b[0] - a[0] for a, b in pairwise(shown)), default=0.0),
        "cores, scrapes included": (running.child.cpu - before) / took,
        "waited for a CPU": max(0.0, running.child.waited - waited) / took,
    }


def _scrape_until(running: Running, shown: list[tuple[float, set[str]]], end: float) -> None:
    """Scrapes once at least; as long a pause as the scrape took, so that half of the time is left for the events."""
    while True:
        page = running.page()
        shown.append((page.at, running.lost(page.text)))
        time.sleep(max(_PAUSE, page.seconds))
        if time.monotonic() >= end:
            return


def _first(shown: list[tuple[float, set[str]]], name: str, since: float) -> float | None:
    return next((at - since for at, names in shown if at > since and name in names), None)


def _quantiles(values: list[float]) -> Figures:
    ranked = sorted(values)
    return {f"p{share}": ranked[min(len(ranked) - 1, len(ranked) * share // 100)] for share in (50, 99)}
