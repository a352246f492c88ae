"""Who looks: somebody who may see everything, or a tenant, who sees the findings of some namespaces.

Of which namespaces a finding says something is found out once for all tenants (`Proofs`), whichever they ask for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from aiohttp import web

from ...engine.engine import Engine
from ...findings.check import Check
from ...findings.finding import Finding
from ...questions.tenant_text import Traced, says_the_same, traced


@dataclass(frozen=True)
class Visible:
    """The namespaces that a tenant may see; all of them where `names` is None. What has no namespace is in none."""

    names: frozenset[str] | None

    def __contains__(self, namespace: object) -> bool:
        return bool(namespace) and (self.names is None or namespace in self.names)


EVERY_NAMESPACE = Visible(None)
_VISIBLE = web.RequestKey("visible", Visible)
_SIGNED_IN = web.RequestKey("signed_in", str)


def see(request: web.BaseRequest, visible: Visible) -> None:
    """From now on the request is that of a tenant."""
    request[_VISIBLE] = visible


def visible_to(request: web.BaseRequest) -> Visible | None:
    """What a tenant may see; None for whoever sees everything."""
    return request.get(_VISIBLE)


def sign_in(request: web.BaseRequest, name: str) -> None:
    """From now on the request is one of the session of this user."""
    request[_SIGNED_IN] = name


def signed_in(request: web.BaseRequest) -> str:
    """The name of the user whose session it is; empty for whoever sends a token with each request."""
    name: str = request.get(_SIGNED_IN, "")
    return name


_MOST = 8192  # partitions that are kept


@dataclass
class _Proof:
    traced: Traced
    moment: Hashable
    asked: set[str]  # fingerprints
    same: dict[str, bool] = field(default_factory=dict)  # by fingerprint: whether what is open is what was found


class Proofs:
    """One of each partition, kept until a finding of it changes; the ones that were asked for last."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._checks = {check.id: check for check in engine.checks}
        self._kept: OrderedDict[tuple[str, str], _Proof] = OrderedDict()
        self._of: dict[str, tuple[str, str]] = {}  # of which partition a finding was asked for, by its fingerprint
        engine.listen(self._publish)

    def shows(self, finding: Finding, visible: Visible) -> bool:
        """Whether all that an open finding says follows from what is visible. Raises KeyError for one that closed."""
        check, partition = self._checks[finding.check], self._engine.partition_of(finding)
        key = check.id, partition
        proof = self._kept.get(key)
        if proof is None or not (proof.traced.whole or proof.traced.beyond(visible)):
            proof = self._evaluated(check, partition, visible)
        proof.asked.add(finding.fingerprint)
        self._of[finding.fingerprint] = key
        if proof.traced.beyond(visible):
            return False
        same = self._same(proof, finding)
        if not same and proof.moment != self._moment:  # the check may not have had an answer then
            proof = self._evaluated(check, partition, visible)
            same = not proof.traced.beyond(visible) and self._same(proof, finding)
        return same

    @property
    def _moment(self) -> Hashable:
        return self._engine.generation, self._engine.unknown_version

    def _evaluated(self, check: Check, partition: str, visible: Visible) -> _Proof:
        settings = self._engine.settings().get(check.id)
        found = traced(check, self._engine.cluster, partition, settings, visible)
        before = self._kept.get((check.id, partition))
        proof = self._kept[check.id, partition] = _Proof(found, self._moment, before.asked if before else set())
        self._kept.move_to_end((check.id, partition))
        while len(self._kept) > _MOST:
            self._drop(next(iter(self._kept)))
        return proof

    def _same(self, proof: _Proof, finding: Finding) -> bool:
        key = finding.fingerprint
        if key not in proof.same:
            found = proof.traced.found.pop(key, None)
            proof.same[key] = found is not None and says_the_same(self._checks[finding.check], found, finding)
        return proof.same[key]

    def _publish(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        for finding in gone:
            if (key := self._of.get(finding.fingerprint)) is not None:
                self._drop(key)
        for finding in come if self._kept else ():
            with suppress(KeyError):  # it has closed meanwhile
                self._drop((finding.check, self._engine.partition_of(finding)))

    def _drop(self, key: tuple[str, str]) -> None:
        proof = self._kept.pop(key, None)
        for fingerprint in proof.asked if proof is not None else ():
            self._of.pop(fingerprint, None)
