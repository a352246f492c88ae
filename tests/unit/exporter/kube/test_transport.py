"""Credentials come from the kubeconfig or the pod, are refreshed, and fail with one clear sentence."""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio.config import incluster_config

from exporter.kube.errors import ConfigError, KubeError, StatusError
from exporter.kube.transport import Transport
from tests.secure_server import config, gate

from ....secure_server import clean_environment, get, opened

__all__ = ["clean_environment"]

PLUGIN = """
import json, os, pathlib, sys
runs = pathlib.Path(sys.argv[1])
runs.write_text(runs.read_text() + "." if runs.exists() else ".")
version = json.loads(os.environ["KUBERNETES_EXEC_INFO"])["apiVersion"]
status = {"token": f"t{len(runs.read_text())}", "expirationTimestamp": sys.argv[2]}
print(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status}))
"""


def plugin(folder: Path, expires: timedelta, version: str = "v1") -> dict[str, Any]:
    """A user whose tokens come from a program: t1, t2, …"""
    (folder / "plugin.py").write_text(PLUGIN)
    moment = (datetime.now(UTC) + expires).strftime("%Y-%m-%dT%H:%M:%SZ")
    arguments = [str(folder / "plugin.py"), str(folder / "runs"), moment]
    return {
        "exec": {"apiVersion": f"client.authentication.k8s.io/{version}", "command": sys.executable, "args": arguments}
    }


# -- which cluster and user


async def test_the_current_context_and_a_named_one(tmp_path: Path) -> None:
    async with gate() as here, gate() as there:
        config(tmp_path / "a", here.url, {"token": "one"})
        config(tmp_path / "b", there.url, {"token": "two"})
        merged = os.pathsep.join((str(tmp_path / "a"), str(tmp_path / "missing"), str(tmp_path / "b")))
        async with opened(merged, "a") as transport:
            assert await get(transport) == b"first last"
            assert transport.server == here.url
        async with opened(merged, "b") as transport:
            await get(transport)

    assert (here.shown, there.shown) == (["Bearer one"], ["Bearer two"])
    assert here.agents == ["kubevirt-steward"]


async def test_kubeconfig_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with gate() as here:
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(config(tmp_path / name, here.url) for name in "ab"))
        async with opened(None, "a") as transport:
            await get(transport)
    assert here.shown == [""]


