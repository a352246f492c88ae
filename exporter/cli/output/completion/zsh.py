"""Completions for zsh."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from .tree import Command

_SCRIPT = """\
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


def zsh(commands: Sequence[Command]) -> str:
    paths = " | ".join(f'"{" ".join(each.path[:-1])} {each.path[-1]}"' for each in commands if each.path)
    values = "\n".join(line for each in commands for line in _values(each))
    words = "\n".join(line for each in commands for line in _words(each))
    return _SCRIPT.format(paths=paths, values=values, words=words)


def _values(command: Command) -> Iterator[str]:
    """What follows an option that takes a value: of one that nobody knows, nothing is offered."""
    for option in command.options:
        if not option.flag:
            yield f"    {' | '.join(shlex.quote(f'{command.at} {name}') for name in option.names)})"
            if option.choices:
                yield f"        compadd -- {' '.join(map(shlex.quote, option.choices))}"
            elif option.files:
                yield "        _files"
            yield "        return ;;"


def _words(command: Command) -> Iterator[str]:
    words = " ".join(_described(word, text) for word, text in command.words)
    options = " ".join(_described(name, option.help) for option in command.options for name in option.names)
    yield f"    {shlex.quote(command.at)})"
    yield f"        found=({words})"
    yield f"        options=({options}) ;;"


def _described(word: str, text: str) -> str:
    return shlex.quote(f"{word.replace(':', chr(92) + ':')}:{text}" if text else word)
