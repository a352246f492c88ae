"""The style's baseline: a number may fall and never rise, and a new page begins at none."""

from __future__ import annotations

from tests.style.__main__ import fallen, pages, worse

ALLOWED = {"README.md": {"People": 2, "Length": 1}, "gone.md": {"People": 4}}


def test_more_hits_than_the_baseline_has_are_worse_and_a_new_page_has_none() -> None:
    now = {"README.md": {"People": 3, "Length": 1}, "docs/new.md": {"Field": 1}}
    assert list(worse(now, ALLOWED)) == [("README.md", "People", 3, 2), ("docs/new.md", "Field", 1, 0)]
    assert list(worse({"README.md": {"People": 2}}, ALLOWED)) == []


def test_the_baseline_only_falls() -> None:
    now = {"README.md": {"People": 1, "Length": 9}, "docs/new.md": {"Field": 1}}
    assert fallen(now, ALLOWED) == {"README.md": {"People": 1, "Length": 1}}


def test_each_kind_of_text_is_a_page() -> None:
    texts = dict(pages())
    assert {"README.md", "docs/quickstart.md", "rules/runbooks/VMPersistentIPBroken.md", "of/help.md"} < texts.keys()
    assert all(texts[f"of/{name}.md"].count("\n\n") > 100 for name in ("help", "alerts", "reasons", "strings"))
