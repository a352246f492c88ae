"""What is installed is what was locked, under licences that we may pass on, and the SBOM says so."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from email.message import Message
from importlib.metadata import PackageNotFoundError, requires
from typing import Any, cast

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.licences import licence, licence_of, refused, runtime
from release.locks import BUILD, DEV, PROJECT, RUNTIME, SITE, TOP, Locked, differences, locked, pyproject
from release.sbom import mistake, sbom
from tests.all_of import each_of

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HASH = "ab" * 32


def locks() -> dict[str, tuple[Locked, ...]]:
    return {name: locked((TOP / name).read_text(encoding="utf-8")) for name in (RUNTIME, BUILD, DEV, SITE)}


def project(**changes: Any) -> dict[str, Any]:
    """pyproject.toml with other dependencies of the product."""
    whole = dict(pyproject())
    return {**whole, "project": {**whole["project"], **changes}}


def test_the_locks_are_those_of_pyproject() -> None:
    assert list(differences(pyproject(), locks())) == []


@pytest.mark.parametrize(
    ("dependencies", "sentence"),
    [
        (["aiohttp>=3.14.5,<4", "orjson>=3"], "pyproject.toml asks for orjson>=3, requirements.lock has none"),
        (["aiohttp>=99"], "pyproject.toml asks for aiohttp>=99, requirements.lock has "),
        ([], "requirements.lock has aiohttp "),
    ],
    ids=["added", "raised", "removed"],
)
def test_a_change_of_pyproject_that_is_not_locked_is_named(dependencies: list[str], sentence: str) -> None:
    others = [each for each in pyproject()["project"]["dependencies"] if not each.startswith("aiohttp")]
    found = list(differences(project(dependencies=[*others, *dependencies]), locks()))
    assert any(each.startswith(sentence) for each in found), found


def test_the_tests_run_with_the_versions_that_the_product_is_installed_with() -> None:
    found = locks()
    other = tuple(replace(each, version="0.0.1") if each.name == "aiohttp" else each for each in found[RUNTIME])
    assert "requirements.lock has aiohttp 0.0.1, requirements-dev.lock has " in " ".join(
        differences(project(dependencies=[]), {**found, RUNTIME: other})
    )


@pytest.mark.parametrize("lock", [RUNTIME, BUILD, DEV, SITE])
def test_whatever_a_locked_package_asks_for_is_locked(lock: str) -> None:
    found = {each.name: each.version for each in locks()[lock]}
    for name in found:
        for requirement in required(name):
            asked = canonicalize_name(requirement.name)
            assert asked in found, f"{name} asks for {requirement}; run `make lock`"
            assert requirement.specifier.contains(found[asked], prereleases=True), (name, str(requirement))


def required(name: str) -> list[Requirement]:
    """What an installed package asks for here without an extra."""
    here = {**cast(dict[str, str], default_environment()), "extra": ""}
    try:
        asked = [Requirement(each) for each in requires(name) or ()]
    except PackageNotFoundError:  # it is for other platforms
        return []
    return [each for each in asked if each.marker is None or each.marker.evaluate(here)]


def test_an_entry_without_a_hash_is_refused() -> None:
    assert locked(
        f"# by uv\na-b==1.0 ; python_version > '3' \\\n    --hash=sha256:{HASH}\n    # via\n    #   c\n    #   d\n"
    ) == (Locked("a-b", "1.0", (HASH,), ("c", "d")),)
    with pytest.raises(ValueError, match=r"entry of a has no exact version or no hash; run `make lock`"):
        locked("a==1.0\n")
    with pytest.raises(ValueError, match="no exact version"):
        locked(f"a>=1.0 \\\n    --hash=sha256:{HASH}\n")


@each_of("package", runtime(), ids=lambda each: each.name)
def test_the_licence_of_every_package_is_allowed(package: Locked) -> None:
    expression = licence_of(package)
    assert not refused(expression), (
        f"{package.name} is under {expression or 'a licence that its metadata does not name'}, which is not allowed; "
        "do without it, or have the licence looked at and add it to ALLOWED in release/licences.py"
    )


@each_of(
    ("expression", "is_refused"),
    [
        ("MIT", False),
        ("Apache-2.0 AND MIT", False),
        ("GPL-3.0-only OR MIT", False),
        ("GPL-3.0-only", True),
        ("Apache-2.0 AND GPL-3.0-only", True),
        ("GPL-3.0-only WITH Classpath-exception-2.0", True),
        ("MIT AND (GPL-3.0-only OR ISC)", True),
        ("", True),
    ],
)
def test_a_licence_is_refused_where_no_alternative_is_allowed(expression: str, is_refused: bool) -> None:
    assert refused(expression) is is_refused


def test_a_licence_without_an_expression_is_read_where_it_is_short() -> None:
    old = Message()
    old["License"] = "Apache 2.0"
    whole = Message()
    whole["License"] = "Permission is hereby granted,\nfree of charge"
    assert licence("old", old) == "Apache-2.0"
    assert licence("whole", whole) == ""


def test_a_licence_is_not_read_from_another_version() -> None:
    with pytest.raises(ValueError, match=r"aiohttp 0\.0\.1, which is locked: \S+ is installed"):
        licence_of(Locked("aiohttp", "0.0.1", (HASH,), ()))


def test_the_sbom_has_every_locked_package_with_its_hashes_and_what_asks_for_it() -> None:
    text = sbom(runtime(), "1.2.3", MOMENT)
    assert mistake(text) is None
    document = json.loads(text)
    assert document["metadata"]["component"]["name"] == PROJECT
    assert document["metadata"]["component"]["version"] == "1.2.3"
    assert document["metadata"]["timestamp"] == "2026-01-02T03:04:05+00:00"
    components = {each["bom-ref"]: each for each in document["components"]}
    assert len(components) == len(runtime())
    graph = {each["ref"]: set(each.get("dependsOn", ())) for each in document["dependencies"]}
    url = {each.name: f"pkg:pypi/{each.name}@{each.version}" for each in runtime()}
    for each in runtime():
        component = components[url[each.name]]
        assert [one["content"] for one in component["externalReferences"][0]["hashes"]] == sorted(each.hashes)
        assert component["licenses"] == [{"expression": licence_of(each)}]
    direct = {canonicalize_name(Requirement(each).name) for each in pyproject()["project"]["dependencies"]}
    assert graph[f"pkg:pypi/{PROJECT}@1.2.3"] == {url[name] for name in direct}
    assert url["multidict"] in graph[url["aiohttp"]]


def test_the_same_lock_gives_the_same_sbom() -> None:
    assert sbom(runtime(), "1", MOMENT) == sbom(reversed(runtime()), "1", MOMENT)


def test_a_document_against_the_schema_is_refused() -> None:
    document = json.loads(sbom(runtime(), "1", MOMENT))
    document["components"][0]["type"] = "parcel"
    assert "parcel" in str(mistake(json.dumps(document)))
