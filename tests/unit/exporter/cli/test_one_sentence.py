"""What makes an answer impossible is one sentence and exit code 2, at once; nothing else is printed."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from demo.apiserver.server import kubeconfig
from exporter.__main__ import main
from tests.all_of import each_of
from tests.dumps import many

COMMANDS = [
    ["check"],
    ["networks"],
    ["vms"],
    ["features"],
    ["instancetypes"],
    ["drain", "--all-cordoned"],
    ["vm", "ns/db"],
    ["impact", "--disable", "VSOCK"],
]
Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture
async def answering(tmp_path: Path) -> AsyncIterator[Callable[[int, str], Awaitable[tuple[Path, str]]]]:
    """Serves one status and body for everything; gives the kubeconfig and the URL."""
    runners: list[web.ServerRunner] = []

    async def serve(status: int, body: str) -> tuple[Path, str]:
        async def answer(_: web.BaseRequest) -> web.Response:
            return web.Response(status=status, text=body, content_type="application/json")

        runner = web.ServerRunner(web.Server(answer, access_log=None), shutdown_timeout=0.1)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return kubeconfig(tmp_path, url), url

    yield serve
    for each in runners:
        await each.cleanup()


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@each_of("command", COMMANDS, ids=lambda words: words[0])
def test_a_server_that_is_not_there(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    path = kubeconfig(tmp_path, url)
    sentence = (
        f"steward: {url} is not reachable: Connection refused. Check the server in your kubeconfig and the network "
        "path to it: `kubectl cluster-info` asks the same one\n"
    )
    assert said(capsys, *command, "--kubeconfig", str(path)) == (2, "", sentence)


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (
            401,
            '{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "Unauthorized", "code": 401}',
            (
                "URL rejects your credentials (401 Unauthorized): they have expired or belong to another cluster. "
                "Log in again and check with `kubectl auth whoami`"
            ),
        ),
        (
            404,
            "not found",
            "URL is not a Kubernetes API: it answers /version with 404 not found. Check the server in your kubeconfig",
        ),
        (
            200,
            "<html>Welcome</html>",
            (
                "URL is not a Kubernetes API: it answers /version with another answer than a version. Check the "
                "server in your kubeconfig"
            ),
        ),
        (
            200,
            '{"version": "1.2"}',
            (
                "URL is not a Kubernetes API: it answers /version with another answer than a version. Check the "
                "server in your kubeconfig"
            ),
        ),
        (
            503,
            "starting",
            "URL can't respond now: 503 starting. Try again later, or check with `kubectl get --raw /readyz?verbose`",
        ),
    ],
)
async def test_a_server_that_answers_nothing_of_it(
    status: int,
    body: str,
    says: str,
    answering: Callable[[int, str], Awaitable[tuple[Path, str]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, url = await answering(status, body)
    code = await asyncio.to_thread(main, ["check", "--kubeconfig", str(path)])
    shown = capsys.readouterr()
    assert (code, shown.out, shown.err) == (2, "", f"steward: {says.replace('URL', url)}\n")


def test_a_context_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = kubeconfig(tmp_path, "http://127.0.0.1:1")
    sentence = f"steward: kubeconfig {path} has no context 'prod'; it has demo\n"
    assert said(capsys, "check", "--kubeconfig", str(path), "--context", "prod") == (2, "", sentence)


def node(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}}


def vm(namespace: str, name: str) -> dict[str, object]:
    spec = {"runStrategy": "Halted", "template": {"spec": {"domain": {}}}}
    metadata = {"namespace": namespace, "name": name, "uid": name}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata, "spec": spec}


def nad(namespace: str, name: str) -> dict[str, object]:
    config = json.dumps(
        {"type": "ovn-k8s-cni-overlay", "name": name, "topology": "layer2", "netAttachDefName": f"{namespace}/{name}"}
    )
    metadata = {"namespace": namespace, "name": name, "uid": name}
    kind = {"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition"}
    return {**kind, "metadata": metadata, "spec": {"config": config}}


def instancetype(name: str) -> dict[str, object]:
    kind = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineClusterInstancetype"}
    return {**kind, "metadata": {"name": name, "uid": name}, "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}}


INSTANCETYPE = "there is no VirtualMachineClusterInstancetype 'mediun'; did you mean medium?"
ID, SHOWS = "ffffffffffffffff", "shows the ids"
UNTIL = ["--until", "2099-01-01", "--because", "x"]
PAGE = "--exporter takes the address of a steward's page; `kubectl port-forward` makes one of a steward in a cluster"
MALFORMED = "the JSON is not well-formed"
CREATED = "as `kubectl create token` prints it"


@each_of(
    ("words", "says"),
    [
        (["check", "-n", "shpo"], "no namespace is called 'shpo'; did you mean shop?"),
        (["check", "-n", "zzz"], "no namespace is called 'zzz'; there are billing, shop"),
        (["networks", "bleu"], "no network is called 'bleu'; did you mean blue?"),
        (["networks", "zzz"], "no network is called 'zzz'; there are blue"),
        (["instancetypes", "mediun"], "no instancetype and no preference is called 'mediun'; did you mean medium?"),
        (["drain", "node1"], "no node is called 'node1'; did you mean node01?"),
        (["drain", "qq"], "no node is called 'qq'; there are node01, node02, node03, node04, node05 and 1 more"),
        (["vm", "shop/wbe"], "no VM is called 'shop/wbe'; did you mean shop/web?"),
        (["check", "--check", "zzz"], "no check is called 'zzz'; `steward explain` lists all"),
        (["check", "--reason", "Duplicat"], "no reason is called 'Duplicat'; did you mean Duplicate?"),
        (["check", "--reason", "zzz"], "no reason is called 'zzz'; `steward explain` lists all"),
        (["check", "vm/shop/wbe"], "no VM is called 'shop/wbe'; did you mean shop/web?"),
        (["check", "node/node1"], "no node is called 'node1'; did you mean node01?"),
        (["check", "network/bleu"], "no network is called 'bleu'; did you mean blue?"),
        (["check", "-l", "app=x"], "no VM has the labels app=x"),
        (["check", "--feature", "gpu_dr"], "no feature or feature gate is called gpu_dr; did you mean gpu_dra?"),
        (["check", "--feature", "zzz"], "no feature or feature gate is called zzz; `steward features` lists them"),
        (["impact", "--delete-instancetype", "mediun"], INSTANCETYPE),
        (["explain", ID], f"no finding and no cause has ID {ID}, or it is gone; `steward check -o wide` {SHOWS}"),
        (["check", ID], f"no finding and no cause has ID {ID}, or it is gone; `-o wide` {SHOWS}"),
        (["ignore", ID, *UNTIL], f"no open cause has the id {ID}, and no finding; `steward check -o wide` {SHOWS}"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_a_name_that_nothing_has(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dump.yaml"
    objects = [vm("shop", "web"), vm("billing", "db"), nad("shop", "blue"), instancetype("medium")]
    path.write_text(many([*objects, *(node(f"node0{number}") for number in range(1, 7))]), encoding="utf-8")
    assert said(capsys, *words, "--from", str(path), "--complete") == (2, "", f"steward: {says}\n")


FORBIDDEN = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "Forbidden", "code": 403}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "{",
            (
                "the dump has no Kubernetes object that can be read; PATH: not JSON: Expecting property name enclosed "
                "in double quotes: line 1 column 2 (char 1)"
            ),
        ),
        (
            json.dumps(FORBIDDEN),
            "the dump has no Kubernetes object that can be read; PATH: it contains an error response: Forbidden",
        ),
        ("", "the dump has no Kubernetes object"),
    ],
)
def test_a_dump_of_which_nothing_can_be_read(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dump.json"
    path.write_text(text, encoding="utf-8")
    assert said(capsys, "check", "--from", str(path)) == (2, "", f"steward: {says.replace('PATH', str(path))}\n")


@pytest.mark.parametrize("command", ["check", "status", "networks", "features", "instancetypes"])
def test_a_dump_without_any_object_is_not_a_whole_cluster(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": []}), encoding="utf-8")
    says = (
        "the dump has no Kubernetes object, and so it is not all of a cluster: each has namespaces; leave --complete "
    )
    says += "out"
    assert said(capsys, command, "--from", str(path), "--complete") == (2, "", f"steward: {says}\n")
    assert said(capsys, command, "--from", str(path))[0] == 2


def test_a_dump_and_a_kubeconfig_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nowhere"
    sentence = (
        f"steward: {path} can't be read: No such file or directory; name a directory, an archive or a file, or - for "
        "standard input\n"
    )
    assert said(capsys, "check", "--from", str(path)) == (2, "", sentence)
    assert said(capsys, "check", "--kubeconfig", str(path)) == (
        2,
        "",
        f"steward: kubeconfig {path} can't be used: there is no such file\n",
    )


@each_of("command", COMMANDS, ids=lambda words: words[0])
def test_a_running_steward_that_is_not_there(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    sentence = f"steward: {url} is not reachable: Connection refused; {PAGE}\n"
    assert said(capsys, *command, "--exporter", url) == (2, "", sentence)


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (401, "", f"URL needs a token (401), and your kubeconfig has none; give one with --token-file, {CREATED}"),
        (403, '{"error": "shop:web may see nothing"}', "URL does not let you see that (403): shop:web may see nothing"),
        (404, "not found", f"GET URL/api/v1/findings was answered with 404: not found; {PAGE}"),
        (
            200,
            "<html>Welcome</html>",
            f"URL answers /api/v1/findings otherwise than a steward of this release: {MALFORMED}; {PAGE}",
        ),
    ],
)
async def test_what_answers_is_no_steward_or_does_not_know_the_token(
    status: int,
    body: str,
    says: str,
    answering: Callable[[int, str], Awaitable[tuple[Path, str]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, url = await answering(status, body)
    code = await asyncio.to_thread(main, ["check", "--exporter", url])
    shown = capsys.readouterr()
    assert (code, shown.out, shown.err) == (2, "", f"steward: {says.replace('URL', url)}\n")


def test_what_is_unknown_in_another_namespace_does_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = vm("billing", "db") | {"spec": "nothing"}
    path = tmp_path / "dump.yaml"
    path.write_text(many([vm("shop", "web"), broken]), encoding="utf-8")
    dump = ["--from", str(path), "--complete"]
    assert main(["check", *dump]) == 2
    assert "billing" in capsys.readouterr().out
    assert main(["check", *dump, "-n", "billing"]) == 2
    capsys.readouterr()
    assert main(["check", *dump, "-n", "shop"]) == 1  # its own finding
    assert "billing" not in capsys.readouterr().out


@each_of(
    ("words", "sentence"),
    [
        (
            ["status", "--exporter", "here:1"],
            "steward: --exporter 'here:1' has no scheme; write it as http://here:1, or https://here:1\n",
        ),
        (
            ["vms", "--exporter", "ftp://steward"],
            "steward: --exporter 'ftp://steward' has no scheme; write it as http://steward, or https://steward\n",
        ),
    ],
)
def test_an_address_without_a_scheme(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, *words) == (2, "", sentence)


@each_of(
    "text",
    [
        "NAME   AGE   STATUS    READY\nweb    3d    Running   True\n",
        "NAMESPACE   NAME   AGE\nshop        web    3d\n",
        "NAME            TYPE   CLUSTER-IP   PORT(S)   AGE\nvirt-api  ClusterIP   10.0.0.1   443/TCP   3d\n",
    ],
)
def test_a_table_that_kubectl_prints_is_no_dump(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "vms.txt"
    path.write_text(text, encoding="utf-8")
    code, out, err = said(capsys, "check", "--from", str(path))
    why = f"{path}: it is a table that kubectl prints for people; get it again with -o yaml"
    assert (code, out, err) == (2, "", f"steward: the dump has no Kubernetes object that can be read; {why}\n")


def test_a_kind_that_is_none_has_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dump.yaml"
    path.write_text(many([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}]), encoding="utf-8")
    code, out, err = said(capsys, "check", "vmm/web", "--from", str(path), "--complete")
    assert (code, out, err) == (2, "", "steward: no kind that is checked is called 'vmm'; did you mean vm?\n")


def test_reconcile_alone_is_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "reconcile")
    assert (code, err, out.startswith("usage: steward reconcile ")) == (0, "", True)
