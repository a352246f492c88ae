"""What the first page and the list of findings cost, with ever more findings of as many causes. No cluster, no TLS.

python -m bench.page 100 100000
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time

from tests.cause_counts import causes_of_vms
from tests.served import Served, served

_CAUSES = 20
_TIMES = 20
_PATHS = ("/", "/findings", "/health")


async def _cost(server: Served, path: str) -> tuple[float, int]:
    """CPU in milliseconds, as the median of some answers, and the bytes of one."""
    taken, body = [], b""
    for _ in range(_TIMES):
        began = time.process_time()
        status, _, body = await server.get(path)
        taken.append((time.process_time() - began) * 1000)
        assert status == 200
    return statistics.median(taken), len(body)


async def _measured(causes: int, findings: int) -> None:
    async with served(0, checks=[causes_of_vms(causes, findings)]) as server:
        for path in _PATHS:
            await server.get(path)  # what is kept until the next change is made by the first request
            cpu, size = await _cost(server, path)
            print(f"{findings:>8,} findings of {causes:>6,} causes  {path:<10} {cpu:7.1f} ms {size / 1000:8.1f} kB")


async def main() -> None:
    for findings in [int(each) for each in sys.argv[1:]] or [100, 100_000]:
        await _measured(min(_CAUSES, findings), findings)
    await _measured(5000, 5000)


if __name__ == "__main__":
    asyncio.run(main())
