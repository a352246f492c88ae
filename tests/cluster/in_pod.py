"""`steward` as a runbook calls it through `kubectl exec`: as the exporter's account. No pod runs behind the API server.

What it looks at are the objects of one test, months old: else most findings would wait for their grace. So they are
listed by the account, dumped, and the command gets the dump.

    python -m tests.cluster.in_pod KUBECONFIG NAMESPACE check --check ipam_claims
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from exporter.__main__ import main
from exporter.cli.parsers import all_commands
from exporter.questions.times import rfc3339
from tests.cluster.aged_objects import KINDS, aged, objects
from tests.cluster.client import Client
from tests.dumps import plain_list
from tests.evaluation import NOW

DAY = 86_400.0


def client_of(kubeconfig: Path) -> Client:
    found = json.loads(kubeconfig.read_text(encoding="utf-8"))
    cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
    return Client(cluster["server"], Path(cluster["certificate-authority"]), user["token"])


def dump(kubeconfig: Path, namespace: str, folder: Path) -> None:
    with client_of(kubeconfig) as client:
        for kind, resource in KINDS.items():
            says = {"kind": kind, "apiVersion": resource.api_version}
            items = [aged({**obj, **says}) for obj in objects(client, kind, resource, namespace)]
            (folder / f"{resource.plural}.{kind}.json").write_text(json.dumps(plain_list(items)), encoding="utf-8")


def takes_a_dump(command: str) -> bool:
    """Whether it looks at objects, which may be those of a dump."""
    commands = argparse.ArgumentParser().add_subparsers()
    for add in all_commands():
        add(commands)
    own = commands.choices.get(command)
    return own is not None and "--from" in own.format_help()


def run(kubeconfig: Path, namespace: str, words: list[str]) -> int:
    if not takes_a_dump(words[0]):
        return main([*words, "--kubeconfig", str(kubeconfig)] if words[0] == "explain" else words)
    with tempfile.TemporaryDirectory() as folder:
        dump(kubeconfig, namespace, Path(folder))
        now = ["--now", rfc3339(NOW + DAY)] if words[0] == "check" else []
        return main([*words, "--from", folder, "--complete", *now])


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
