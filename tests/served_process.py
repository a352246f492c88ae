"""The server over TLS in a process of its own: python -m tests.served_process CERTIFICATE KEY DESCRIPTORS

It prints its port, and its greatest resident memory in KiB at its end, which is that of its input.
"""

from __future__ import annotations

import asyncio
import resource
import ssl
import sys
from pathlib import Path

from exporter.serve.server.certificates import Certificates
from tests.served import served


async def _serve(certificate: Path, key: Path) -> None:
    async with served(1500, tls=(Certificates(certificate, key), ssl.create_default_context())) as made:
        print(made.port, flush=True)
        await asyncio.to_thread(sys.stdin.read)
    print(_peak(), flush=True)


def _peak() -> int:
    """Not `ru_maxrss`: that begins with the memory of the process which started this one."""
    (line,) = (each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM:"))
    return int(line.split()[1])


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[3]), hard))
    asyncio.run(_serve(Path(sys.argv[1]), Path(sys.argv[2])))
