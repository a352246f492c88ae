"""Links and the Prometheus that is asked: what a file, a variable and the schema may say of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from exporter.checks import all_checks
from exporter.config.documents import as_yaml, schema
from exporter.config.loading import Loaded, Sources, load
from exporter.config.mistakes import Mistakes
from exporter.config.outside import Link
from exporter.config.settings import Config
from tests.all_of import each_of

CHECKS = tuple(check for check in all_checks() if check.id == "ipam_claims")
CONSOLE = "https://console.example/k8s/ns/{namespace}/kubevirt.io~v1~VirtualMachine/{name}"


def loaded(folder: Path, content: Any, environment: dict[str, str] | None = None) -> Loaded | Mistakes:
    file = folder / "config.yaml"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return load(CHECKS, Sources(file, environment or {}, {}))


def config(folder: Path, content: Any, environment: dict[str, str] | None = None) -> Config:
    found = loaded(folder, content, environment)
    assert isinstance(found, Loaded), found
    return found.config


def refusal(folder: Path, content: Any, environment: dict[str, str] | None = None) -> str:
    """Path and sentence of the only mistake."""
    found = loaded(folder, content, environment)
    assert isinstance(found, Mistakes)
    (mistake,) = found.each
    return f"{mistake.path}: {mistake.what}"


def test_links_of_a_file_and_of_a_variable_are_the_same(tmp_path: Path) -> None:
    link = {"name": "Console", "url": CONSOLE, "kinds": ["VirtualMachine"]}
    (of_file,) = config(tmp_path, {"links": [link]}).links
    (of_variable,) = config(tmp_path, "", {"STEWARD_LINKS": json.dumps([link])}).links
    assert of_file == of_variable == Link(name="Console", url=CONSOLE, kinds=("VirtualMachine",))
    found = loaded(tmp_path, {"links": [link]})
    assert isinstance(found, Loaded)
    assert config(tmp_path, as_yaml(found)).links == (of_file,)  # what is shown can be a file
    assert next(key for key in found.keys if key.name == "links").live


@each_of(
    ("link", "sentence"),
    [
        ({"url": CONSOLE}, "links.0: a link needs a name"),
        ({"name": "x"}, "links.0: a link needs a url"),
        (5, "links.0: 5 is not allowed here. Write a mapping with name, url, kinds"),
        ({"name": "x", "url": CONSOLE, "kind": "VM"}, 'links.0.kind: no such key. Did you mean "kinds"?'),
        (
            {"name": "x", "url": "https://h/{nam}"},
            'links.0.url: "https://h/{nam}" has {nam}, which is not a field. Did you mean {name}?',
        ),
        (
            {"name": "x", "url": "javascript:alert(1)"},
            'links.0.url: "javascript:alert(1)" is not a link. Write it as https://HOST/PATH with {name} and the like',
        ),
        (
            {"name": "x", "url": "https://{name}.example/"},
            'links.0.url: "https://{name}.example/" has a field in its host. Fields can only stand after the host',
        ),
        (
            {"name": "x", "url": "https://admin:secret@h/"},
            "links.0.url: a link must not contain a user or a password: every user of the web UI sees it",
        ),
        (
            {"name": "x", "url": "https://h/{name"},
            'links.0.url: "https://h/{name" has a single brace. Write {name} for a name, %7B and %7D for braces',
        ),
        ({"name": "x", "url": "https://h/{cluster}"}, "links: {cluster} has no value. Set cluster too"),
    ],
)
def test_a_wrong_link_is_one_sentence(link: Any, sentence: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, {"links": [link]}) == sentence


def test_a_wrong_variable_is_called_by_its_name(tmp_path: Path) -> None:
    assert refusal(tmp_path, "", {"STEWARD_LINKS": "console"}) == 'STEWARD_LINKS: "console" is not a list of links'
    wrong = {"STEWARD_LINKS": "[{name: x, url: 'https://h/{nam}'}]"}
    assert refusal(tmp_path, "", wrong).startswith("STEWARD_LINKS: ")


def test_editors_know_what_a_link_is() -> None:
    links = schema(CHECKS)["properties"]["links"]
    assert links["items"]["$ref"].endswith("/Link")
    assert schema(CHECKS)["$defs"]["Link"]["additionalProperties"] is False
