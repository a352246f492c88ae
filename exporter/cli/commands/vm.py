"""`steward vm`: one VM whole, or one by its manifest."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator
from urllib.parse import quote

from ...config.settings import Config
from ...dump import read_dump
from ...engine.engine import Engine
from ...kube.errors import UnreachableError
from ...offline.documents import DumpedObject, Malformed, objects
from ...offline.files import DumpError, Unread, files
from ...offline.wanted import Wanted
from ...questions.vm import (
    OF_MANIFESTS,
    READER,
    Manifest,
    NoSuchVMError,
    VMWhole,
    exit_code,
    manifest_of,
    propose,
    take,
)
from ..input.config import configured
from ..input.filters import UsageError
from ..input.once import aim_of, all_undated, complain_if_late, of_running, progress_line, refuse_complete_without_dump
from ..output.text.layout import aimed, written
from ..output.text.screen import prose_width
from ..output.text.terminal import complain, say
from ..output.vm import whole_vm

# The manifest of a VM, from a file of YAML or JSON.

_DEFAULT = "default"  # the namespace of a manifest that names none


def read_manifest(path: str, wanted: str = "") -> Manifest:
    """The VirtualMachine or VirtualMachineInstance in it; of several the one called `wanted`, as NAMESPACE/NAME, or in
    whose namespace it is to be. Raises UsageError and DumpError.
    """
    namespace, _, _ = wanted.partition("/")
    try:
        found = list(_manifests(path, namespace or _DEFAULT))
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    if not found:
        raise UsageError(f"{path} has no VirtualMachine and no VirtualMachineInstance")
    named = [each for each in found if wanted in ("", each.path)]
    if len(named) == 1:
        return named[0]
    there = ", ".join(each.path for each in found[:5])
    if not named:
        raise UsageError(f"{path} has no VM called {wanted!r}; it has {there}")
    raise UsageError(f"{path} has {len(named)} VMs; name one: {there}")


def _manifests(path: str, namespace: str) -> Iterator[Manifest]:
    kinds = Wanted(OF_MANIFESTS, whole=True)
    for file in files(path):
        if isinstance(file, Unread):
            raise DumpError(f"{file.name}: {file.why}")
        for each in objects(file.content, kinds, json_only=file.json):
            if isinstance(each, Malformed):
                raise DumpError(f"{file.name}: {each.why}")
            kind = kinds.kind(each.api_version, each.kind) if isinstance(each, DumpedObject) else None
            if isinstance(each, DumpedObject) and kind is not None:
                yield manifest_of(kind, each.raw, namespace)


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    try:
        _refuse(arguments)
        refuse_complete_without_dump(arguments)
        manifest = read_manifest(arguments.manifest, arguments.vm or "") if arguments.manifest else None
        found, in_time = asyncio.run(_found(arguments, config, manifest))
    except (UsageError, DumpError, NoSuchVMError, UnreachableError) as error:
        complain(str(error))
        return 2
    text = written(found, arguments.output, lambda each: whole_vm(aimed(each, aim_of(arguments)), prose_width()))
    say(text, arguments.output)
    complain_if_late(arguments, in_time)
    return exit_code(found, whole=in_time)


def _refuse(arguments: argparse.Namespace) -> None:
    """Raises UsageError for what names no VM."""
    if not (arguments.vm or arguments.manifest):
        raise UsageError("name the VM as NAMESPACE/NAME, or give its manifest with --manifest")
    namespace, _, name = (arguments.vm or "").partition("/")
    if arguments.vm and not (namespace and name and "/" not in name):
        raise UsageError(f"{arguments.vm[:253]!r} names no VM; write it as NAMESPACE/NAME")
    if arguments.manifest and of_running(arguments):
        raise UsageError("--manifest is evaluated by a look at a cluster or a dump, and not by a running steward")
    if arguments.manifest == "-" and arguments.dump == "-":
        raise UsageError("standard input can be read once; give --manifest or --from a file")


async def _found(arguments: argparse.Namespace, config: Config, manifest: Manifest | None) -> tuple[VMWhole, bool]:
    if of_running(arguments):
        from ..input.running import answer_of  # not for a dump

        namespace, _, name = arguments.vm.partition("/")
        return await answer_of(arguments, f"/api/v1/vms/{quote(namespace)}/{quote(name)}", VMWhole), True
    found, in_time = await (_look if arguments.dump is None else _read)(arguments, config, manifest)
    return all_undated(found), in_time


async def _look(arguments: argparse.Namespace, config: Config, manifest: Manifest | None) -> tuple[VMWhole, bool]:
    from ..input.looking import looking  # not for a dump

    namespace = (arguments.vm or "").partition("/")[0]
    async with looking(arguments, config, views=[READER], namespaces=[namespace] if namespace else []) as look:
        return _taken(look.steward.engine, arguments, manifest), look.in_time


async def _read(arguments: argparse.Namespace, config: Config, manifest: Manifest | None) -> tuple[VMWhole, bool]:
    with progress_line() as progress:
        reading = read_dump(
            arguments.dump, time.time(), config, complete=arguments.complete, progress=progress, also=READER.reads
        )
        engine, _ = await reading
    return _taken(engine, arguments, manifest), True


def _taken(engine: Engine, arguments: argparse.Namespace, manifest: Manifest | None) -> VMWhole:
    """Raises NoSuchVMError."""
    if manifest is not None:
        return propose(engine, manifest)
    namespace, _, name = arguments.vm.partition("/")
    return take(engine, namespace, name)
