"""Completions of the whole command line for the shells that people have, made of its parser."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["SHELLS", "completion"]

# A command line as completions need it: each command with its options, and what their values may be.

_FILES = ("FILE", "PATH", "[NAME=]PATH", "DIRECTORY", "DIR")  # metavars of what names a file


@dataclass(frozen=True)
class Option:
    """`names` are with their dashes. `choices` are all values that it may have, where these are known; `files` says
    that it names a file. What takes no value is a `flag`.
    """

    names: tuple[str, ...]
    help: str
    flag: bool
    choices: tuple[str, ...] = ()
    files: bool = False


@dataclass(frozen=True)
class CompletedCommand:
    """`path` is empty for the steward itself. `words` are what may follow: commands, or the values of an argument, each
    with what it is for.
    """

    path: tuple[str, ...]
    words: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]

    @property
    def at(self) -> str:
        return " ".join(self.path)


def tree(
    parser: argparse.ArgumentParser, path: tuple[str, ...] = (), top: dict[str, str] | None = None
) -> Iterator[CompletedCommand]:
    """The command of a parser, then those below it. `top` are those of the steward, which `help` takes."""
    words: dict[str, str] = dict(top or {}) if path == ("help",) else {}
    below: dict[str, argparse.ArgumentParser] = {}
    options = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            below |= action.choices
            words |= {each.dest: _plain(each.help) for each in action._choices_actions}
        elif action.option_strings:
            options.append(_option(action))
        elif action.choices:
            words |= {str(each): "" for each in action.choices}
    yield CompletedCommand(path, tuple(words.items()), tuple(options))
    for name, each in below.items():
        yield from tree(each, (*path, name), words if top is None else top)


def _option(action: argparse.Action) -> Option:
    choices = tuple(str(each) for each in action.choices or ())
    names, flag = tuple(action.option_strings), action.nargs == 0
    return Option(names, _plain(action.help), flag, choices, not choices and action.metavar in _FILES)


def _plain(text: str | None) -> str:
    """The first part of a help text, short enough for a list beside the words."""
    first = " ".join((text or "").partition(";")[0].split()).replace("%%", "%")
    return first if len(first) <= 60 else f"{first[:59].rstrip()}…"


# Completions for bash.

_SCRIPT = """\
# Completions of steward for bash: source <(steward completion bash)
_steward() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD - 1]}}" at="" words="" number
    COMPREPLY=()
    for ((number = 1; number < COMP_CWORD; number++)); do
        case "$at ${{COMP_WORDS[number]}}" in
        {paths}) at="${{at:+$at }}${{COMP_WORDS[number]}}" ;;
        esac
    done
    case "$at $previous" in
{values}
    esac
    case "$at" in
{words}
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -F _steward steward kubectl-steward
"""
_CHOICES = '        mapfile -t COMPREPLY < <(compgen -W {choices} -- "$current")'
_BASH_FILES = '        compopt -o filenames 2> /dev/null\n        mapfile -t COMPREPLY < <(compgen -f -- "$current")'


def bash(commands: Sequence[CompletedCommand]) -> str:
    paths = " | ".join(f'"{" ".join(each.path[:-1])} {each.path[-1]}"' for each in commands if each.path)
    values = "\n".join(line for each in commands for line in _values(each))
    words = "\n".join(_words(each) for each in commands)
    return _SCRIPT.format(paths=paths, values=values, words=words)


def _values(command: CompletedCommand) -> Iterator[str]:
    """What follows an option that takes a value: of one that nobody knows, nothing is offered."""
    for option in command.options:
        if not option.flag:
            yield f"    {' | '.join(shlex.quote(f'{command.at} {name}') for name in option.names)})"
            if option.choices:
                yield _CHOICES.format(choices=shlex.quote(" ".join(option.choices)))
            elif option.files:
                yield _BASH_FILES
            yield "        return ;;"


def _words(command: CompletedCommand) -> str:
    words = [word for word, _ in command.words]
    options = [name for option in command.options for name in option.names]
    return f"    {shlex.quote(command.at)}) words={shlex.quote(' '.join([*words, *options]))} ;;"


# Completions for fish.

_FISH_SCRIPT = """\
# Completions of steward for fish: steward completion fish | source
function __steward_at
    set -l at ''
    set -l words (commandline -opc)
    for word in $words[2..]
        switch "$at $word"
            case {paths}
                set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv[1]"
