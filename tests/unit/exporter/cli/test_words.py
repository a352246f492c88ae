"""A wrong word on the command line is one sentence of the command that it was given to, and exit code 2."""

from __future__ import annotations

import pytest

from exporter.__main__ import main
from tests.all_of import each_of


@each_of(
    ("words", "says"),
    [
        (["chek"], "steward: no command is called 'chek'; did you mean check?"),
        (["zzz"], "steward: no command is called 'zzz'; `steward help` says what it takes"),
        (["reconcile", "lan"], "steward reconcile: no command is called 'lan'; did you mean plan?"),
        (
            ["reconcile", "report", "-o", "html"],
            "steward reconcile: report is gone: `steward reconcile ledger --summary` ",
        ),
        (["reconcile", "remove", "--yes"], "steward reconcile: remove is gone: `steward reconcile clean --all` has "),
        (["reconcile", "unguard", "--all"], "steward reconcile: unguard is gone: `steward reconcile clean --guards` "),
        (
            ["reconcile", "call-off", "n"],
            "steward reconcile: call-off is gone: `steward reconcile clean --requests NODE`",
        ),
        (["check", "--sevrity", "info"], "steward check: no option is called --sevrity; did you mean --severity?"),
        (["networks", "--zzz=1"], "steward networks: no option is called --zzz; `steward help networks` says what it"),
        (["reconcile", "plan", "--zz"], "steward reconcile plan: no option is called --zz; `steward help reconcile p"),
        (
            ["networks", "a", "b"],
            "steward networks: 'b' is a word too many; `steward help networks` says what it takes",
        ),
        (["check", "-o", "foo"], "steward check: argument -o/--output: invalid choice: 'foo' (choose from "),
        (
            ["check", "-l", "a=("],
            "steward check: argument --selector/-l: 'a=(' is not a selector. Write it as zone=a,!gpu ",
        ),
        (["diff", "a"], "steward diff: the following arguments are required: PATH; `steward help diff` says what it"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_word_is_one_sentence(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(words)
    shown = capsys.readouterr()
    assert (code, shown.out, len(shown.err.splitlines())) == (2, "", 1)
    assert shown.err.startswith(says)
