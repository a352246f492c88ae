"""PromQL of findings, which come from one place: every count, bar, row and line is made of it, so that all agree.

That is what a replica reports whose check has an answer; and of a check without an answer what is held: by the
recording rules of the alerts (finding:FAMILY:held), where they are loaded, and by the steward itself for as long as it
runs. `now` and `held` are the two parts of `found`. What alerts are quiet about while KubeVirt is upgraded (`seen`) is
among it.

Replicas report the same: `group by` makes it one. Where nobody answers and nothing is held there is no data; where
nothing is found and somebody answers, a count is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .queries import NAMESPACE, READY, checks_are, each, sent_open

__all__ = ["IDENTITY", "Findings"]

IDENTITY = "cluster, check, reason, severity, kind, namespace, name, vm, node, network, feature, group, cause"
_SINCE = "_since_timestamp_seconds"
_RECORDED = '__name__=~"finding:kubevirt_.+:(held|seen)"'
_SCRAPED = ('__name__=~"kubevirt_.+"', f'__name__!~".+{_SINCE}|kubevirt_steward_cause_.+"', 'reason=~".+"')
_ON_REPLICA = "on (cluster, check, job, instance)"
_ON_CHECK = "on (cluster, check)"


@dataclass(frozen=True)
class Findings:
    """Some open findings: of these checks, or of all, that fit the matchers of their labels and are in the namespaces
    that were chosen. `everywhere`: the board has no variable `namespace`. `tenant`: nothing without a namespace can be
    asked, so not which checks have an answer; held is what the rules have and no replica reports.
    """

    checks: tuple[str, ...] = ()
    matchers: tuple[str, ...] = ()
    everywhere: bool = False
    tenant: bool = False

    def that(self, *matchers: str) -> Findings:
        """Those of them that fit more matchers."""
        return replace(self, matchers=(*self.matchers, *matchers))

    @property
    def answering(self) -> str:
        """The replicas, by check, that have an answer."""
        up = each("kubevirt_steward_check_up", checks_are(self.checks))
        return f"({up} == 1 and on (cluster, job, instance) {READY})"

    @property
    def now(self) -> str:
        """Those whose check has an answer: 1 for each, with all of their labels."""
        if self.tenant:
            return _group(self._scraped)
        return _group(
            f"{self._recorded} and {_ON_CHECK} {self.answering} or {self._scraped} and {_ON_REPLICA} {self.answering}"
        )

    @property
    def held(self) -> str:
        """Those that were open when their check last had an answer, and of which nobody knows more now."""
        if self.tenant:
            return f"{_group(self._recorded)} unless {_group(self._scraped)}"
        return _group(f"({self._recorded} or {self._scraped}) unless {_ON_CHECK} {self.answering}")

    @property
    def found(self) -> str:
        """All of them: 1 for each, with all of their labels."""
        return _group(f"{self._recorded} or {self._best(self._scraped)}")

    @property
    def ages(self) -> str:
        """For how many seconds each has been true, where that is known."""
        since = each("", f'__name__=~"kubevirt_.+{_SINCE}"', *self._chosen, *self.matchers)
        return f"time() - min by ({IDENTITY}) ({_folded(f'{self._recorded} > 1 or {self._best(since)} > 1')})"

    def count(self, by: str = "") -> str:
        """By some of their labels. By none, or by cluster, it is 0 where nothing is found and somebody answers."""
        over = f" by ({by})" if by else ""
        counted = f"sum{over} ({self.found})"
        return counted if self.tenant or by not in ("", "cluster") else f"{counted} or 0 * max{over} {self.answering}"

    def count_of_clusters(self) -> str:
        """By cluster, also of those that send the hub no more than their number by check and severity: what is asked
        for may be of a severity, and of nothing else.
        """
        severities = (f"finding_{matcher}" for matcher in self.matchers)
        return f"{self.count('cluster')} or {sent_open(checks_are(self.checks), *severities)}"

    @property
    def _chosen(self) -> tuple[str, ...]:
        return (checks_are(self.checks), 'kind=~".+"', *(() if self.everywhere else (NAMESPACE,)))

    @property
    def _scraped(self) -> str:
        return each("", *_SCRAPED, *self._chosen, *self.matchers)

    @property
    def _recorded(self) -> str:
        """With the labels of scraped ones."""
        matchers = (f"finding_{matcher}" if matcher.startswith("severity") else matcher for matcher in self.matchers)
        series = each("", _RECORDED, *self._chosen, *matchers)
        return f'label_replace({series}, "severity", "$1", "finding_severity", "(.+)")'

    def _best(self, scraped: str) -> str:
        """Of replicas that have an answer of the check; where none has, of whichever reports it."""
        if self.tenant:
            return scraped
        return f"({scraped} and {_ON_REPLICA} {self.answering} or {scraped} unless {_ON_CHECK} {self.answering})"


def _group(series: str) -> str:
    return f"group by ({IDENTITY}) ({_folded(series)})"


def _folded(series: str) -> str:
    """With the labels of the object also where Prometheus keeps those names for its target, as the rules do it."""
    for label in ("namespace", "name", "node"):
        series = f'label_replace({series}, "{label}", "$1", "exported_{label}", "(.+)")'
    return series
