"""Completions for bash."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from .tree import Command

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
_FILES = '        compopt -o filenames 2> /dev/null\n        mapfile -t COMPREPLY < <(compgen -f -- "$current")'


def bash(commands: Sequence[Command]) -> str:
    paths = " | ".join(f'"{" ".join(each.path[:-1])} {each.path[-1]}"' for each in commands if each.path)
    values = "\n".join(line for each in commands for line in _values(each))
    words = "\n".join(_words(each) for each in commands)
    return _SCRIPT.format(paths=paths, values=values, words=words)


def _values(command: Command) -> Iterator[str]:
    """What follows an option that takes a value: of one that nobody knows, nothing is offered."""
    for option in command.options:
        if not option.flag:
            yield f"    {' | '.join(shlex.quote(f'{command.at} {name}') for name in option.names)})"
            if option.choices:
                yield _CHOICES.format(choices=shlex.quote(" ".join(option.choices)))
            elif option.files:
                yield _FILES
            yield "        return ;;"


def _words(command: Command) -> str:
    words = [word for word, _ in command.words]
    options = [name for option in command.options for name in option.names]
    return f"    {shlex.quote(command.at)}) words={shlex.quote(' '.join([*words, *options]))} ;;"