end
complete -c steward -f
{lines}
"""


def fish(commands: Sequence[CompletedCommand]) -> str:
    paths = " ".join(_quoted(f"{' '.join(each.path[:-1])} {each.path[-1]}") for each in commands if each.path)
    return _FISH_SCRIPT.format(paths=paths, lines="\n".join(line for each in commands for line in _lines(each)))


def _lines(command: CompletedCommand) -> Iterator[str]:
    where = "complete -c steward -n " + _quoted(f"__steward_at {_quoted(command.at)}")
    for word, text in command.words:
        yield f"{where} -a {_quoted(word)}{f' -d {_quoted(text)}' if text else ''}"
    for option in command.options:
        yield f"{where} {' '.join(_names(option))}{_fish_values(option)} -d {_quoted(option.help)}"


def _names(option: Option) -> Iterator[str]:
    for name in option.names:
        yield f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"


def _fish_values(option: Option) -> str:
    if option.flag:
        return ""
    if option.choices:
        return f" -x -a {_quoted(' '.join(option.choices))}"
    return " -r -F" if option.files else " -x"


def _quoted(text: str) -> str:
    """As fish reads single quotes: within them only these two are escaped."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# Completions for zsh.

_ZSH_SCRIPT = """\
#compdef steward kubectl-steward
# Completions of steward for zsh: source <(steward completion zsh), or as a file _steward in $fpath
_steward() {{
    local at='' word previous=$words[CURRENT-1]
    local -a found options
    for word in $words[2,CURRENT-1]; do
        case "$at $word" in
        {paths}) at="${{at:+$at }}$word" ;;
        esac
    done
    case "$at $previous" in
{values}
    esac
    case "$at" in
{words}
    esac
    [[ $PREFIX == -* ]] || _describe -t commands command found
    _describe -o -t options option options
}}
if [ "$funcstack[1]" = _steward ]; then
    _steward "$@"
else
    compdef _steward steward kubectl-steward
fi
"""


def zsh(commands: Sequence[CompletedCommand]) -> str:
    paths = " | ".join(f'"{" ".join(each.path[:-1])} {each.path[-1]}"' for each in commands if each.path)
    values = "\n".join(line for each in commands for line in _zsh_values(each))
    words = "\n".join(line for each in commands for line in _zsh_words(each))
    return _ZSH_SCRIPT.format(paths=paths, values=values, words=words)


def _zsh_values(command: CompletedCommand) -> Iterator[str]:
    """What follows an option that takes a value: of one that nobody knows, nothing is offered."""
    for option in command.options:
        if not option.flag:
            yield f"    {' | '.join(shlex.quote(f'{command.at} {name}') for name in option.names)})"
            if option.choices:
                yield f"        compadd -- {' '.join(map(shlex.quote, option.choices))}"
            elif option.files:
                yield "        _files"
            yield "        return ;;"


def _zsh_words(command: CompletedCommand) -> Iterator[str]:
    words = " ".join(_described(word, text) for word, text in command.words)
    options = " ".join(_described(name, option.help) for option in command.options for name in option.names)
    yield f"    {shlex.quote(command.at)})"
    yield f"        found=({words})"
    yield f"        options=({options}) ;;"


def _described(word: str, text: str) -> str:
    return shlex.quote(f"{word.replace(':', chr(92) + ':')}:{text}" if text else word)


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def completion(shell: str, parser: argparse.ArgumentParser) -> str:
    """A script for one of SHELLS."""
    return SHELLS[shell](tuple(tree(parser)))
