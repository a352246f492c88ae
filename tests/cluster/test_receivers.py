"""rules/alertmanager/receivers.yaml: what PagerDuty, Slack, Teams and a mailbox get from a real Alertmanager."""

from __future__ import annotations

import email
import email.policy
import json
import re
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.case_files import read_yaml
from tests.cluster.alertmanager import Alertmanager
from tests.cluster.conftest import Tools
from tests.rules import RULES
from tests.waiting import wait_until

EXAMPLE = RULES / "alertmanager/receivers.yaml"
ALWAYS = {"cluster": "east", "kubernetes_operator_component": "kubevirt-steward"}
TEXTS = {"description": "What it means.", "runbook_url": "https://runbooks.example/x.md#y"}
MAC = {"alertname": "VMMACAddressDuplicate", "severity": "critical", "namespace": "shop", "kind": "VirtualMachine"}
CAUSE = {"alertname": "VMSerialDuplicate", "namespace": "shop", "reason": "SerialDuplicate", "per": "cause"}
NODE = {"alertname": "KubeVirtNodeLost", "namespace": "kubevirt-steward", "kind": "Node", "name": "node01"}
POOL = {"alertname": "VMNetworkPoolPressure", "namespace": "kubevirt-steward", "network": "blue"}
FIRED = [
    *(({**MAC, "name": f"db-{n}"}, f"VM shop/db-{n} runs with the MAC address of another VM.") for n in range(3)),
    ({**CAUSE, "cause": "c9"}, "7 findings SerialDuplicate with one cause in namespace shop (cluster east)."),
    (NODE, "Node node01 is not Ready."),
    (POOL, "Network blue has hardly any free address."),
]
TITLES = {
    "[FIRING:3] VMMACAddressDuplicate VirtualMachine shop/db-0, … (cluster east)",
    "[FIRING:1] VMSerialDuplicate: 7 findings SerialDuplicate with one cause in namespace shop (cluster east).",
    "[FIRING:1] KubeVirtNodeLost Node node01 (cluster east)",
    "[FIRING:1] VMNetworkPoolPressure blue (cluster east)",
}


class Received(dict[str, list[dict[str, str]]]):
    """Title and text of each message, by whom it was for."""

    def of(self, kind: str) -> dict[str, str]:
        return {each["title"]: each["text"] for each in self.get(kind, ())}

    def take(self, path: str, body: Any) -> None:
        self.setdefault(path.strip("/"), []).append(_READ[path.strip("/")](body))


_READ: dict[str, Callable[[Any], dict[str, str]]] = {
    "pagerduty": lambda body: {
        "title": body["payload"]["summary"],
        "text": body["payload"]["custom_details"]["alerts"],
    },
    "slack": lambda body: {key: body["attachments"][0][key] for key in ("title", "text")},
    "teams": lambda body: dict(
        zip(("title", "text"), (each["text"] for each in body["attachments"][0]["content"]["body"]), strict=True)
    ),
    "mail": lambda body: {"title": body["Subject"], "text": body.get_body(("plain",)).get_content()},
}


@pytest.fixture
def received(binary: Tools) -> Iterator[Received]:
    taken = Received()

    class Web(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.take(self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(202)
            self.end_headers()
            self.wfile.write(b'{"status": "success"}')

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002

    class Mail(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            while line := self.rfile.readline().strip().upper():
                self.wfile.write(b"354 go on\r\n" if line == b"DATA" else b"250 yes\r\n")
                if line == b"DATA":
                    text = b"".join(iter(self.rfile.readline, b".\r\n"))
                    taken.take("mail", email.message_from_bytes(text, policy=email.policy.default))
                    self.wfile.write(b"250 taken\r\n")

    with ExitStack() as ends:
        servers = [ThreadingHTTPServer(("127.0.0.1", 0), Web), socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mail)]
        for each in servers:
            threading.Thread(target=each.serve_forever, daemon=True).start()
            ends.callback(each.server_close)
            ends.callback(each.shutdown)
        web, mail = (f"127.0.0.1:{each.server_address[1]}" for each in servers)
        alertmanager = Alertmanager(binary("alertmanager"), config=configured(f"http://{web}", mail))
        ends.callback(alertmanager.stop)
        alertmanager.start()
        annotated = [
            {"labels": {**ALWAYS, **labels}, "annotations": {"summary": summary, **TEXTS}} for labels, summary in FIRED
        ]
        alertmanager.post(annotated)
        yield taken


def configured(web: str, mail: str) -> dict[str, Any]:
    """The example, as one receiver that sends to here."""
    document = read_yaml(EXAMPLE.read_text(encoding="utf-8"))
    every: dict[str, Any] = {"name": "all"}
    for receiver in document["receivers"]:
        every |= {key: each for key, each in receiver.items() if key != "name"}
    (pager,), (slack,), (teams,), (box,) = (
        every[f"{kind}_configs"] for kind in ("pagerduty", "slack", "msteamsv2", "email")
    )
    del pager["routing_key_file"], slack["api_url_file"], teams["webhook_url_file"]
    pager |= {"routing_key": "key", "url": f"{web}/pagerduty"}
    slack["api_url"], teams["webhook_url"] = f"{web}/slack", f"{web}/teams"
    box |= {"smarthost": mail, "require_tls": False}
    route = {"receiver": "all", "group_by": ["cluster", "alertname"], "group_wait": "1s"}
    templates = [str(RULES / "alertmanager" / path) for path in ("templates/*.tmpl",)]
    assert document["templates"] == ["/etc/alertmanager/templates/*.tmpl"]
    return {"templates": templates, "route": route, "receivers": [every]}


def test_each_of_them_says_which_alert_of_which_object_how_many_and_where(received: Received) -> None:
    wait_until(lambda: all(len(received.of(kind)) >= len(TITLES) for kind in _READ), 30, "all messages arrive")
    for kind in _READ:
        assert received.of(kind).keys() == TITLES
        text = received.of(kind)[next(title for title in TITLES if "MAC" in title)]
        told = re.sub(r"\s+", " ", text)
        for number in range(3):
            assert f"VM shop/db-{number} runs with the MAC address of another VM. What it means. https://runb" in told
