"""Tiers in a checkout of their own: how far each is behind, what is run, and what is recorded of it."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shared import REPO
from tests.tools import tally
from tests.tools.tiers import NEVER, NOT_KNOWN, RECORDS, TABLE, main, records

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
ROWS = f"""
[quick]
run = "sh suite/passes.sh"
minutes = 1
paths = ["suite", "product/quick"]

[slow]
each = ["one", "two"]
run = "sh suite/passes.sh {{each}}"
minutes = 30
paths = ["product/{{each}}"]

[tests]
run = "{PYTEST} suite/test_a.py"
minutes = 2
paths = ["product/tests"]

[twice]
run = "sh -c '{PYTEST} suite/test_a.py && {PYTEST} -p xdist -n 2 suite/test_b.py'"
minutes = 6
paths = ["product"]

[true]
run = "true"
minutes = 4
paths = ["product"]

[false]
run = "sh -c 'sh suite/passes.sh; false'"
minutes = 5
paths = ["product"]

[needy]
run = "true"
minutes = 7
paths = ["product"]
needs = [{{ what = "the program nowhere-to-be-found", asks = "nowhere-to-be-found --version" }}]
"""
COUNTS = {"passed": 2, "skipped": 1}
PASSES = f"echo '{json.dumps(COUNTS)}' >> \"${tally.VARIABLE}\"\n"  # as pytest does, without its start
TESTS = "def test_one():\n    pass\n\n\ndef test_other():\n    pass\n"
SKIPPED = "import pytest\n\n\n@pytest.mark.skip(reason='not here')\ndef test_skipped():\n    pass\n"
FILES = {
    TABLE: ROWS,
    ".gitignore": "__pycache__/\n",
    "suite/passes.sh": PASSES,
    "suite/test_a.py": f"{SKIPPED}\n\n{TESTS}",
    "suite/test_b.py": TESTS,
    **{f"product/{name}/code.py": "" for name in ("quick", "one", "two", "tests")},
    "docs/support.md": "",
    "elsewhere.py": "",
}


def rows(*names: str) -> str:
    """The table with these rows alone."""
    return "".join(part for part in re.split(r"^(?=\[\w+\]$)", ROWS, flags=re.MULTILINE) if part[1:].startswith(names))


class Checkout:
    """A repository with tiers."""

    def __init__(self, top: Path) -> None:
        self.top = top

    def git(self, *words: str) -> str:
        name = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *name, *words], cwd=self.top, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        (self.top / name).parent.mkdir(parents=True, exist_ok=True)
        (self.top / name).write_text(text, encoding="utf-8")

    def commit(self, **files: str) -> str:
        """Commits all there is, with these texts; gives the commit."""
        for name, text in files.items():
            self.write(name, text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", "a change")
        return self.git("rev-parse", "HEAD")

    def tiers(self, *words: str) -> int:
        return main(words, self.top)

    def entry(self, name: str) -> Any:
        return records(self.top).get(name)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    for name in (tally.VARIABLE, "PYTEST_ADDOPTS", "GIT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(REPO))  # the checkout has a folder `tests` too
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take longer than the tests
    made = Checkout(tmp_path / "checkout")
    made.top.mkdir()
    made.git("init", "--quiet")
    made.commit(**FILES)
    return made


Table = Callable[[], dict[str, str]]


@pytest.fixture
def table(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> Table:
    """How far each tier is behind, as the table says it."""
    return lambda: table_of(checkout.top, capsys)


def table_of(top: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    capsys.readouterr()
    assert main(["--table"], top) == 0
    lines = capsys.readouterr().out.splitlines()
    start, end = lines[0].index("behind"), lines[0].index("last passed")
    return {line.split()[0]: line[start:end].strip() for line in lines[1:]}


def test_a_run_that_passes_is_recorded_with_its_commit_and_counts(checkout: Checkout) -> None:
    assert checkout.tiers("quick") == 0
    run = checkout.entry("quick")["passed"]
    assert (run["result"], run["counts"]) == ("passed", COUNTS)
    assert run["commit"] == checkout.git("rev-parse", "HEAD")
    assert 0 <= run["minutes"] < 5
    assert checkout.git("status", "--porcelain") == f"?? {RECORDS}"


def test_behind_are_the_commits_that_touch_its_paths(checkout: Checkout, table: Table) -> None:
    assert set(table().values()) == {NEVER}
    assert checkout.tiers("quick", "slow-one") == 0
    checkout.commit()
    now = table()
    assert (now["quick"], now["slow-one"], now["slow-two"]) == ("up to date", "up to date", NEVER)
    checkout.commit(**{"product/quick/code.py": "1"})
    checkout.commit(**{"elsewhere.py": "1"})
    checkout.commit(**{"suite/test_a.py": "1", "product/one/code.py": "1"})
    assert (table()["quick"], table()["slow-one"]) == ("2 commits", "1 commit")


def test_the_files_that_changed_are_listed(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    checkout.tiers("quick", "slow-one")
    checkout.commit(**{"product/quick/code.py": "1", "elsewhere.py": "1"})
    capsys.readouterr()
    assert checkout.tiers("--list", "quick", "slow-one") == 0
    assert capsys.readouterr().out.split("\n\n")[1:] == ["quick:\nproduct/quick/code.py\n"]


def test_what_is_behind_runs_and_the_cheapest_first(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    checkout.commit(**{TABLE: rows("slow", "quick")})

    def ran() -> list[str]:
        capsys.readouterr()
        assert checkout.tiers() == 0
        return [line.split()[1].strip(":") for line in capsys.readouterr().out.splitlines() if "usually" in line]

    assert ran() == ["quick", "slow-one", "slow-two"]
    assert ran() == []
    checkout.commit(**{"product/two/code.py": "1"})
    assert ran() == ["slow-two"]


def test_a_failure_is_recorded_beside_the_run_that_passed(checkout: Checkout, table: Table) -> None:
    passed = checkout.commit(**{TABLE: rows("slow")})
    assert checkout.tiers("slow") == 0
    failed = checkout.commit(**{"suite/passes.sh": f"{PASSES}[ $1 = one ]\n"})
    assert checkout.tiers("slow") == 1
    entry = checkout.entry("slow-two")
    assert (entry["passed"]["commit"], entry["failed"]["commit"]) == (passed, failed)
    assert (entry["failed"]["result"], entry["failed"]["counts"]) == ("failed", COUNTS)
    assert checkout.entry("slow-one")["passed"]["commit"] == failed

    assert table() == {"slow-one": "up to date", "slow-two": "up to date"}
    mended = checkout.commit(**{"suite/passes.sh": PASSES})
    assert checkout.tiers() == 0  # runs the one that failed, though none of its paths has changed
    assert checkout.entry("slow-two")["passed"]["commit"] == mended
    assert [set(checkout.entry(name)) for name in ("slow-one", "slow-two")] == [{"passed"}, {"passed"}]
    assert checkout.entry("slow-one")["passed"]["commit"] == failed


FAILS_TWICE = """
import pytest

