"""What people come to the page for, done in a browser from the overview: each in two clicks or fewer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.all_of import each_of
from tests.cluster.browser import CHROMIUM, Tab, browser
from tests.cluster.demo_process import Demo, running_demo

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; on Debian install the package chromium")

MOST = 2  # clicks; to type into the search and send it is one


class Task(NamedTuple):
    """`acts` are clicks on the link with this text or address, or `?TEXT`: searched for. `says` is what the page then
    answers.
    """

    question: str
    acts: tuple[str, ...]
    says: tuple[str, ...]


TASKS = (
    Task("why does this node not drain, and what do I do", ("node05",), ("NotMigratable", "Next", "billing/oracle-1")),
    Task("which VMs break by the next release", ("Upgrade",), ("Upgrade of KubeVirt", "v1.8.0", "Release by release")),
    Task("who has this address", ("?10.40.0.110",), ("telecom/sip-proxy-old",)),
    Task("is this VM safe to restart", ("?payments-db",), ("Do not restart or stop it", "does not exist")),
    Task("what changed in the last hour", ("/findings?sort=change",), ("most change in the last hour first",)),
    Task("what can wait until morning", ("What can wait",), ("urgent: no, until the morning",)),
    Task("which repairs wait", ("Repairs",), ("Repairs",)),
    Task("which VMs can't migrate", ("VMs", "Can't migrate"), ("5 VMs", "lab/trainer-big", "TargetUnschedulable")),
    Task("which VMs on this node can't migrate", ("?node05",), ("billing/oracle-1", "migrate", "NotMigratable")),
    Task("who uses this instancetype", ("?u1.xlarge",), ("3 VMs", "billing/ledger-1", "billing/ledger-3")),
    Task("who uses this feature", ("?vsock",), ("billing/token-agent",)),
    Task("the findings of my namespace, as a link", ("?billing",), ("namespace: billing", "billing/payments-db")),
    Task("from an alert to its finding", ("?ALERT",), ("Next step", "Evidence")),
    Task("in which order can nodes go", ("Maintenance",), ("in the order in which they can go", "node04", "blocked")),
)
_CLICK = """(() => {
  const wanted = %s;
  const links = [...document.querySelectorAll('a[href]')];
  const found = links.find((a) => a.getAttribute('href') === wanted || a.textContent.trim() === wanted);
  if (found) found.click();
  return Boolean(found);
})()"""
_SEARCH = """(() => {
  document.querySelector('#q').value = %s;
  document.querySelector('form.search button').click();
  return true;
})()"""


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    with running_demo() as made:
        yield made


async def _does(tab: Tab, act: str) -> None:
    script = _SEARCH % json.dumps(act[1:]) if act.startswith("?") else _CLICK % json.dumps(act)
    async with tab.leading():
        assert await tab.value(script), act


@each_of("task", TASKS, ids=lambda task: task.question)
async def test_each_task_is_two_clicks_or_fewer(task: Task, demo: Demo, tmp_path: Path) -> None:
    """By the fingerprint that an alert carries in place of ALERT."""
    assert len(task.acts) <= MOST
    fingerprint = next(each["fingerprint"] for each in demo.findings() if each["severity"] == "critical")
    async with browser(tmp_path) as tab:
        await tab.open(demo.url)
        for act in task.acts:
            await _does(tab, act.replace("ALERT", fingerprint))
        text = await tab.value(
            "document.body.innerText + [...document.querySelectorAll('select')].map("
            "(each) => each.selectedOptions[0]?.text).join(' ')"
        )
        for said in task.says:
            assert said in text, (task.question, said, text[:2000])
