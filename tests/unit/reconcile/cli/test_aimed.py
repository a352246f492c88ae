"""Commands that a person is told to run next ask the same cluster."""

from __future__ import annotations

import argparse

import pytest

from reconcile.cli.next_commands import aimed


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("to resume: steward reconcile resume -n shop", "to resume: steward reconcile resume -n shop OWN"),
        ("steward reconcile undo a1 --accept copy; or wait", "steward reconcile undo a1 --accept copy OWN; or wait"),
        ("`steward reconcile plan` lists them.", "`steward reconcile plan OWN` lists them."),
        ("Run steward reconcile resume VM a/b.\n", "Run steward reconcile resume VM a/b OWN.\n"),
        ("do: steward reconcile unguard --all --accept copy", "do: steward reconcile unguard --all --accept copy OWN"),
        ("steward reconcile ledger a1 --object", "steward reconcile ledger a1 --object"),
    ],
)
def test_commands_that_ask_a_cluster_ask_the_same_one(text: str, wanted: str) -> None:
    given = argparse.Namespace(kubeconfig="/a b", context="c")
    assert aimed(text, given) == wanted.replace("OWN", "--kubeconfig '/a b' --context c")
    assert aimed(text, argparse.Namespace(kubeconfig=None, context=None)) == text
