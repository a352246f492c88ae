"""What a real Prometheus that scrapes the steward says of the past, on the pages that show it."""

from __future__ import annotations

import asyncio
import re
import time

from exporter.config.outside import PrometheusSettings
from exporter.prometheus import Bounds, Past
from exporter.serve.page.outside import Outside, of_severities
from tests.cluster.conftest import MakePrometheus
from tests.cluster.process import free_ports
from tests.served import served

from ..cause_counts import causes_of_vms

PATIENT = Bounds(patience=30.0, answer=30.0)


async def test_prometheus_knows_what_was_found_and_how_many_there_were(prometheus: MakePrometheus) -> None:
    (port,) = free_ports(1)  # of Prometheus, which has to know where it scrapes before it starts
    settings = PrometheusSettings(url=f"http://127.0.0.1:{port}")
    past = Past(settings, time.time, time.monotonic, PATIENT)
    asking = asyncio.create_task(past.run())
    async with served(0, checks=[causes_of_vms(2, 5)], outside=Outside(past, settings)) as made:
        made.evaluation.now = time.time()
        scraped = {
            "job_name": "steward",
            "honor_labels": True,
            "static_configs": [{"targets": [made.url.removeprefix("http://")]}],
        }
        server = await asyncio.to_thread(prometheus, scrape_configs=[scraped], port=port)
        await asyncio.to_thread(server.wait_for, "kubevirt_test_broken and on () kubevirt_steward_ready")
        finding = next(each for each in made.engine.findings() if each.severity == "critical")
        _, _, html = await made.get(f"/findings/{finding.fingerprint}")
        said = re.findall(r"</span></span>(.*?)</figcaption>", html.decode())
        assert said == ["Found in 1h of the last week, in one stretch. For 6d it is not known."]
        ranges = await past.of(of_severities(("critical", "warning", "info"), settings))
        assert ranges is not None
        counts = {name: [value for _, value in points] for name, points in ranges.items()}
        assert counts == {"critical": [3.0], "warning": [0.0], "info": [2.0]}
        _, _, other = await made.get("/")
        assert b"<svg" not in other  # one point is no line
    asking.cancel()