@pytest.fixture
def failing_at_its_end():
    yield
    assert 0

def test_a(failing_at_its_end):
    assert 0
"""
NESTED = f"""
import subprocess

def test_nested():
    subprocess.run({f"{PYTEST} suite/test_b.py".split()}, check=True)
"""


@pytest.mark.parametrize(
    ("text", "result", "counts"),
    [
        pytest.param(FILES["suite/test_a.py"], "passed", COUNTS, id="passes"),
        pytest.param(f"{TESTS}\n\ndef test_c():\n    assert 0\n", "failed", {"passed": 2, "failed": 1}, id="fails"),
        pytest.param(SKIPPED, "nothing passed", {"skipped": 1}, id="skips all"),
        pytest.param("", "failed", {}, id="has no test"),
        pytest.param("import nothing_that_there_is", "failed", {"failed": 1}, id="is not collected"),
        pytest.param(FAILS_TWICE, "failed", {"failed": 1}, id="fails twice"),
        pytest.param(NESTED, "passed", {"passed": 1}, id="runs pytest"),
    ],
)
def test_what_pytest_says_of_the_tests_is_what_is_recorded(
    checkout: Checkout, text: str, result: str, counts: dict[str, int]
) -> None:
    checkout.commit(**{"suite/test_a.py": text})
    assert checkout.tiers("tests") == (0 if result == "passed" else 1)
    ((kept, run),) = checkout.entry("tests").items()
    assert (kept, run["result"], run["counts"]) == ("passed" if result == "passed" else "failed", result, counts)


@pytest.mark.parametrize(("name", "result"), [("true", "nothing passed"), ("false", "failed")])
def test_a_command_without_tests_and_one_that_fails_have_not_passed(checkout: Checkout, name: str, result: str) -> None:
    assert checkout.tiers(name) == 1
    assert set(checkout.entry(name)) == {"failed"}
    assert checkout.entry(name)["failed"]["result"] == result


def test_the_counts_of_several_runs_of_pytest_are_added_up(checkout: Checkout) -> None:
    assert checkout.tiers("twice") == 0
    assert checkout.entry("twice")["passed"]["counts"] == {"passed": 4, "skipped": 1}


def test_what_would_take_other_tests_does_not_reach_a_tier(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EXAMPLES", "MAKEFLAGS", "KUBERNETES"):
        monkeypatch.setenv(name, "a")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k test_other")
    seen = "import os\n\ndef test_seen():\n    assert not {'EXAMPLES', 'MAKEFLAGS', 'KUBERNETES'} & set(os.environ)\n"
    checkout.commit(**{"suite/test_a.py": f"{seen}\n{TESTS}"})
    assert checkout.tiers("tests") == 0
    assert checkout.entry("tests")["passed"]["counts"] == {"passed": 3}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["elsewhere.py"], "elsewhere.py is not committed"),
        (["new.py"], "new.py is not committed"),
        (["elsewhere.py", "new.py", "other.py"], "elsewhere.py and 2 more are not committed"),
    ],
)
def test_a_checkout_with_changes_is_refused(
    checkout: Checkout, capsys: pytest.CaptureFixture[str], changed: list[str], said: str
) -> None:
    for name in changed:
        checkout.write(name, "a = 1\n")
    assert checkout.tiers("quick") == 2
    assert capsys.readouterr() == ("", f"nothing was run: a record names the commit that was tested, and {said}\n")
    assert not (checkout.top / RECORDS).exists()


def test_records_that_are_not_committed_stop_no_further_tier(checkout: Checkout) -> None:
    assert checkout.tiers("quick") == 0
    checkout.write("docs/support.md", "made of the records\n")
    assert checkout.tiers("slow") == 0
    assert set(records(checkout.top)) == {"quick", "slow-one", "slow-two"}


@pytest.mark.parametrize(
    "change", ["echo >> elsewhere.py", "git -c user.name=a -c user.email=a@b commit -qm b --allow-empty"]
)
def test_a_checkout_that_changes_while_a_tier_runs_is_not_recorded(
    checkout: Checkout, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    checkout.commit(**{"suite/passes.sh": f"{PASSES}{change}\n"})
    assert checkout.tiers("quick") == 1
    assert "== quick: not recorded, the checkout changed while it ran\n" in capsys.readouterr().out
    assert checkout.entry("quick") is None


def test_a_tier_that_lacks_something_is_recorded_as_not_run(
    checkout: Checkout, capsys: pytest.CaptureFixture[str], table: Table
) -> None:
    checkout.commit(**{TABLE: rows("needy")})
    needed = "the program nowhere-to-be-found"
    assert checkout.tiers() == 0  # nobody asked for this one
    assert f"== needy: not run, it needs {needed} (" in capsys.readouterr().out
    assert checkout.entry("needy") == {"not run": needed}
    assert table() == {"needy": NEVER}
    assert checkout.tiers("needy") == 1


def test_a_run_ends_what_was_recorded_as_not_run(checkout: Checkout) -> None:
    lacks = {"not run": "a program"}
    checkout.commit(**{RECORDS: json.dumps({"quick": lacks, "no-tier-any-more": lacks})})
    assert checkout.tiers("quick") == 0
    assert set(records(checkout.top)) == {"quick"}
    assert set(checkout.entry("quick")) == {"passed"}


def test_a_clone_without_the_commit_says_so(
    checkout: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.tiers("quick")
    checkout.commit(**{"product/quick/code.py": "1"})
    clone = tmp_path / "clone"
    words = ("git", "clone", "--quiet", "--depth", "1", f"file://{checkout.top}", str(clone))
    subprocess.run(words, check=True)
    assert table_of(clone, capsys)["quick"] == NOT_KNOWN
    (clone / ".git").rename(tmp_path / "not-git")
    assert table_of(clone, capsys)["quick"] == NOT_KNOWN


def test_a_name_that_is_no_tier_is_refused_with_those_that_are(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checkout.tiers("slow-one", "slow-three") == 2
    assert capsys.readouterr().err.startswith("no tier slow-three; there are quick, slow-one, slow-two, tests, ")


WAITS = """
import socket

def test_waits():
    with socket.create_connection(("127.0.0.1", PORT)) as there:
        there.recv(1)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_what_it_started_and_is_not_recorded(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.delenv("PYTHONPATH")
    for name in ("__init__.py", "tools/__init__.py", "tools/tally.py", "tools/tiers.py"):
        checkout.write(f"tests/{name}", (REPO / "tests" / name).read_text("utf-8"))
    # Where SIGINT is ignored, as in a job that a shell started in the background, a new process ignores it too.
    words = ("env", "--default-signal=INT", sys.executable, "-m", "tests.tools.tiers", "tests")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        checkout.commit(**{"suite/test_a.py": WAITS.replace("PORT", str(server.getsockname()[1]))})
        with subprocess.Popen(words, cwd=checkout.top) as running:
            there, _ = server.accept()  # the test has begun
            with there:
                there.settimeout(60)
                running.send_signal(number)
                assert there.recv(1) == b""  # its process has ended
    assert running.returncode == 128 + number
    assert not (checkout.top / RECORDS).exists()
