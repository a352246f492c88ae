"""What the rules cost a Prometheus: CPU of its process, memory, and how long an evaluation of all groups takes.

`python -m bench.rules 1x1520 1x7600 100x300`: so many clusters, each with so many findings, of every reason alike.
With `--rules FOLDER` the rules of another checkout; the steward is still this one, so that both read the same series.
The Prometheus is that of the tests; it scrapes and evaluates every 30 seconds and is measured over some rounds, once
what it does at its start is over. Figures of CPU hold on a busy host, durations do not.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.metrics.text import Profile
from tests.cluster.prometheus import Prometheus, Setup
from tests.cluster.steward_pages import Pages, Site, one_of_each
from tests.rules import RULES
from tests.tools.build import tool

INTERVAL = 30  # seconds
CPU = 'process_cpu_seconds_total{job="prometheus"}'
RSS = 'process_resident_memory_bytes{job="prometheus"}'
SERIES = 'prometheus_tsdb_head_series{job="prometheus"}'
LASTED = 'sum(prometheus_rule_group_last_duration_seconds{job="prometheus"})'
FAILED = 'sum(prometheus_rule_evaluation_failures_total{job="prometheus"})'
ROUNDS = 'max(prometheus_rule_group_iterations_total{job="prometheus"})'


def findings(count: int) -> Iterator[Finding]:
    """Of every reason that alerts, about objects of their own; five of a reason have one cause."""
    kinds = [each for each in one_of_each() if each.severity is not Severity.INFO]
    for number, kind in zip(range(count), itertools.cycle(kinds), strict=False):
        subject = msgspec.structs.replace(kind.subject, name=f"{kind.subject.name}-{number}", uid=f"{number}")
        yield msgspec.structs.replace(
            kind, subject=subject, fingerprint=f"{number}", cause=f"{kind.reason}-{number // len(kinds) // 5}"
        )


def measured(rules: Path, clusters: int, count: int, profile: Profile, rounds: int) -> dict[str, float]:
    found = tuple(findings(count))
    pages = Pages({f"c{number:03}": Site(number, found, profile=profile) for number in range(clusters)})
    for site in pages.sites.values():
        assert site.page  # made before anything is measured
    scrape = {"job_name": "prometheus", "scrape_interval": "5s"}
    setup = Setup(
        rule_files=sorted(rules.glob("*.yaml")),
        scrape_configs=[pages.scrape_config(replicas=1)],
        scrape_interval=INTERVAL,
        evaluation_interval=INTERVAL,
    )
    server = Prometheus(tool("prometheus"), setup)
    config = server.folder / "prometheus.yml"
    made = msgspec.json.decode(config.read_bytes())
    made["global"]["scrape_timeout"] = f"{INTERVAL - 5}s"
    made["scrape_configs"] += [{**scrape, "scrape_timeout": "4s", "static_configs": [{"targets": [server.address]}]}]
    config.write_bytes(msgspec.json.encode(made))
    try:
        server.start()
        server.wait_for(f"{ROUNDS} >= 3", 10 * INTERVAL)
        first, since, round_now = value(server, CPU), time.monotonic(), value(server, ROUNDS)
        server.wait_for(f"{ROUNDS} >= {round_now + rounds}", (rounds + 9) * INTERVAL)
        used, lasted = value(server, CPU) - first, time.monotonic() - since
        return {
            "cores": used / lasted,
            "memory (MB)": value(server, RSS) / 1e6,
            "evaluation of all groups (s)": value(server, LASTED),
            "series": value(server, SERIES),
            "alerts": len(server.alerts()),
            "failures": value(server, FAILED),
        }
    finally:
        server.stop()
        pages.close()


def value(server: Prometheus, expr: str) -> float:
    (found,) = server.query(expr)
    return float(found["value"][1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rules", description=__doc__)
    parser.add_argument("sizes", nargs="*", default=["1x1520", "1x7600", "100x300"], metavar="CLUSTERSxFINDINGS")
    parser.add_argument("--rules", type=Path, default=RULES, help="the folder of the rules")
    parser.add_argument("--profile", choices=list(Profile), default=Profile.DEFAULT, type=Profile)
    parser.add_argument("--rounds", type=int, default=4, help="evaluations that are measured")
    arguments = parser.parse_args()
    for size in arguments.sizes:
        clusters, _, count = size.partition("x")
        figures = measured(arguments.rules, int(clusters), int(count), arguments.profile, arguments.rounds)
        text = "; ".join(f"{name} {each:.4g}" for name, each in figures.items())
        print(f"{size}, {arguments.profile}, {arguments.rules}: {text}", flush=True)


if __name__ == "__main__":
    main()
