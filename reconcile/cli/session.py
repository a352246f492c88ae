"""What the commands of a person share: the configuration, the cluster, and the findings as they are now."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Collection, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exporter.checks import all_checks
from exporter.cli.input.filters import ObjectSelection, UsageError, concerning
from exporter.cli.input.looking import looking
from exporter.cli.input.names import Names, known_to, refuse_unknown
from exporter.cli.input.once import complain_if_late
from exporter.cli.output.text.logs import log_as
from exporter.cli.output.text.terminal import complain, one_line
from exporter.config.loading import Sources
from exporter.config.loading import load as load_exporter
from exporter.config.mistakes import Mistakes, MistakesError
from exporter.config.settings import Config as ExporterConfig
from exporter.facts.naming import counted
from exporter.kube.client import greet
from exporter.kube.errors import AbsentError, KubeError
from exporter.kube.get_json import JSONServer
from exporter.kube.transport import Transport
from exporter.questions.nearest import nearest
from exporter.store.kind import ApiKind
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.virtual_machine import VirtualMachine

from ..app import Checks, checks_of, kinds_of
from ..carry_out.confirm import Confirmed, confirm
from ..carry_out.finding_source import EngineSource, ExporterSource, Observed, SourceError
from ..carry_out.fresh_reads import ApiReads
from ..config.loading import LoadedSidecar, load
from ..config.settings import SidecarConfig
from ..decide.repair import Found
from ..ledger import LedgerError
from ..plan.plan import Refused
from ..plan.remediation import Remediation
from ..plan.remediations import all_remediations

_NAMESPACE = Namespace.KIND


def loaded_of(arguments: argparse.Namespace) -> LoadedSidecar:
    """Raises MistakesError."""
    loaded = load(all_remediations(), arguments.config)
    if isinstance(loaded, Mistakes):
        raise MistakesError(str(loaded))
    return loaded


def configured(arguments: argparse.Namespace) -> tuple[SidecarConfig, ExporterConfig]:
    """The sidecar's configuration and the exporter's that it names. Raises MistakesError."""
    loaded = loaded_of(arguments)
    named = loaded.config.exporter_config
    exporter = load_exporter(all_checks(), Sources(Path(named) if named else None, {}, {}))
    if isinstance(exporter, Mistakes):
        raise MistakesError(str(exporter))
    return loaded.config, exporter.config


@dataclass(frozen=True)
class Session:
    config: SidecarConfig
    exporter: ExporterConfig
    checks: Checks
    kinds: Mapping[str, ApiKind[Any]]
    transport: Transport
    reads: ApiReads
    arguments: argparse.Namespace

    async def observed(self, namespace: str | None = None) -> Observed:
        """The findings now; `namespace` is that of which they are asked for, None for all. Raises SourceError,
        KubeError, and UsageError where nothing of it may be seen, or it does not exist.
        """
        places = [namespace] if namespace else []
        if self.arguments.exporter:
            observed = await self._exporter().observed()
            await self.refuse_no_namespace(namespace)
            return observed
        asked = {"kubeconfig": self.arguments.kubeconfig, "context": self.arguments.context}
        checks = [check for check in self.checks.by_id.values() if check.id in answered_checks(all_remediations())]
        config = self.exporter.model_copy(update=asked)
        async with looking(self.arguments, config, checks=checks, views=(), namespaces=places) as look:
            known_to(look.steward.engine.cluster, places, ObjectSelection(), ())
            complain_if_late(self.arguments, look.in_time)
            observed = await EngineSource(look.steward.engine, time.time).observed()
            return replace(observed, ready=observed.ready and look.in_time)

    async def refuse_no_namespace(self, name: str | None) -> None:
        """Raises UsageError where there is none of the name, as far as it may be read."""
        if name is None:
            return
        names = Names()
        try:
            raw = await self.reads.get(_NAMESPACE, await self.reads.served(_NAMESPACE), "", name)
            names.namespaces |= {name} if raw is not None else set()
        except KubeError:
            names.blind.add("namespace")
        refuse_unknown([name], ObjectSelection(), names, ())

    async def refuse_no_kubevirt(self) -> None:
        """Raises UsageError where the cluster serves no VMs: of nothing there, nothing is said. Raises KubeError."""
        try:
            await self.reads.served(VirtualMachine.KIND)
        except AbsentError as error:
            raise UsageError(f"{error}: the cluster has no KubeVirt") from None

    def _exporter(self) -> ExporterSource:
        """As the options say, else the configuration."""
        asked, given = self.arguments, self.config.source
        exporter = JSONServer(
            asked.exporter.rstrip("/"),
            str(asked.token_file or given.token_file or ""),
            str(asked.ca_file or given.ca_file or ""),
            asked.server_name or given.server_name or "",
        )
        return ExporterSource(exporter, time.time)

    async def planned(self, found: Found, remediation: Remediation) -> Confirmed | Refused:
        """The plan for a finding, on fresh reads."""
        check = self.checks.by_id[found.hint.check]
        return await confirm(
            found.hint,
            check,
            remediation,
            self.reads,
            now=time.time(),
            settings=self.checks.settings.get(check.id),
            assumed=self.checks.assumed,
        )


@asynccontextmanager
async def open_session(arguments: argparse.Namespace) -> AsyncIterator[Session]:
    """Raises MistakesError, ConfigError, and GreetingError for a server that answers nothing."""
    config, exporter = configured(arguments)
    if arguments.log_level:
        log_as(arguments.log_level, exporter.log_format)
    transport = Transport.from_environment(arguments.kubeconfig, arguments.context)
    try:
        await transport.load()
        await greet(transport)
        kinds = kinds_of(all_remediations())
        yield Session(config, exporter, checks_of(exporter), kinds, transport, ApiReads(transport), arguments)
    finally:
        await transport.close()


def answered_checks(remediations: Iterable[Remediation]) -> set[str]:
    """The ids of the checks whose findings they repair."""
    return {check for each in remediations for check in each.answers}


def answering(found: Found) -> list[Remediation]:
    """The remediations for a finding."""
    hint = found.hint
    return [each for each in all_remediations() if hint.reason in each.answers.get(hint.check, ())]


def named(observed: Observed, fingerprint: str, remediation: str | None) -> tuple[Found, Remediation]:
    """One finding and one remediation for it. Raises ValueError with what is wrong, one sentence."""
    matching = [each for each in observed.findings if each.hint.fingerprint.startswith(fingerprint)]
    if len(matching) != 1:
        what = "no finding has" if not matching else f"{len(matching)} findings have"
        gone = ", or it was resolved" if not matching else ""
        lists = "Run `steward reconcile plan` to list findings with a repair"
        raise ValueError(f"{what} the fingerprint {fingerprint}{gone}. {lists}")
    return matching[0], chosen(matching[0], remediation)


def chosen(found: Found, remediation: str | None) -> Remediation:
    """The remediation for a finding, of several the one that is named. Raises ValueError as `named` does."""
    fitting = [each for each in answering(found) if remediation in (None, each.id)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        which = f"remediation {remediation}" if remediation else "remediation"
        raise ValueError(f"there is no {which} for {found.hint.reason} of check {found.hint.check}")
    ids = ", ".join(each.id for each in fitting)
    raise ValueError(f"there are several remediations for {found.hint.reason}: {ids}. Choose one with --remediation")


def known_remediation(name: str) -> Remediation:
    """By its id. Raises ValueError, with the id that is most like it."""
    by_id = {each.id: each for each in all_remediations()}
    if name not in by_id:
        raise ValueError(f"unknown remediation {name}. Did you mean {nearest(name, by_id)}?")
    return by_id[name]


def finish(main: Coroutine[Any, Any, int]) -> int:
    """Runs a command; what is wrong is one sentence and exit code 2."""
    try:
        return asyncio.run(main)
    except (UsageError, SourceError, KubeError, LedgerError, ValueError) as error:
        complain(str(error))
        return 2


# Whether what was seen answers what a command is asked for: that there is nothing to repair is said of no less.

_NAMED = 5


def refuse_unfound(observed: Observed, ids: Collection[str]) -> None:
    """Raises UsageError for the id of a finding or a cause that is not there."""
    for wanted in ids:
        if not any(is_of(each, wanted) for each in observed.findings):
            raise UsageError(
                f"no finding or cause has ID {wanted[:60]}, or it was resolved. Run `steward reconcile plan` to list "
                "findings with a repair"
            )


def is_of(found: Found, wanted: str) -> bool:
    """Whether it is the finding or of the cause that an id is of."""
    return found.hint.fingerprint.startswith(wanted) or found.cause.startswith(wanted)


def complain_unanswered(observed: Observed, remediations: Collection[Remediation], namespace: str | None) -> bool:
    """Says why these remediations may have more to do in a namespace, None for all; gives whether they may."""
    why = list(_unanswered(observed, answered_checks(remediations), namespace))
    for each in why[:_NAMED]:
        complain(f"there might be more to repair: {one_line(each)}")
    if len(why) > _NAMED:
        complain(
            f"there might be more to repair, for {len(why) - _NAMED} more reasons. Run `steward check` to list them"
        )
    return bool(why)


def _unanswered(observed: Observed, checks: Collection[str], namespace: str | None) -> Iterator[str]:
    if checks and set(checks) <= observed.not_applicable.keys():
        yield from sorted({observed.not_applicable[each] for each in checks})
        return
    places = frozenset([namespace]) if namespace else frozenset[str]()
    unknown = [each for each in observed.unanswered if each.check in checks]
    by_why: dict[str, set[str]] = {}
    for each in concerning(unknown, places) if places else unknown:
        by_why.setdefault(each.why, set()).add(each.check)
    for why, of in sorted(by_why.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"{why} ({counted(len(of), 'check')})"
    if not observed.ready and not by_why:
        yield "not everything has been read yet"
