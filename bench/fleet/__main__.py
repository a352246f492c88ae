"""The steward, kube-state-metrics and a naive exporter on the same fleet, one after the other, in one run.

`python -m bench.fleet 1000 5000`. Up to `--real` VMs a real API server has the fleet, above it the stub; both speak
TLS. Each subject is a process of its own, and CPU seconds are its own: they hold on a busy host, the wall does not.
Figures go into `--out` as soon as they are there, in place of earlier ones of the same size, server and subject;
`python -m bench.fleet.report` makes docs/performance.md of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.fleet.host import host, python_build
from bench.fleet.measuring import Plan, measured
from bench.fleet.server import Server
from bench.fleet.subjects import SUBJECTS, start

RESULTS = Path(__file__).parent / "results.json"


def keep(out: Path, run: dict[str, Any]) -> None:
    """Puts a run into the file, in place of the one that it repeats."""
    runs = json.loads(out.read_text(encoding="utf-8")) if out.exists() else []
    same = ("vms", "server", "revisions", "unlike", "subject")
    others = [each for each in runs if any(each[key] != run[key] for key in same)]
    ordered = sorted([*others, run], key=lambda each: tuple(each[key] for key in same[:-1]))
    out.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def run(arguments: argparse.Namespace, vms: int) -> None:
    kind = "real" if vms <= arguments.real and not arguments.stub else "stub"
    rates = tuple(rate for rate in arguments.rates if kind == "stub" or rate <= arguments.real_rate)
    plan = Plan(vms, rates, arguments.seconds, arguments.events)
    if kind == "real":
        plan = replace(plan, events_rate=min(plan.events_rate, arguments.real_rate))
    with tempfile.TemporaryDirectory(prefix="bench-fleet-") as name:
        folder = Path(name)
        traits = {"revisions": arguments.revisions, "unlike": arguments.unlike}
        with Server(kind, vms, folder, traits) as server:
            for subject in arguments.subjects:
                load = os.getloadavg()[0]
                running = start(SUBJECTS[subject], server.kubeconfig, folder, arguments.python)
                with running.child:
                    figures = measured(running, server, plan)
                of = {"vms": vms, "server": kind, **traits, "subject": subject}
                at = {
                    "date": time.strftime("%Y-%m-%d", time.gmtime()),
                    "load": [load, os.getloadavg()[0]],
                    "host": host(),
                    "python": python_build(arguments.python),
                }
                keep(arguments.out, {**of, **at, **figures})
                print(json.dumps({**of, **figures}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.fleet", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vms", type=int, nargs="+", help="sizes of the fleet")
    parser.add_argument("--subjects", nargs="+", choices=SUBJECTS, default=list(SUBJECTS))
    parser.add_argument("--revisions", action="store_true", help="with the three ControllerRevisions of each VM")
    parser.add_argument("--unlike", action="store_true", help="no two VMs of the same size")
    parser.add_argument("--real", type=int, default=20_000, help="VMs up to which the API server is a real one")
    parser.add_argument("--stub", action="store_true", help="the stub at any size")
    parser.add_argument("--rates", type=int, nargs="+", default=[100, 500, 2000], help="events a second")
    parser.add_argument("--real-rate", type=int, default=100, help="events a second that a real API server is given")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each rate")
    parser.add_argument("--events", type=int, default=1000, help="of each kind, for their CPU")
    parser.add_argument("--python", default=sys.executable, help="runs the steward and the naive exporter")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    for vms in arguments.vms:
        run(arguments, vms)


if __name__ == "__main__":
    main()