async def test_kubeconfig_at_the_default_path(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    async with gate() as here:
        config(tmp_path / ".kube" / "config", here.url, {"username": "me", "password": "x"})
        async with opened(None) as transport:
            await get(transport)
    assert here.shown == ["Basic bWU6eA=="]


async def test_a_password_in_netrc_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("default login someone password else\n")
    (tmp_path / ".netrc").chmod(0o600)
    async with gate() as here, opened(config(tmp_path / "a", here.url, {"token": "mine"})) as transport:
        await get(transport)
    assert here.shown == ["Bearer mine"]


SERVER = '{"clusters":[{"name":"a","cluster":{"server":"http://127.0.0.1:1"}}],'
HERE = '"current-context":"a"}'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it does not have the shape of a kubeconfig"),
        ("- a\n- b", "it does not have the shape of a kubeconfig"),
        ("a: [b", "while parsing a flow sequence"),
        ("{}", "Expected key current-context"),
        (SERVER + '"contexts":[],' + HERE, "Expected object with name a in"),
        (SERVER + '"contexts":[{"name":"a","context":{"cluster":"b"}}],' + HERE, "Expected object with name b in"),
        (
            SERVER + '"contexts":[{"name":"a","context":{"cluster":"a","user":"u"}}],' + HERE,
            "its context refers to user 'u'",
        ),
        (
            SERVER.replace("server", "sever") + '"contexts":[{"name":"a","context":{"cluster":"a"}}],' + HERE,
            "its cluster has no server",
        ),
    ],
    ids=["empty", "list", "no YAML", "no context", "context missing", "cluster missing", "user missing", "no server"],
)
async def test_a_bad_kubeconfig(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "bad"
    path.write_text(text)
    async with opened(str(path)) as transport:
        with pytest.raises(ConfigError) as caught:
            await get(transport)
        with pytest.raises(ConfigError) as again:
            await get(transport)

    assert str(caught.value).startswith(f"kubeconfig {path} can't be used: ")
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(again.value) == str(caught.value)  # also for a request too soon after the failure


async def test_a_missing_kubeconfig_and_none_at_all(tmp_path: Path) -> None:
    async with opened(str(tmp_path / "none")) as transport:
        with pytest.raises(ConfigError, match=r"^kubeconfig .*/none can't be used: there is no such file$"):
            await get(transport)
    with pytest.raises(ConfigError, match=r"^no cluster is configured: .*. Set one with --kubeconfig$"):
        Transport.from_environment()


async def test_a_token_that_is_not_valid_in_a_header(tmp_path: Path) -> None:
    async with gate() as here, opened(config(tmp_path / "a", here.url, {"token": "a\r\nb"})) as transport:
        with pytest.raises(KubeError, match=r"can't be sent"):
            await get(transport)


# -- refresh


async def test_a_token_file_is_reread(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")
    async with gate() as here:
        path = config(tmp_path / "a", here.url, {"tokenFile": str(token)})
        async with opened(path, token_seconds=60) as transport:
            await get(transport)
            token.write_text("new\n")
            await get(transport)
        async with opened(path, token_seconds=0) as transport:
            await get(transport)
            token.unlink()
            await get(transport)
            token.write_text("newest\n")
            await get(transport)
    assert here.shown == ["Bearer old", "Bearer old", "Bearer new", "Bearer new", "Bearer newest"]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_an_exec_plugin_runs_again_before_its_token_expires(tmp_path: Path, version: str) -> None:
    async with gate() as here:
        user = plugin(
            tmp_path, timedelta(minutes=1), version
        )  # less than the five minutes before which a token is renewed
        async with opened(config(tmp_path / "a", here.url, user)) as transport:
            await get(transport)
            await get(transport)
    assert here.shown == ["Bearer t2", "Bearer t3"]


async def test_an_exec_plugin_runs_again_after_a_401(tmp_path: Path) -> None:
    async with gate() as here:
        path = config(tmp_path / "a", here.url, plugin(tmp_path, timedelta(hours=1)))
        async with opened(path, reload_seconds=0) as transport:
            await get(transport)
            here.lets_in = lambda token: token == "Bearer t2"
            assert await get(transport) == b"first last"
    assert here.shown == ["Bearer t1", "Bearer t1", "Bearer t2"]


async def test_a_persistent_401_is_raised_after_one_retry(tmp_path: Path) -> None:
    async with gate(lets_in=lambda _: False) as here:
        path = config(tmp_path / "a", here.url, {"token": "bad"})
        async with opened(path, reload_seconds=0) as transport:
            with pytest.raises(StatusError, match=r"^401 Unauthorized$"):
                await get(transport)
        assert len(here.shown) == 2
        async with opened(path) as transport:  # just loaded, so not reloaded
            with pytest.raises(StatusError):
                await get(transport)
        assert len(here.shown) == 3


async def test_a_request_in_flight_survives_new_credentials(tmp_path: Path) -> None:
    async with gate() as here:
        path = config(tmp_path / "a", here.url, plugin(tmp_path, timedelta(hours=1)))
        async with opened(path, reload_seconds=0) as transport, transport.open("GET", "/held", read_seconds=5) as watch:
            for number in (2, 3, 4):
                here.lets_in = lambda token, wanted=f"Bearer t{number}": token == wanted  # type: ignore[misc]
                await get(transport)
            here.hold.set()
            assert await watch.read() == b"first last"


@pytest.mark.parametrize(
    "command", [[sys.executable, "-c", "raise SystemExit(3)"], ["no-such-program"], ["echo", "hello"]]
)
async def test_a_failing_exec_plugin(tmp_path: Path, command: list[str]) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": command[0], "args": command[1:]}}
    async with opened(config(tmp_path / "a", "http://127.0.0.1:1", user)) as transport:
        with pytest.raises(ConfigError, match=r"the exec plugin '.*' returned no credentials; run it by hand"):
            await get(transport)


def program(text: str) -> dict[str, Any]:
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": sys.executable, "args": ["-c", text]}}


HANGS = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path({where!r}).write_text(f"{{os.getpid()}} {{child.pid}}")
print("half of it", flush=True)
{then}
"""


def gone(pid: str) -> bool:
    """Whether a process has ended; one that waits for its parent to notice has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("then", ["time.sleep(600)", "sys.exit()"], ids=["hangs", "leaves a child with its output"])
async def test_an_exec_plugin_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path, then: str) -> None:
    where = tmp_path / "pids"
    path = config(tmp_path / "a", "http://127.0.0.1:1", program(HANGS.format(where=str(where), then=then)))
    async with opened(path, plugin_seconds=2) as transport:
        with pytest.raises(ConfigError) as caught:
            await get(transport)
    assert str(caught.value) == (
        f"kubeconfig {path}: the exec plugin '{sys.executable}' returned no credentials within 2 s and was ended"
    )
    pids = where.read_text().split()
    async with asyncio.timeout(10):
        while not all(map(gone, pids)):  # noqa: ASYNC110 # no event for the end of a process that is not ours
            await asyncio.sleep(0.01)


async def test_an_exec_plugin_that_never_stops_printing_is_ended(tmp_path: Path) -> None:
    path = config(tmp_path / "a", "http://127.0.0.1:1", program("while True: print('x' * 10000)"))
    async with opened(path) as transport:
        with pytest.raises(ConfigError, match=r"the exec plugin '.*' printed more than 1048576 bytes and was ended$"):
            await get(transport)


async def test_an_exec_plugin_may_complain_at_length(tmp_path: Path) -> None:
    said = "import sys; sys.stderr.write('x' * 1_000_000); "
    answer = '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}'
    async with (
        gate() as here,
        opened(config(tmp_path / "a", here.url, program(f"{said}print({answer!r})"))) as transport,
    ):
        await get(transport)
    assert here.shown == ["Bearer t"]


async def test_what_a_failing_exec_plugin_said_is_in_one_sentence(tmp_path: Path) -> None:
    text = "import sys; sys.stderr.write('log in\\nfirst' + 'x' * 5000); sys.exit(3)"
    async with opened(config(tmp_path / "a", "http://127.0.0.1:1", program(text))) as transport:
        with pytest.raises(
            ConfigError, match=r"see why: it ended with exit code 3, and said: log in firstx+$"
        ) as caught:
            await get(transport)
    assert len(str(caught.value)) < 700


async def test_an_exec_plugin_that_fails_later_leaves_the_token_that_is_still_valid(tmp_path: Path) -> None:
    async with gate() as here:
        user = plugin(tmp_path, timedelta(minutes=1))  # renewed five minutes before it expires: at each request
        async with opened(config(tmp_path / "a", here.url, user)) as transport:
            await get(transport)
            (tmp_path / "plugin.py").write_text("raise SystemExit(1)")
            await get(transport)
            await get(transport)
    assert here.shown == ["Bearer t2"] * 3


async def test_a_pods_token_is_sent_and_reread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tls: Any) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    async with gate(tls.server) as here:
        host, port = here.url.removeprefix("https://").split(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
        monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", tls.ca)
        async with opened(None, token_seconds=0) as transport:
            await get(transport)
            token.write_text("")  # as for a moment while it is written
            await get(transport)
            token.write_text("new")
            await get(transport)
        monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "none"))
        async with opened(None) as transport:
            with pytest.raises(ConfigError, match=r"the pod's ServiceAccount can't be used: Service token file does"):
                await get(transport)
    assert here.shown == ["bearer old", "bearer old", "bearer new"]
