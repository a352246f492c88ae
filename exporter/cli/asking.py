"""How a command asks a question: of a running exporter, of a look at a cluster, or of a dump; and says what it heard.

A command is a declaration: how its arguments are what the question is asked with, the text, and the exit code.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote

from ..config.settings import Config
from ..dump import read_dump
from ..engine.engine import Engine
from ..engine.evaluate import at_once
from ..kube.errors import UnreachableError
from ..offline.files import DumpError
from ..offline.source import ReadTally
from ..questions.asked import parameters, sent
from ..questions.finding_index import FindingIndex
from ..questions.question import Answer, Asked, NotThereError, Question, UnaskableError
from ..store.kind import Kind
from .input.config import configured
from .input.filters import UsageError
from .input.once import (
    aim_of,
    all_undated,
    complain_if_late,
    of_running,
    progress_line,
    refuse_both,
    refuse_complete_without_dump,
)
from .output.text.layout import Aim, aimed, written
from .output.text.screen import width
from .output.text.terminal import complain, say

if TYPE_CHECKING:
    from .input.looking import Look  # its client is dear to import, and a dump needs none

T = TypeVar("T")
WRONG = (UsageError, DumpError, NotThereError, UnaskableError, UnreachableError)
"""What a command ends with in one sentence, and exit code 2."""


@dataclass(frozen=True)
class Place:
    """Where an answer is taken: the engine of a `look` at a cluster, or of a dump of which this was `read`."""

    engine: Engine
    look: Look | None = None
    read: ReadTally | None = None

    def counted(self, of: Any) -> Any:
        """What is counted beside the findings; None for what has to be remembered."""
        if of is FindingIndex:
            return FindingIndex(self.engine)
        if not hasattr(of, "over"):
            return None
        return of.over(self.engine.cluster) if self.look is None else self.look.steward.aggregates.of(of)


async def from_anywhere(
    arguments: argparse.Namespace,
    config: Config,
    running: Callable[[], Awaitable[tuple[T, bool]]],
    taken: Callable[[Place], Awaitable[T]],
    also: Iterable[Kind[Any]] = (),
    **looks: Any,
) -> tuple[T, bool]:
    """What a `running` exporter says, else what is `taken` of a look, which `looks` narrows, or of a dump, of which
    `also` is read. With whether everything was seen in time.
    """
    if of_running(arguments):
        refuse_both(arguments)
        return await running()
    if arguments.dump is None:
        from .input.looking import looking  # not for a dump

        async with looking(arguments, config, **looks) as look:
            return await taken(Place(look.steward.engine, look)), look.in_time
    path, complete = arguments.dump, arguments.complete
    with progress_line() as progress:
        engine, tally = await read_dump(path, time.time(), config, complete=complete, progress=progress, also=also)
    return await taken(Place(engine, read=tally)), True


def asked_with(arguments: argparse.Namespace, asked: type[Asked]) -> Asked:
    """By the options that follow from its fields."""
    given = ((each, getattr(arguments, each.field)) for each in parameters(asked))
    return asked(**{each.field: tuple(value) if each.several else value for each, value in given if value is not None})


@dataclass(frozen=True)
class CommandQuestion(Generic[Asked, Answer]):
    """`text` is for so many columns, of what was looked at by those options, `code` for a whole answer, or one that is
    not. `chosen` is what is left, for who asks, of an answer on everything. `looks` narrows a look, `probed` asks the
    API server beside, and `lacking` are sentences on what is not known, with the command that says more. `formats` are
    those beside the text, JSON and YAML; `wide` is the text with nothing cut, where it is none of them.
    """

    question: Question[Asked, Answer]
    text: Callable[[Answer, Asked, int | None, Aim], str]
    code: Callable[[Answer, bool], int]
    asked: Callable[[argparse.Namespace], Asked] | None = None
    chosen: Callable[[Answer, Asked], Answer] | None = None
    looks: Callable[[Asked], Mapping[str, Any]] = lambda _: {}
    probed: Callable[[Answer, Look, argparse.Namespace], Awaitable[Answer]] | None = None
    lacking: Callable[[Answer, str], Iterable[str]] = lambda *_: ()
    formats: Mapping[str, Callable[[Answer], str]] = field(default_factory=dict)

    def run(self, arguments: argparse.Namespace) -> int:
        config = configured(arguments).config
        try:
            asked = self.asked(arguments) if self.asked else asked_with(arguments, self.question.asked)
            refuse_complete_without_dump(arguments)
            found, in_time = asyncio.run(self._found(arguments, config, asked))
        except WRONG as error:
            complain(str(error))
            return 2
        aim, output = aim_of(arguments), arguments.output
        columns = None if output == "wide" else width()
        text = self.formats.get(output) or (lambda each: self.text(aimed(each, aim), asked, columns, aim))
        say(written(found, output, text), output)
        complain_if_late(arguments, in_time)
        for sentence in self.lacking(found, f"`steward check{aim.steward}`"):
            complain(sentence)
        return self.code(found, in_time)

    async def _found(self, arguments: argparse.Namespace, config: Config, asked: Asked) -> tuple[Answer, bool]:
        question = self.question
        chosen = self.chosen or question.narrowed
        wanted = asked if chosen is None else question.asked()

        async def running() -> tuple[Answer, bool]:
            from .input.running import answer_of  # not for a dump

            parts = {name: quote(str(value), safe="") for name, value in asked._asdict().items()}  # type: ignore[attr-defined]
            path = f"/api/v1/{question.path.format(**parts)}"
            return await answer_of(arguments, path, question.answer, list(sent(wanted))), True

        async def taken(place: Place) -> Answer:
            found = at_once(question.steps(place.engine, place.counted(question.counted), wanted))
            if self.probed is not None and place.look is not None and arguments.probe:
                found = await self.probed(found, place.look, arguments)
            return all_undated(found)

        also = question.reading.reads if question.reading is not None else ()
        found, in_time = await from_anywhere(arguments, config, running, taken, also, **self.looks(asked))
        return chosen(found, asked) if chosen is not None else found, in_time
