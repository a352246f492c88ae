"""Links of the documents and runbooks lead to files that are there, and to headings that they have."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt

from docs.generator.site import PAGES, stage
from tests.all_of import each_of
from tests.shared import REPO

FILES = sorted({path for pattern in PAGES for path in REPO.glob(pattern)})
OTHERS = sorted({*REPO.glob("*.md"), *REPO.glob("*/README.md")} - {*FILES})  # of no site
MARKDOWN = MarkdownIt("commonmark").enable("table")


@cache
def anchors(file: Path) -> frozenset[str]:
    """Those that GitHub gives the headings of a file."""
    tokens = MARKDOWN.parse(file.read_text(encoding="utf-8"))
    titles = [tokens[at + 1] for at, token in enumerate(tokens) if token.type == "heading_open"]
    seen: Counter[str] = Counter()
    found = set()
    for title in titles:
        text = "".join(each.content for each in title.children or [] if each.type in ("text", "code_inline"))
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return frozenset(found)


def links(file: Path) -> list[str]:
    inline = [token for token in MARKDOWN.parse(file.read_text(encoding="utf-8")) if token.type == "inline"]
    parts = [part for token in inline for part in token.children or []]
    return [str(part.attrGet("href") or part.attrGet("src")) for part in parts if part.type in ("link_open", "image")]


def wrong(file: Path, target: str) -> str:
    """Why a link leads nowhere; empty where it leads somewhere."""
    if re.match(r"https?://", target):
        return ""
    path, _, place = target.partition("#")
    leads = (file.parent / path).resolve() if path else file
    if not leads.exists():
        return f"{target}: there is no {path}"
    if place and leads.suffix == ".md" and place not in anchors(leads):
        return f"{target}: {leads.name} has no heading {place}"
    return ""


@each_of("file", [*FILES, *OTHERS], ids=lambda file: str(file.relative_to(REPO)))
def test_each_link_leads_to_what_is_there(file: Path) -> None:
    assert [why for target in links(file) if (why := wrong(file, target))] == []


def test_what_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b_c`, and D\n\n## A `b_c`, and D\n", encoding="utf-8")
    assert anchors(page) == {"a-b_c-and-d", "a-b_c-and-d-1"}
    assert wrong(page, "#a-b_c-and-d") == wrong(page, "page.md#a-b_c-and-d-1") == ""
    assert wrong(page, "other.md") == "other.md: there is no other.md"
    assert wrong(page, "#e") == "#e: page.md has no heading e"


def test_the_site_has_each_document_and_leads_elsewhere_only_to_the_repository(tmp_path: Path) -> None:
    stage(tmp_path / "site")
    staged = sorted((tmp_path / "site").rglob("*.md"))
    assert len(staged) == len(FILES)
    out = [f"{page.name}: {why}" for page in staged for target in links(page) if (why := wrong(page, target))]
    assert out == []
    text = "".join(page.read_text(encoding="utf-8") for page in staged)
    assert not re.search(r"^```sh \S", text, re.MULTILINE)
    others = set(
        re.findall(r"\]\(https://github\.com/kubevirt-steward/kubevirt-steward/(?:blob|tree)/main/([^)#]+)", text)
    )
    assert others
    assert [each for each in sorted(others) if not (REPO / each).exists()] == []


def test_each_document_is_in_the_navigation_of_the_site() -> None:
    site = (REPO / "docs/site.yaml").read_text(encoding="utf-8").partition("\nnav:")[2]
    documents = [str(path.relative_to(REPO)) for path in FILES if path.parent.name == "docs"]
    assert [each for each in documents if f" {each}\n" not in site] == []


def test_the_number_of_a_decision_is_its_own() -> None:
    found = sorted((REPO / "docs/adr").glob("*.md"))
    numbers = Counter(path.name.partition("-")[0] for path in found)
    assert [each for each, count in numbers.items() if count > 1] == [], "give the newer one the next free number"
    wrong = [path.name for path in found if not path.read_text("utf-8").startswith(f"# {int(path.name[:4])}. ")]
    assert wrong == [], "the heading begins with the number of the file name"


def test_what_a_newcomer_reads_names_modules_that_are_there() -> None:
    missing = []
    for name in ("docs/architecture.md", "CONTRIBUTING.md"):
        text = (REPO / name).read_text(encoding="utf-8")
        for found in re.findall(r"`((?:exporter|reconcile)[./][\w./]*\w)`", text):
            path = found if "/" in found else found.replace(".", "/")
            if "/x." not in found and not any(_there(each) for each in (path, path.rpartition("/")[0])):
                missing.append(f"{name}: {found}")
    assert missing == [], "write the name that the module has now"


def _there(path: str) -> bool:
    return (REPO / path).exists() or (REPO / f"{path}.py").exists()
