"""Completions for fish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .tree import Command, Option

_SCRIPT = """\
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


def fish(commands: Sequence[Command]) -> str:
    paths = " ".join(_quoted(f"{' '.join(each.path[:-1])} {each.path[-1]}") for each in commands if each.path)
    return _SCRIPT.format(paths=paths, lines="\n".join(line for each in commands for line in _lines(each)))


def _lines(command: Command) -> Iterator[str]:
    where = "complete -c steward -n " + _quoted(f"__steward_at {_quoted(command.at)}")
    for word, text in command.words:
        yield f"{where} -a {_quoted(word)}{f' -d {_quoted(text)}' if text else ''}"
    for option in command.options:
        yield f"{where} {' '.join(_names(option))}{_values(option)} -d {_quoted(option.help)}"


def _names(option: Option) -> Iterator[str]:
    for name in option.names:
        yield f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"


def _values(option: Option) -> str:
    if option.flag:
        return ""
    if option.choices:
        return f" -x -a {_quoted(' '.join(option.choices))}"
    return " -r -F" if option.files else " -x"


def _quoted(text: str) -> str:
    """As fish reads single quotes: within them only these two are escaped."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
