"""What Alertmanager says before anything is written: silences.

An answer is kept for the length of a run. What could not be asked is never "nothing": it blocks.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from functools import lru_cache

import msgspec

from exporter.config.mistakes import quoted
from exporter.facts.record import Ref
from exporter.kube.errors import MALFORMED
from exporter.kube.get_json import GetError, JSONServer

from ..config.forms import AlertmanagerSettings
from ..decide.gates import Ask, Labels

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


class Silences:
    """The silences of one Alertmanager. Without a URL there are none."""

    def __init__(
        self, settings: AlertmanagerSettings, clock: Callable[[], float], keep: float, *, seconds: float = _SECONDS
    ) -> None:
        """`keep` is for how many seconds an answer counts, `seconds` how long one is waited for."""
        self._settings, self._clock, self._seconds = settings, clock, seconds
        self._kept: tuple[Silence, ...] | None = None
        self._keep, self._asked = keep, 0.0

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
        asked = self._clock()
        if self._kept is not None and asked - self._asked < self._keep:
            return self._kept
        settings = self._settings
        try:
            server = JSONServer(settings.url or "", settings.token_file or "", settings.ca_file or "")
            found = read(await server.get(_SILENCES, seconds=self._seconds, most=_BODY_BYTES))
        except GetError as error:
            log.warning('event="silence query failed" why=%s', quoted(str(error)))
            return None
        except MALFORMED as error:
            log.warning(
                'event="silence query failed" why=%s',
                quoted(f"{settings.url}{_SILENCES} gave no list of silences: {error}"),
            )
            return None
        self._kept, self._asked = found, asked
        return found
