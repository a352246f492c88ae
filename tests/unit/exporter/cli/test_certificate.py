"""`steward certificate`, and what is served by it."""

from __future__ import annotations

import os
import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from exporter.__main__ import main
from exporter.kube.get_json import JSONServer
from exporter.serve.server import certificates
from exporter.serve.server.certificates import Certificates
from reconcile.carry_out.finding_source import ExporterSource, SourceError
from tests.served import served

FILES = ("ca.crt", "tls.crt", "tls.key")


def made(folder: Path, *names: str) -> dict[str, bytes]:
    words = [word for name in names for word in ("--name", name)]
    assert main(["certificate", "--directory", str(folder), *words]) == 0
    return {name: (folder / name).read_bytes() for name in FILES}


async def test_the_sidecar_reads_findings_from_an_exporter_with_such_a_certificate(tmp_path: Path) -> None:
    made(tmp_path / "new", "steward-exporter", "10.1.2.3")
    files = [tmp_path / "new" / name for name in FILES]
    trusts = ssl.create_default_context(cafile=str(files[0]))
    async with served(tls=(Certificates(*files[1:]), trusts)) as server:
        assert (await server.get("/healthz"))[0] == 200
        for name in ("", "steward-exporter", "10.1.2.3", "localhost"):
            source = ExporterSource(JSONServer(server.url, "", str(files[0]), name), lambda: 0.0)
            assert len((await source.observed()).findings) == 3
        with pytest.raises(SourceError, match="certificate"):
            await ExporterSource(JSONServer(server.url, "", str(files[0]), "steward-other"), lambda: 0.0).observed()
    assert files[2].stat().st_mode & 0o777 == 0o600


def test_what_is_valid_stays_and_anything_else_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(tmp_path, "a.example", "b.example")
    assert made(tmp_path, "b.example") == first  # which it is for, too
    second = made(tmp_path, "b.example", "c.example")
    assert not set(first.values()) & set(second.values())
    for name in FILES:
        (tmp_path / name).write_bytes(first[name])  # of another pair
        before, second = second, made(tmp_path, "b.example", "c.example")
        assert second["tls.crt"] != before["tls.crt"]
        (tmp_path / name).unlink()
        before, second = second, made(tmp_path, "b.example", "c.example")
        assert second["tls.crt"] != before["tls.crt"]
    monkeypatch.setattr(certificates, "LEAST", certificates.LIFE + timedelta(days=1))
    assert made(tmp_path, "b.example", "c.example") != second


def test_a_key_that_others_can_read_or_that_is_elsewhere_is_made_anew(tmp_path: Path) -> None:
    first = made(tmp_path, "a.example")
    (tmp_path / "tls.key").chmod(0o640)
    assert made(tmp_path, "a.example") == first  # as the kubelet makes it in a volume of a group
    (tmp_path / "tls.key").chmod(0o604)
    second = made(tmp_path, "a.example")
    assert second["tls.key"] != first["tls.key"]
    assert (tmp_path / "tls.key").stat().st_mode & 0o777 == 0o600

    (tmp_path / "tls.key").rename(tmp_path / "elsewhere")
    (tmp_path / "tls.key").symlink_to("elsewhere")
    assert made(tmp_path, "a.example")["tls.key"] != second["tls.key"]
    assert not (tmp_path / "tls.key").is_symlink()
    assert (tmp_path / "elsewhere").read_bytes() == second["tls.key"]  # nothing is written through a link


def test_a_key_of_another_owner_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(tmp_path, "a.example")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert made(tmp_path, "a.example")["tls.key"] != first["tls.key"]


def test_the_key_is_not_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = made(tmp_path, "a.example")["tls.key"]
    said = capsys.readouterr()
    assert key.splitlines()[1].decode() not in said.out + said.err


@pytest.mark.parametrize("name", ["", "a b", "https://a", "a:1", "*.example", "ä.example", "x" * 64])
def test_what_is_no_name_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certificate", "--directory", str(tmp_path), "--name", name]) == 2
    assert "is not a host name" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_can_not_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["certificate", "--directory", str(tmp_path / "file"), "--name", "a"]) == 2
    assert f"cannot write the certificate to {tmp_path / 'file'}: " in capsys.readouterr().err


def test_without_a_certificate_nothing_is_served_unless_that_is_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = tmp_path / "sidecar.yaml"
    ledger.write_text(f"ledger: {{directory: {tmp_path}}}\n")
    (tmp_path / "kubeconfig").write_text("{}")
    for words in (["serve"], ["reconcile", "run", "--config", str(ledger)]):
        assert main([*words, "--kubeconfig", str(tmp_path / "kubeconfig")]) == 2
        assert "For TLS, set tls.certFile and tls.keyFile" in (said := capsys.readouterr().err)
        assert "--insecure" in said
        assert len(said.splitlines()) == 1
