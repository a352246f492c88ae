"""Commands that a person is told to run next ask the same cluster, those of a repair too."""

from __future__ import annotations

import argparse

from exporter.cli.input.once import aim_of
from tests.all_of import each_of


@each_of(
    ("text", "wanted"),
    [
        ("To resume: steward reconcile resume -n shop", "To resume: steward reconcile resume OWN -n shop"),
        ("steward reconcile undo a1 --accept copy; or wait", "steward reconcile undo OWN a1 --accept copy; or wait"),
        ("`steward reconcile plan` lists them.", "`steward reconcile plan OWN` lists them."),
        ("Run steward reconcile resume VM a/b.\n", "Run steward reconcile resume OWN VM a/b.\n"),
        (
            "do: steward reconcile clean --guards --accept copy",
            "do: steward reconcile clean OWN --guards --accept copy",
        ),
        ("steward reconcile clean --requests node05", "steward reconcile clean OWN --requests node05"),
        ("steward reconcile ledger a1 --object", "steward reconcile ledger a1 --object"),
        (
            "steward reconcile ledger a1 --object | kubectl create -f -",
            "steward reconcile ledger a1 --object | kubectl OWN create -f -",
        ),
        ("the owner kubectl-edit; kubectl.kubernetes.io/x", "the owner kubectl-edit; kubectl.kubernetes.io/x"),
    ],
)
def test_commands_that_ask_a_cluster_ask_the_same_one(text: str, wanted: str) -> None:
    given = argparse.Namespace(kubeconfig="/a b", context="c")
    assert aim_of(given).command(text) == wanted.replace("OWN", "--kubeconfig '/a b' --context c")
    assert aim_of(argparse.Namespace(kubeconfig=None, context=None)).command(text) == text
