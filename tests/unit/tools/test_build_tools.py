"""The parts of tests/tools that decide; nothing is built or installed here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.all_of import each_of
from tests.tools.build import every, sentence, tool
from tests.tools.table import HERE, TOOLS, ToolMissing, cache_key, fits, parse_version


@each_of(
    ("printed", "version"),
    [
        ("etcd Version: 3.6.8\nGit SHA: 4fbb8e6\nGo Version: go1.24.13\n", (3, 6, 8)),
        ("Kubernetes v1.36.3\n", (1, 36, 3)),
        ("Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0\n", (1, 32, 4)),
        ("promtool, version 2.42.0+ds (branch: debian/sid)\n  go version: go1.19.8\n", (2, 42, 0)),
        ("prometheus, version  (branch: )\n  go version:       go1.26.8\n", None),
        ("3.6", (3, 6)),
        ("command not found", None),
        ("", None),
    ],
)
def test_the_first_version_that_a_tool_prints_is_its_own(printed: str, version: tuple[int, ...] | None) -> None:
    assert parse_version(printed) == version


@each_of(
    ("version", "oldest", "does"),
    [
        ((3, 6, 0), (3, 6), True),
        ((3, 6), (3, 6), True),
        ((3, 4, 23), (3, 6), False),
        ((3, 10), (3, 6), True),
        ((2, 53, 1), (3,), False),
        (None, (0,), False),
    ],
)
def test_an_installed_tool_must_be_new_enough(
    version: tuple[int, ...] | None, oldest: tuple[int, ...], does: bool
) -> None:
    assert fits(version, oldest) is does


def test_the_cache_key_follows_both_module_files(tmp_path: Path) -> None:
    keys = set()
    for mod, sums in (("a", "b"), ("a", "c"), ("c", "b"), ("ab", ""), ("", "ab")):
        (tmp_path / "go.mod").write_text(mod)
        (tmp_path / "go.sum").write_text(sums)
        assert cache_key(tmp_path) == cache_key(tmp_path)
        keys.add(cache_key(tmp_path))
    assert len(keys) == 5


@each_of("name", sorted(TOOLS))
def test_every_tool_has_its_module_files_and_is_declared_in_them(name: str) -> None:
    tool = TOOLS[name]
    top = HERE / tool.folder
    homes = [path.parent for path in top.glob("*/go.mod")] if tool.version_from else [tool.home]
    assert tool.home in homes
    for home in homes:
        mod = (home / "go.mod").read_text()
        assert (home / "go.sum").stat().st_size > 0
        assert "\ngo 1.26.0\n" in mod
        assert tool.package in mod


@pytest.mark.parametrize("version", ["1.33", "1.34", "1.35", "1.36"])
def test_each_version_of_kubernetes_that_can_be_asked_for_says_that_it_is(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES", version)
    asked = TOOLS["kube-apiserver"]
    assert asked.home.name == version
    flags = asked.linked
    assert f"gitMajor=1 -X k8s.io/component-base/version.gitMinor={version[2:]}" in flags
    assert f"gitVersion=v{version}." in flags


def test_a_version_that_is_asked_for_is_taken_from_path_only_if_it_is_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "path"), prepend=os.pathsep)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("KUBERNETES", "1.33")
    installed, assets = tmp_path / "path" / "kube-apiserver", tmp_path / "assets" / "kube-apiserver"
    folder = f"kube-apiserver-{cache_key(HERE / 'kube-apiserver' / '1.33')}"
    cached = tmp_path / "kubevirt-steward" / "tools" / folder / "kube-apiserver"
    for path in (installed, assets):
        program(path, "echo Kubernetes v1.36.3")
    program(cached, "true")
    assert tool("kube-apiserver") == cached
    program(installed, "echo Kubernetes v1.33.4")
    assert tool("kube-apiserver") == installed
    program(assets, "echo Kubernetes v1.33.1")
    assert tool("kube-apiserver") == assets


def test_a_version_that_is_not_there_is_refused_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEVIRT", "0.9.0")
    with pytest.raises(ToolMissing) as refused:
        TOOLS["virt-api"].home  # noqa: B018
    assert str(refused.value) == (
        "cannot get virt-api 0.9.0: KUBEVIRT may be 1.5.0, 1.6.0, 1.7.0; "
        "`python -m tests.tools.pin kubevirt VERSION` adds a version"
    )


def test_the_message_says_what_came_back_and_what_to_do() -> None:
    assert sentence(TOOLS["etcd"], "no space left on device") == (
        "cannot get etcd: not installed, and building it failed: no space left on device; "
        "put etcd 3.6 or newer on PATH, or point KUBEBUILDER_ASSETS at a folder that has it, "
        "or install Go 1.26 or newer, with access to a Go module proxy, to have it built"
    )
    assert "KUBEBUILDER_ASSETS" not in sentence(TOOLS["promtool"], "no space left on device")


def test_a_tool_in_the_assets_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assets, path = tmp_path / "assets", tmp_path / "path"
    for folder in (assets, path):
        program(folder / "etcd", "echo etcd Version: 3.6.8")
    monkeypatch.setenv("PATH", str(path), prepend=os.pathsep)
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    assert tool("etcd") == path / "etcd"

    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    assert tool("etcd") == assets / "etcd"


def test_a_tool_on_path_that_is_too_old_gives_way_to_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "path" / "promtool", "echo promtool, version 2.41.0")
    monkeypatch.setenv("PATH", str(tmp_path / "path"), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = f"prometheus-{cache_key(HERE / 'prometheus')}"
    cached = tmp_path / "kubevirt-steward" / "tools" / folder / "promtool"
    program(cached, "true")
    assert tool("promtool") == cached


def test_every_version_is_found_on_path_and_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = f"prometheus-{cache_key(HERE / 'prometheus')}"
    installed = tmp_path / "path" / "promtool"
    cached = tmp_path / "kubevirt-steward" / "tools" / folder / "promtool"
    program(installed, "echo promtool, version 2.42.0")
    monkeypatch.setenv("PATH", str(tmp_path / "path"), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert every("promtool") == (installed,)
    program(cached, "true")
    assert every("promtool") == (installed, cached)
    program(installed, "echo promtool, version 2.41.0")
    assert every("promtool") == (cached,)


def test_where_nothing_can_be_built_the_message_has_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "path" / "go", 'if [ "$1" = env ]; then echo go1.26.0; else echo "no route" >&2; exit 1; fi')
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    with pytest.raises(ToolMissing, match=r"cannot get amtool: .*no route; put amtool"):
        tool("amtool")
    (folder,) = (tmp_path / "kubevirt-steward" / "tools").iterdir()
    assert [path.name for path in folder.iterdir()] == ["amtool.lock"]


def program(path: Path, script: str) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
