"""Namespaces that are selected by their labels: what is written there, also as labels change or can't be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ....fakeapi.faults import Fault, internal_error
from ....sidecar_runs import Running, on, orphan


def selecting(*selectors: dict[str, Any], **own: Any) -> dict[str, Any]:
    remediation = {"minAge": "0s", "namespaceSelectors": list(selectors), **own}
    return {"remediations": {"delete_orphan_ipam_claim": remediation}, "budgets": {"fleetShare": 1.0}}


TEST = {"matchLabels": {"tier": "test"}, "mode": "auto"}
FROZEN = {"matchExpressions": [{"key": "frozen", "operator": "Exists"}], "mode": "plan"}


def label(running: Running, namespace: str = "ns", **labels: str | None) -> None:
    running.server.patch("namespaces", "", namespace, {"metadata": {"labels": labels}})


async def test_only_what_a_selector_selects_is_written(tmp_path: Path) -> None:
    async with on(tmp_path, selecting(TEST), orphan("db"), orphan("web", "other")) as running:
        label(running, "other", tier="test")
        assert await running.run() == 1
        assert running.writes() == [("DELETE", "web.blue")]
        assert (running.state("db"), running.repair("db").mode) == ("planned", "plan")


async def test_the_strictest_selector_counts_and_the_name_before_it(tmp_path: Path) -> None:
    async with on(tmp_path, selecting(TEST, FROZEN), orphan("db")) as running:
        label(running, tier="test", frozen="")
        assert await running.run() == 0
        label(running, frozen=None)
        assert await running.run() == 1
    (tmp_path / "named").mkdir()
    named = selecting(TEST, namespaces={"ns": "off"})
    async with on(tmp_path / "named", named, orphan("db")) as running:
        label(running, tier="test")
        assert await running.run() == 0
        assert running.board.all() == []


async def test_labels_that_can_not_be_listed_block(tmp_path: Path) -> None:
    async with on(tmp_path, selecting(TEST), orphan("db")) as running:
        label(running, tier="test")
        running.server.faults.add(Fault("/api/v1/namespaces", answer=internal_error()))
        assert await running.run() == 0
        blocked = {each.gate: each.why for each in running.repair("db").blocked}
        assert "the labels of namespace ns could not be read" in blocked["labels"]
        running.server.faults.clear()
        assert await running.run() == 1


async def test_a_namespace_that_loses_its_label_before_the_write_is_refused(tmp_path: Path) -> None:
    async with on(tmp_path, selecting(TEST), orphan("db")) as running:
        label(running, tier="test")
        lose = Fault(
            "/ipamclaims/db.blue", method="DELETE", before=lambda: label(running, tier=None), times=1
        )  # at the dry run
        running.server.faults.add(lose)
        assert await running.run() == 0
        assert running.writes() == []
        refused = running.repair("db").refused
        assert refused is not None
        assert refused.precondition == "mode"
        assert "is now plan in namespace ns, and was auto" in refused.why


async def test_labels_that_can_not_be_read_right_before_the_write_refuse_it(tmp_path: Path) -> None:
    async with on(tmp_path, selecting(TEST), orphan("db")) as running:
        label(running, tier="test")
        hide = lambda: running.server.faults.add(Fault("/namespaces/ns", answer=internal_error(), times=99))  # noqa: E731
        running.server.faults.add(Fault("/ipamclaims/db.blue", method="DELETE", before=hide, times=1))
        assert await running.run() == 0
        assert running.writes() == []
