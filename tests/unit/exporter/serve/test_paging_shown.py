"""Beside a critical finding the page says whether somebody is woken for it, or why not."""

from __future__ import annotations

import json
import re
from typing import Any

from exporter.checks import all_checks

from ....rows import full
from ....served import served

UUID = "3e6c1f0a-6f0e-4d6b-9a43-0c8e5b1d2f31"
NO_KVM: tuple[dict[str, Any], ...] = (
    {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.9.0"},
    {"kind": "Node", "name": "node01", "labels": {"kubevirt.io/schedulable": "true"}},
)
ONE_UUID: tuple[dict[str, Any], ...] = tuple(
    {"kind": kind, "namespace": namespace, "name": "db", "uid": f"{kind[-1]}{namespace}", "uuid": UUID, **more}
    for namespace in "ab"
    for kind, more in (("VirtualMachine", {}), ("VirtualMachineInstance", {"vm": f"e{namespace}"}))
)


async def test_a_critical_finding_says_whether_it_pages_and_why_not() -> None:
    wanted = ("feature_ground", "firmware_duplicates")
    async with served(0, checks=[check for check in all_checks() if check.id in wanted]) as made:
        for row in (*NO_KVM, *ONE_UUID):
            made.evaluation.seen(full(row))
        made.evaluation.evaluate()
        said: dict[tuple[str, str], str] = {}
        for finding in json.loads((await made.get("/api/v1/findings"))[2])["findings"]:
            page = (await made.get(f"/findings/{finding['fingerprint']}"))[2].decode()
            (alert,) = re.findall("<dt>Alert</dt><dd>(.*?)</dd>", page)
            said.setdefault((finding["severity"], finding["reason"]), alert)

    pages = "<b>Urgent: the alert pages. Act at once.</b>"
    assert said["critical", "NoKVM"] == f"<code>KubeVirtFeatureGround</code>. {pages}"
    assert re.fullmatch(
        "<code>VMFirmwareUUIDDuplicate</code>. The alert doesn&#39;t page. Both VMs run[^<]*",
        said["critical", "Duplicate"],
    )
    assert not any(pages in alert for (severity, _), alert in said.items() if severity != "critical")
