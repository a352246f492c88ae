"""What is kept for pages by each change is what there is, whatever happens to the findings."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

from exporter.engine.engine import Engine
from exporter.engine.open_cause import SortedKeys
from exporter.facts.record import Ref
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.questions.finding_index import FindingIndex
from exporter.questions.selection import FACETS, Selection, counting, value_of

from .....all_of import each_of

NOW = 1_790_000_000.0


def finding(draw: random.Random) -> Finding:
    name, namespace = f"vm-{draw.randint(0, 9)}", draw.choice("ab")
    kind = draw.choice(("VirtualMachine", "IPAMClaim"))
    return Finding(
        reason=draw.choice(("One", "Two")),
        severity=draw.choice(tuple(Severity)),
        subject=Ref(kind, namespace, name),
        message="It is wrong.",
        check=draw.choice(("ipam_claims", "evictions", "nothing")),
        fingerprint=f"{namespace}{name}{kind}{draw.randint(0, 3)}",
        vm=name if draw.random() < 0.5 else "",
        node=draw.choice(("", "node01", "node02")),
        network=draw.choice(("", "blue")),
        since=draw.choice((None, NOW - draw.randint(0, 1_000_000), NOW + 60)),
    )


@each_of("seed", range(20))
def test_what_is_kept_is_what_there_is(seed: int) -> None:
    draw = random.Random(seed)
    listeners: list[Any] = []
    engine = SimpleNamespace(findings=lambda: (), listen=listeners.append)
    index = FindingIndex(cast(Engine, engine))
    there: dict[str, Finding] = {}
    for _ in range(60):
        come = {each.fingerprint: each for each in (finding(draw) for _ in range(draw.randint(0, 5)))}
        gone = [each for each in there.values() if draw.random() < 0.15]
        if draw.random() < 0.8:  # else another partition has found it too
            gone += [there[each] for each in come if each in there]
        listeners[0](gone, come.values())
        for each in gone:
            there.pop(each.fingerprint, None)
        there |= come
        counted = {name: Counter(value_of(each, name, NOW) for each in there.values()) for name in FACETS}
        wanted = {name: {value: n for value, n in each.items() if value} for name, each in counted.items()}
        assert {name: dict(each) for name, each in index.counts(NOW).items()} == wanted
        from_scratch: dict[str, Counter[str]] = {}
        assert list(counting(there.values(), Selection(moment=NOW), from_scratch, 1000)) is not None
        assert {name: dict(each) for name, each in from_scratch.items()} == wanted
        assert index.severities() == counted["severity"]
        for each in there.values():
            assert index.get(each.fingerprint) == each
            own = [other for other in there.values() if other.subject == each.subject]
            assert sorted(f.fingerprint for f in index.about(each.subject)) == sorted(f.fingerprint for f in own)
            if each.vm:
                of_vm = [o for o in there.values() if (o.vm, o.subject.namespace) == (each.vm, each.subject.namespace)]
                found = index.of_vm(each.subject.namespace, each.vm)
                assert sorted(f.fingerprint for f in found) == sorted(f.fingerprint for f in of_vm)
    listeners[0](list(there.values()), ())
    assert index.get(next(iter(there))) is None
    assert index.counts(NOW) == {name: Counter() for name in FACETS}


def test_keys_below_one_are_counted() -> None:
    keys: SortedKeys[int] = SortedKeys()
    assert keys.below(1) == 0
    every = random.Random(1).sample(range(10_000), 3000)
    for each in every:
        keys.add(each)
    for key in (-1, 0, 17, 5000, 9_999, 20_000, *every[:50]):
        assert keys.below(key) == sum(each < key for each in every)
