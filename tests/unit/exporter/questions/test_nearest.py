"""What somebody may have meant by a name that nothing has."""

from __future__ import annotations

import pytest

from exporter.questions.nearest import meant, nearest

VMS = ["billing/ledger-db", "shop/ledger-web", "shop/web-1", "web/api"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("shop/ledger-db", "billing/ledger-db"),  # the same name, in another namespace
        ("shop/ledger-wbe", "shop/ledger-web"),  # one that is like it, in the same namespace
        ("shop/web", "shop/web-1"),
        ("ledger-bd", "billing/ledger-db"),  # of any namespace
        ("shpo/web-1", "shop/web-1"),  # the namespace is what is wrong
        ("api", "web/api"),
        ("zzzz", ""),
        ("shop/zzzz", ""),
    ],
)
def test_of_names_with_a_namespace(name: str, near: str) -> None:
    assert nearest(name, VMS) == near


def test_of_names_without_one() -> None:
    assert nearest("node1", ["node01", "worker"]) == "node01"
    assert meant("zzz", ["b", "a", "a"], "nodes") == "there are a, b"
    assert meant("zzz", [], "nodes") == "there are no nodes"
