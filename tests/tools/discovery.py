"""Records what a real kube-apiserver answers to discovery: `KUBERNETES=1.33 python -m tests.tools.discovery`.

Writes tests/discovery/1.33.json: the documents by their paths, of the groups that the steward asks, from a server
without any CRD. Where KUBERNETES is not set, it is the version that the tests run against.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from exporter.checks import all_checks
from exporter.counts import all_states
from exporter.questions import all_views
from exporter.store.kind import ApiKind
from exporter.store.reader import watched
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.tools.build import tool

__all__ = ["FOLDER", "KINDS"]

FOLDER = Path(__file__).parents[1] / "discovery"
KINDS = [kind for kind in watched((*all_checks(), *all_states(), *all_views())) if isinstance(kind, ApiKind)]
ASKED = {"authentication.k8s.io", "authorization.k8s.io", "coordination.k8s.io"}  # reviews, and the sidecar's Lease


def documents(client: Client) -> dict[str, Any]:
    """By path, in the form that is not aggregated."""
    wanted = ASKED | {kind.group for kind in KINDS}

    def get(path: str) -> Any:
        return client.connection.request("GET", path)

    groups = get("/apis")
    groups["groups"] = [group for group in groups["groups"] if group["name"] in wanted]
    versions = [row["groupVersion"] for group in groups["groups"] for row in group["versions"]]
    paths = ["/version", "/api", "/api/v1", *(f"/apis/{version}" for version in versions)]
    return {path: get(path) for path in paths} | {"/apis": groups}


def record() -> Path:
    """The file that it wrote. Raises ToolMissing, and RuntimeError if the server does not start."""
    server = ApiServer(tool("etcd"), tool("kube-apiserver"))
    try:
        server.start()
        found = documents(server.client())
    finally:
        server.stop()
    found["/api"].pop("serverAddressByClientCIDRs", None)  # by where the server listens
    found["/version"] = version = {key: found["/version"][key] for key in ("major", "minor", "gitVersion")}
    file = FOLDER / f"{version['major']}.{version['minor']}.json"
    file.parent.mkdir(exist_ok=True)
    lines = (f"{json.dumps(path)}: {json.dumps(found[path])}" for path in sorted(found))
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return file


if __name__ == "__main__":
    print(record())
