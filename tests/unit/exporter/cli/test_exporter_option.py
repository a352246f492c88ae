"""`--exporter URL`: with the token and the CA of options, else with those of the configuration's `source`."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from demo.apiserver.server import ApiServer, kubeconfig
from exporter.__main__ import main

NOTHING = {"generation": 1, "findings": [], "unknown": [], "ready": True, "fleet": {"virtualMachines": 0}}
NAME = "steward-exporter"


class Exporter:
    """One that is sent tokens, by TLS with a certificate for NAME alone."""

    def __init__(self) -> None:
        self.sent: list[str | None] = []
        self.url, self.status = "", 200

    async def answer(self, request: web.BaseRequest) -> web.Response:
        self.sent.append(request.headers.get("Authorization"))
        return web.json_response(NOTHING, status=self.status)


@pytest.fixture
async def exporter(tmp_path: Path) -> AsyncIterator[Exporter]:
    assert main(["certificate", f"--directory={tmp_path / 'tls'}", f"--name={NAME}"]) == 0
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "tls/tls.crt", tmp_path / "tls/tls.key")
    made = Exporter()
    runner = web.ServerRunner(web.Server(made.answer, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    made.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield made
    finally:
        await runner.cleanup()


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Path]:
    server = ApiServer()
    await server.start()
    try:
        yield kubeconfig(tmp_path, server.url)
    finally:
        await server.stop()


async def plan(cluster: Path, exporter: Exporter, *more: str) -> int:
    words = ["reconcile", "plan", "--kubeconfig", str(cluster), "--exporter", exporter.url, *more]
    return await asyncio.to_thread(main, words)


async def test_options_say_which_token_and_which_ca(exporter: Exporter, cluster: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n", encoding="utf-8")
    tls = ("--ca-file", str(tmp_path / "tls/ca.crt"), "--server-name", NAME)

    assert await plan(cluster, exporter, *tls, "--token-file", str(tmp_path / "token")) == 0
    assert exporter.sent == ["Bearer secret"]


async def test_without_them_the_configuration_does(exporter: Exporter, cluster: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n", encoding="utf-8")
    source = {
        "url": exporter.url,
        "tokenFile": str(tmp_path / "token"),
        "caFile": str(tmp_path / "tls/ca.crt"),
        "serverName": NAME,
    }
    config = tmp_path / "reconcile.yaml"
    config.write_text(json.dumps({"source": source}), encoding="utf-8")

    assert await plan(cluster, exporter, "--config", str(config)) == 0
    assert exporter.sent == ["Bearer secret"]
    (tmp_path / "other").write_text("another\n", encoding="utf-8")
    assert await plan(cluster, exporter, "--config", str(config), "--token-file", str(tmp_path / "other")) == 0
    assert exporter.sent[1:] == ["Bearer another"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "certificate verify failed"),
        (("--ca-file", "nowhere.crt"), "the CA certificates in nowhere.crt can't be read: No such file or directory"),
        (("--token-file", "nowhere"), "nowhere"),
    ],
)
async def test_what_is_missing_is_said(
    options: tuple[str, ...], says: str, exporter: Exporter, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await plan(cluster, exporter, *options) == 2
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1
    assert exporter.sent == []


def with_user(path: Path, tmp_path: Path, user: dict[str, str], *, trusted: bool = True) -> list[str]:
    """The kubeconfig with this user, and with the exporter's CA as that of its cluster."""
    config = json.loads(path.read_text(encoding="utf-8"))
    config["users"][0]["user"] = user
    config["clusters"][0]["cluster"] = {"server": "https://127.0.0.1:9"}  # which is not asked
    if trusted:
        config["clusters"][0]["cluster"]["certificate-authority"] = str(tmp_path / "tls/ca.crt")
    made = tmp_path / "kubeconfig.user"
    made.write_text(json.dumps(config), encoding="utf-8")
    return ["--kubeconfig", str(made)]


async def status(exporter: Exporter, *more: str) -> int:
    return await asyncio.to_thread(main, ["status", "--exporter", exporter.url, "--server-name", NAME, *more])


async def test_who_is_logged_in_with_kubectl_needs_no_token_and_no_ca(
    exporter: Exporter, cluster: Path, tmp_path: Path
) -> None:
    await status(exporter, *with_user(cluster, tmp_path, {"token": "mine"}))
    assert set(exporter.sent) == {"Bearer mine"}
    exporter.sent.clear()
    (tmp_path / "token").write_text("given", encoding="utf-8")
    more = ("--token-file", str(tmp_path / "token"), "--ca-file", str(tmp_path / "tls/ca.crt"))
    await status(exporter, *with_user(cluster, tmp_path, {"token": "mine"}), *more)
    assert set(exporter.sent) == {"Bearer given"}


async def test_the_token_goes_to_nobody_whose_certificate_is_not_trusted(
    exporter: Exporter, cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await status(exporter, *with_user(cluster, tmp_path, {"token": "mine"}, trusted=False)) == 2
    assert capsys.readouterr().err == (
        f"steward: the certificate of {exporter.url} can't be verified: unable to get local issuer certificate; "
        "--ca-file names its CA (ca.crt of Secret steward-exporter-tls), --server-name the host that it is for\n"
    )
    assert exporter.sent == []


async def test_a_kubeconfig_without_a_token_sends_none_and_that_is_said(
    exporter: Exporter, cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exporter.status = 401
    assert await status(exporter, *with_user(cluster, tmp_path, {})) == 2
    assert capsys.readouterr().err == (
        f"steward: {exporter.url} needs a token (401), and your kubeconfig has none; give one with --token-file, as "
        "`kubectl create token` prints it\n"
    )
    assert await status(exporter, *with_user(cluster, tmp_path, {"token": "old"})) == 2
    assert capsys.readouterr().err == (
        f"steward: {exporter.url} does not accept the token (401); log in again, or give one with --token-file, as "
        "`kubectl create token` prints it\n"
    )
    assert exporter.sent == [None, "Bearer old"]
