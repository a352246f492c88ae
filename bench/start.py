"""What a command costs before it has done anything: CPU of a process, the least of some runs.

`python -m bench.start`. The dump is one Node: what it takes is the start, and not the reading. Bytecode is kept, as for
whoever has installed it: without that each start compiles all that it imports.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.children import environment, warmed

COMMANDS = (["--help"], ["version"], ["completion", "bash"], ["explain", "OrphanClaim"], ["check", "--from", "DUMP"])
NODE = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "uid": "u"}}'


def cpu(command: Sequence[str]) -> float:
    """Seconds of user and system time."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()) as process:
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    warmed(sys.executable, "exporter.__main__")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "node.json").write_text(NODE, encoding="utf-8")
        for words in COMMANDS:
            command = [sys.executable, "-m", "exporter", *(folder if word == "DUMP" else word for word in words)]
            print(f"{min(cpu(command) for _ in range(arguments.runs)):6.2f} s  steward {' '.join(words)}")


if __name__ == "__main__":
    main()
