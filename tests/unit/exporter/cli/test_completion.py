"""Completions, asked of the real shells; a shell that is not installed is skipped."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.__main__ import main
from exporter.cli.output.completion import CompletedCommand, tree
from exporter.cli.parsing import steward
from tests.all_of import each_of

Offered = Callable[[str], list[str]]
PROMPT = "ready> "


def needs(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", shell]) == 0
    path = folder / f"steward.{shell}"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    return path


@pytest.fixture
def bash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Offered:
    needs("bash")
    path = script("bash", tmp_path, capsys)

    def offered(line: str) -> list[str]:
        words = line.split(" ")
        asks = f'source {path}; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; _steward; '
        asks += 'printf "%s\\n" "${COMPREPLY[@]}"'
        ran = subprocess.run(["bash", "-uc", asks, "bash", *words], capture_output=True, text=True, cwd=tmp_path)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout.split()

    return offered


@pytest.fixture
def fish(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Offered:
    needs("fish")
    path = script("fish", tmp_path, capsys)

    def offered(line: str) -> list[str]:
        asks = f"source {path}; complete -C {line!r}"
        env = {**os.environ, "HOME": str(tmp_path)}
        ran = subprocess.run(["fish", "-c", asks], capture_output=True, text=True, cwd=tmp_path, env=env)
        assert (ran.returncode, ran.stderr) == (0, "")
        return [line.partition("\t")[0] for line in ran.stdout.splitlines()]

    return offered


def until(master: int, text: str) -> str:
    """What a shell writes until a text is there."""
    seen, end = "", time.monotonic() + 30
    while text not in seen:
        ready, _, _ = select.select([master], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise TimeoutError(f"{text!r} does not come after {seen!r}")
        seen += os.read(master, 65536).decode(errors="replace")
    return seen


@pytest.fixture
def zsh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Offered:
    """Of an interactive shell: what becomes of a line when Tab is pressed."""
    needs("zsh")
    path = script("zsh", tmp_path, capsys)

    def offered(line: str) -> list[str]:
        child, master = pty.fork()
        if child == 0:
            os.chdir(tmp_path)
            os.execvpe("zsh", ["zsh", "-fi"], {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(tmp_path)})
        try:
            start = f"PS1='{PROMPT[:3]}''{PROMPT[3:]}'; autoload -U compinit; compinit -u -D; source {path}\n"
            os.write(master, start.encode())
            until(master, PROMPT)
            # Then, at its beginning, what makes nothing of it run, and at its end what says that it is over.
            os.write(master, f"{line}\t\x01: \x05 ; print e''nd\n".encode())
            seen = until(master, "end")
        finally:
            os.close(master)
            os.waitpid(child, 0)
        return seen.split()

    return offered


ASKED = [
    ("steward chec", ["check"]),
    ("steward reconcile app", ["apply", "approve"]),
    ("steward check --sev", ["--severity"]),
    ("steward check -o j", ["json"]),
    ("steward --log-level war", ["warning"]),
    ("steward --log-level debug netw", ["networks"]),
    ("steward completion z", ["zsh"]),
    ("steward help dra", ["drain"]),
    ("steward check -n chec", []),
    ("steward config sh", ["show"]),
]


@each_of(("line", "offered"), ASKED)
def test_bash_is_offered_what_may_follow(line: str, offered: list[str], bash: Offered) -> None:
    assert sorted(bash(line)) == offered


@each_of(("line", "offered"), ASKED)
def test_fish_is_offered_what_may_follow(line: str, offered: list[str], fish: Offered) -> None:
    assert sorted(fish(line)) == offered


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("steward comple", "steward completion "),
        ("steward check --sever", "steward check --severity "),
        ("steward check -o js", "steward check -o json "),
        ("steward reconcile le", "steward reconcile ledger "),
    ],
)
def test_zsh_completes_what_only_one_thing_can_follow(line: str, becomes: str, zsh: Offered) -> None:
    assert " ".join(becomes.split()) in " ".join(zsh(line))


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_file_is_offered_where_one_is_named(shell: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    (tmp_path / "dump.tar").touch()
    offered: Offered = request.getfixturevalue(shell)
    assert offered("steward check --from du") == ["dump.tar"]


def every_command() -> list[CompletedCommand]:
    commands = list(tree(steward()))
    assert {"check", "vm", "ignore", "reconcile clean", "reconcile undo", "demo"} <= {each.at for each in commands}
    return commands


EACH_LINE = {
    "bash": (
        'source FILE; while IFS= read -r line; do read -ra COMP_WORDS <<< "$line"; COMPREPLY=(); '
        '[[ $line != *" " ]] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _steward; '
        'printf "%s\\n" "${COMPREPLY[*]}"; done'
    ),
    "fish": "source FILE; while read -l line; echo (complete -C $line | string split -f 1 \\t); end",
}


@pytest.mark.parametrize("shell", EACH_LINE)
def test_every_option_and_every_choice_of_every_command_is_offered(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs(shell)
    wanted: dict[str, set[str]] = {}
    for command in every_command():
        called = " ".join(("steward", *command.path))
        wanted[f"{called} --"] = {name for each in command.options for name in each.names if name.startswith("--")}
        wanted[f"{called} "] = {word for word, _ in command.words}
        for option in command.options:
            wanted |= {f"{called} {name} ": set(option.choices) for name in option.names if option.choices}
    assert len(wanted) > 100
    asks = EACH_LINE[shell].replace("FILE", str(script(shell, tmp_path, capsys)))
    ran = subprocess.run(
        [shell, "-c", asks],
        input="".join(f"{line}\n" for line in wanted),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    offered = dict(zip(wanted, (set(line.split()) for line in ran.stdout.splitlines()), strict=True))
    assert {line: of - offered[line] for line, of in wanted.items() if of - offered[line]} == {}


def test_zsh_lists_every_option_of_every_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As an interactive shell does where Tab is pressed and many may follow."""
    needs("zsh")
    path = script("zsh", tmp_path, capsys)
    child, master = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-fi"], {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(tmp_path)})
    missing = {}
    try:
        start = f"stty -echo; LISTMAX=10000; autoload -U compinit; compinit -u -D; source {path}; PS1='rea''dy> '\n"
        os.write(master, start.encode())
        until(master, "ready> ")
        for number, command in enumerate(every_command()):
            line = " ".join(("steward", *command.path, "--"))
            os.write(master, f"{line}\t\x15PS1='ne''xt{number}> '\n".encode())
            listed = until(master, f"next{number}> ")
            options = {name for each in command.options for name in each.names if name.startswith("--")}
            if left_out := options - set(listed.split()):
                missing[command.at] = left_out
    finally:
        os.close(master)
        os.waitpid(child, 0)
    assert missing == {}


def test_another_shell_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "invalid choice: 'tcsh' (choose from" in capsys.readouterr().err
