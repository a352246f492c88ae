"""What Alertmanager and Prometheus say before anything is written: silences, and the result of a query.

Each answer is kept for the length of a run. What could not be asked is never "nothing": it blocks.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from exporter.config.mistakes import quoted
from exporter.facts.record import Ref
from exporter.kube.errors import MALFORMED
from exporter.kube.get_json import GetError, JSONServer

from ..config.forms import AlertmanagerSettings, PrometheusSettings
from ..decide.gates import Ask, Labels, QueryAnswer, QueryState

# Whether a silence of Alertmanager is for a finding: its matchers against the labels of the finding's alert.
#
# They are evaluated as Alertmanager does (pkg/labels/matcher.go, silence/silence.go): all must match, a label that is
# not there is empty, a regular expression matches the whole value. What can't be evaluated with certainty counts as a
# match: a label that is not known here, and an expression that Python reads differently or that could take too long.

_SEVERITIES = ("warning", "critical")
_IMPACTS = ("none", "warning", "critical")
# What our rules aggregate away, so that their alerts never have it.
_NEVER = ("container", "endpoint", "instance", "job", "pod", "service")
# What RE2 and Python read differently: classes in classes as in [[:alpha:]], {,3}, which RE2 takes literally, and what
# comes after (?, but for flags and names that both know.
_DIFFERS = re.compile(r"\[\[|\[:|--|&&|~~|\|\||\{,|\(\?(?![ims]*[):]|P<)")
_REPEATED_GROUP = re.compile(r"\)[*+{]")
_REPEATS = re.compile(r"[*+{]")
_MOST_REPEATS = 3  # in a row they take the length of a value to that power
_LONGEST_PATTERN = 10_000


class SilenceMatcher(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    value: str
    is_regex: bool
    is_equal: bool | None = None  # Alertmanager before 0.22 has none: it is equal

    def may_match(self, labels: Labels) -> bool:
        values = labels.get(self.name)
        if values is None:
            return True
        equal = self.is_equal is not False
        if not self.is_regex:
            return any((value == self.value) == equal for value in values)
        pattern = _compiled(self.value)
        return pattern is None or any((pattern.fullmatch(value) is not None) == equal for value in values)


class _Status(msgspec.Struct, frozen=True):
    state: str


class Silence(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    status: _Status
    matchers: list[SilenceMatcher]
    created_by: str = ""
    comment: str = ""
    ends_at: str = ""

    def __str__(self) -> str:
        return f"{quoted(self.id)} by {quoted(self.created_by)} until {quoted(self.ends_at)}: {quoted(self.comment)}"


_SILENCES_PATH = msgspec.json.Decoder(list[Silence])


def read(content: bytes) -> tuple[Silence, ...]:
    """Those that are active or of an unknown state, out of what GET /api/v2/silences answers.

    Raises msgspec.DecodeError for anything else.
    """
    return tuple(each for each in _SILENCES_PATH.decode(content) if each.status.state not in ("expired", "pending"))


def silenced_by(silences: Iterable[Silence], labels: Labels) -> Silence | None:
    return next((each for each in silences if all(matcher.may_match(labels) for matcher in each.matchers)), None)


def alert_labels(alert: str, check: str, reason: str, subject: Ref, vm: str) -> Labels:
    """Of the alert of a finding, as the rules give them. `alert` is its name, empty where there is none.

    Rules keep some labels of a finding and drop others, hence the empty value beside the finding's.
    """
    certain = {"alertname": alert, "namespace": subject.namespace, "name": subject.name}
    perhaps = {"check": check, "reason": reason, "kind": subject.kind, "vm": vm}
    return {
        **{name: (value,) for name, value in certain.items()},
        **{name: (value, "") for name, value in perhaps.items()},
        **dict.fromkeys(_NEVER, ("",)),
        "kubernetes_operator_part_of": ("kubevirt",),
        "severity": _SEVERITIES,
        "operator_health_impact": _IMPACTS,
    }


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """As RE2 would take it; None where that is not certain."""
    if len(pattern) > _LONGEST_PATTERN or _DIFFERS.search(pattern) or _REPEATED_GROUP.search(pattern):
        return None
    branches = [pattern] if "(" in pattern else pattern.split("|")
    if any(len(_REPEATS.findall(branch)) > _MOST_REPEATS for branch in branches):
        return None
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError):
        return None


log = logging.getLogger(__name__)

_SECONDS = 10.0
_BODY_BYTES = 32 * 2**20
_SILENCES = "/api/v2/silences"
T = TypeVar("T")


def _server(settings: AlertmanagerSettings | PrometheusSettings) -> JSONServer:
    return JSONServer(settings.url or "", settings.token_file or "", settings.ca_file or "")


class _Kept(Generic[T]):
    """An answer, for so many seconds."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        """`clock` gives seconds from any beginning, and is never set back."""
        self._seconds, self._clock = seconds, clock
        self._value: T | None = None
        self._at = 0.0

    def get(self) -> T | None:
        return self._value if self._clock() - self._at < self._seconds else None

    def put(self, value: T, asked: float) -> T:
        """`asked` is when the question was sent."""
        self._value, self._at = value, asked
        return value


class Silences:
    """The silences of one Alertmanager. Without a URL there are none."""

    def __init__(
        self, settings: AlertmanagerSettings, clock: Callable[[], float], keep: float, *, seconds: float = _SECONDS
    ) -> None:
        """`keep` is for how many seconds an answer counts, `seconds` how long one is waited for."""
        self._settings, self._clock, self._seconds = settings, clock, seconds
        self._kept = _Kept[tuple[Silence, ...]](keep, clock)

    async def silenced(self) -> Callable[[Ask], str | None]:
        """For `Situation.silenced`: by which silence, "" for none, None where Alertmanager could not be asked."""
        if not self._settings.url:
            return lambda _: ""
        silences = await self._silences()
        added = {name: (value,) for name, value in self._settings.labels.items()}

        def by(asked: Ask) -> str | None:
            if silences is None:
                return None
            # As Prometheus does: what an alert has already is not overwritten.
            own = {name: values for name, values in asked.labels.items() if values != ("",)}
            found = silenced_by(silences, {**asked.labels, **added, **own})
            return str(found) if found else ""

        return by

    async def _silences(self) -> tuple[Silence, ...] | None:
        if (kept := self._kept.get()) is not None:
            return kept
        settings, asked = self._settings, self._clock()
        try:
            server = _server(settings)
            found = read(await server.get(_SILENCES, seconds=self._seconds, most=_BODY_BYTES))
        except GetError as error:
            log.warning('event="silences not read" why=%s', quoted(str(error)))
            return None
        except MALFORMED as error:
            log.warning(
                'event="silences not read" why=%s',
                quoted(f"{settings.url}{_SILENCES} gave no list of silences: {error}"),
            )
            return None
        return self._kept.put(found, asked)


class _Data(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str
    result: Any


class _Answer(msgspec.Struct, frozen=True):
    status: str
    data: _Data


_ANSWER = msgspec.json.Decoder(_Answer)
_RESULTS = ("vector", "matrix")


class PromQLGate:
    """The query that must have no result. Without one it is clear."""

    def __init__(
        self, settings: PrometheusSettings, clock: Callable[[], float], keep: float, *, seconds: float = _SECONDS
    ) -> None:
        """As of `Silences`."""
        self._settings, self._clock, self._seconds = settings, clock, seconds
        self._kept = _Kept[QueryAnswer](keep, clock)

    async def answer(self) -> QueryAnswer:
        if not self._settings.gate:
            return QueryAnswer()
        if (kept := self._kept.get()) is not None:
            return kept
        asked = self._clock()
        try:
            return self._kept.put(await self._asked(), asked)
        except GetError as error:
            return QueryAnswer(QueryState.ERROR, str(error))
        except MALFORMED as error:
            return QueryAnswer(QueryState.ERROR, f"{self._settings.url} gave no answer to a query: {error}")

    async def _asked(self) -> QueryAnswer:
        settings = self._settings
        query = {"query": settings.gate or "", "timeout": f"{self._seconds:g}s"}
        content = await _server(settings).get("/api/v1/query", query, seconds=self._seconds, most=_BODY_BYTES)
        answer = _ANSWER.decode(content)
        kind, result = answer.data.result_type, answer.data.result
        if answer.status != "success" or kind not in _RESULTS or not isinstance(result, list):
            # A scalar or a text always has a value: as a gate it says nothing.
            why = f"the answer is {quoted(answer.status)} with a {quoted(kind)}; a gate must give a vector"
            return QueryAnswer(QueryState.ERROR, why)
        if not result:
            return QueryAnswer()
        return QueryAnswer(QueryState.FIRING, f"{len(result)} series, the first is {quoted(_series(result[0]))}")


def _series(sample: Any) -> str:
    labels = sample.get("metric") if isinstance(sample, dict) else None
    return (
        ", ".join(f"{name}={value}" for name, value in labels.items()) if isinstance(labels, dict) else "without labels"
    )
