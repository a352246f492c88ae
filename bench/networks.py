"""What a change of a NAD costs where its network has as many NADs as IPAMClaims, all in one namespace: no I/O.

`python -m bench.networks 1200 2400`. All of the claims are evaluated again. Then an IPAMClaim comes in another
namespace: measured is how many partitions, and how much CPU, come before its finding.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from exporter.checks import all_checks
from exporter.findings.check import PER_FLEET
from tests.evaluation import Evaluation
from tests.rows import full

_FULL, _OTHER = "full", "other"


def nad(number: int, mtu: int) -> dict[str, Any]:
    name = f"n{number:05}"
    config = {"cniVersion": "1.0.0", "name": "tenantblue", "type": "ovn-k8s-cni-overlay", "topology": "layer2"}
    config |= {"subnets": "10.0.0.0/8", "role": "secondary", "netAttachDefName": f"{_FULL}/{name}"}
    made: dict[str, Any] = full({"kind": "NetworkAttachmentDefinition", "namespace": _FULL, "name": name})
    made["spec"] = {"config": json.dumps({**config, "allowPersistentIPs": True, "mtu": mtu})}
    made["metadata"]["resourceVersion"] = str(mtu)
    return made


def filled(count: int) -> Evaluation:
    checks = [each for each in all_checks() if each.scope is not PER_FLEET]
    evaluation = Evaluation(checks, initial=False, timer=time.perf_counter)
    for number in range(count):
        address = f"10.1.{number // 200}.{number % 200 + 1}/8"
        row = {"kind": "IPAMClaim", "namespace": _FULL, "name": f"vm{number}.net", "network": "tenantblue"}
        evaluation.seen(full({**row, "ips": [address], "vm": f"vm{number}"}))
        evaluation.seen(nad(number, 1400))
    evaluation.evaluate()
    return evaluation


def partitions(evaluation: Evaluation) -> int:
    return sum(each.partitions for each in evaluation.engine.evaluated.values())


def measured(count: int) -> str:
    evaluation = filled(count)
    engine = evaluation.engine
    come: list[str] = []
    engine.listen(lambda _, found: come.extend(each.subject.namespace for each in found))
    before, began = partitions(evaluation), time.process_time()
    evaluation.seen(nad(0, 1500))
    evaluation.seen(full({"kind": "IPAMClaim", "namespace": _OTHER, "name": "db.net", "network": "none", "vm": "db"}))
    until, done = 0.0, 0
    while engine.step():
        if _OTHER in come and not until:
            until, done = time.process_time() - began, partitions(evaluation) - before
    whole = time.process_time() - began
    until, done = (until, done) if until else (whole, partitions(evaluation) - before)
    every = partitions(evaluation) - before
    return (
        f"{count} NADs and IPAMClaims: {whole:.2f} s of CPU for {every} partitions; the other namespace after "
        f"{until * 1000:.0f} ms and {done} partitions"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Many NADs and IPAMClaims of one network and namespace.")
    parser.add_argument("count", nargs="+", type=int)
    for each in parser.parse_args().count:
        print(measured(each))
