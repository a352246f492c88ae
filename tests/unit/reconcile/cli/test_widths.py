"""On a terminal no row of plans and ledgers is wider than that, and nothing is cut off."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from exporter.__main__ import main
from exporter.findings.causes import Reference
from reconcile.cli.plan_text import shown
from reconcile.cli.several import indented, readable
from reconcile.decide.repair import Repair
from reconcile.ledger import Counted, Event, Ledger
from reconcile.plan.plan import Add, Plan, Refused
from tests.ledgers import plan

BEGAN = 1_790_000_000.0  # 2026-09-21T14:13:20Z
SPAN = ("--since", "2026-09-20T00:00:00Z")
FINALIZER = Add("/metadata/finalizers", ["kubevirt.io/persistent-ipam"])
CANARY = (
    "the canary of remediation release_ipam_claim stopped: IPAMClaim shop/db-0.blue: the finding came back; see to that"
)
RESUME = "steward reconcile resume --remediation release_ipam_claim"
WIDTHS = pytest.mark.parametrize("columns", [80, 200])

OnTerminal = Callable[..., str]


def of(name: str) -> Plan:
    made = plan(f"{name}.blue")
    step = msgspec.structs.replace(made.step, ops=(FINALIZER,))
    return msgspec.structs.replace(made, fingerprint=f"f-{name}", step=step, cause=Reference(network="blue"))


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, str]:
    """A ledger, and an attempt of it that has failed."""
    with Ledger.open(tmp_path / "ledger", clock=lambda: BEGAN, cluster="c-1") as ledger:
        ledger.append(Event.COUNTED, counts={"release_ipam_claim": Counted(44, 42)})
        ledger.append(Event.SHADOWED, plan=of("gone"), mode="shadow")
        done = ledger.append(Event.INTENDED, plan=of("web"), mode="apply", by="alice@example.com").attempt
        ledger.append(Event.DONE, attempt=done)
        ledger.append(Event.VERIFIED, attempt=done)
        failed = ledger.append(Event.INTENDED, plan=of("db"), mode="auto").attempt
        ledger.append(Event.FAILED, attempt=failed, why=f"admission webhook denied the request: {' because' * 20}")
    return tmp_path / "ledger", failed


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> OnTerminal:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def run(act: Callable[[], object], columns: int) -> str:
        with monkeypatch.context() as patched:
            patched.setenv("COLUMNS", str(columns))
            patched.setattr(sys, "stdout", Terminal())
            act()
            assert isinstance(sys.stdout, Terminal)
            return sys.stdout.getvalue()

    return run


@WIDTHS
@pytest.mark.parametrize(
    "words",
    [(), ("--shadow",), ("--shadow", "--by-cause"), ("--daily", *SPAN), ("--summary", *SPAN), ("ATTEMPT",)],
    ids=lambda words: " ".join(words) or "list",
)
def test_a_ledger_is_whole_in_any_width(
    on_terminal: OnTerminal,
    capsys: pytest.CaptureFixture[str],
    written: tuple[Path, str],
    words: tuple[str, ...],
    columns: int,
) -> None:
    directory, attempt = written
    command = ["reconcile", "ledger", *(attempt if each == "ATTEMPT" else each for each in words)]
    command += ["--ledger", str(directory)]
    text = on_terminal(lambda: main(command), columns)

    main(command)
    assert text.split() == capsys.readouterr().out.split()
    assert max(map(len, text.splitlines())) <= columns


@WIDTHS
def test_a_plan_is_broken_between_words_and_its_commands_are_not(on_terminal: OnTerminal, columns: int) -> None:
    refused = Refused("controller_can", f"{CANARY}, then: {RESUME}")
    command = f"steward reconcile apply 3f9c2a --remediation release_ipam_claim --plan {'0123456789abcdef' * 4}"
    repair = Repair(
        fingerprint="3f9c2a51d07be846",
        remediation="release_ipam_claim",
        check="ipam_claims",
        reason="StuckTerminatingBlocksOwnerDeletion",
        subject="IPAMClaim shop/db-0.blue",
        namespace="shop",
        mode="plan",
        state="refused",
        at=0.0,
        refused=refused,
        commands=(command,),
    )
    aim = argparse.Namespace(kubeconfig="", context="east")

    lines = on_terminal(lambda: print(readable(shown([repair]), aim), end=""), columns).splitlines()

    own = "--context east"
    command, resume = command.replace(" apply", f" apply {own}"), RESUME.replace(" resume", f" resume {own}")
    assert lines[-1] == f"  run      {command}"
    assert any(resume in line for line in lines)
    assert max(len(line) for line in lines if resume not in line and command not in line) <= columns
    words = " ".join(" ".join(lines).split())
    assert f"{CANARY}, then: {resume}" in words
    if columns == 80:
        assert {line[:11].strip() for line in lines[1:-1] if line[0] == " "} >= {"refused", ""}


@WIDTHS
def test_a_row_of_what_is_taken_off_is_broken_between_words(columns: int) -> None:
    text = (
        f"VirtualMachine shop/{'long-name-' * 5}: annotation steward.kubevirt.io/paused, label steward.kubevirt.io/hold"
    )
    lines = indented(text, columns).splitlines()
    assert max(map(len, lines)) <= columns
    assert " ".join(lines).split() == text.split()
    assert indented(text, None) == f"  {text}\n"
