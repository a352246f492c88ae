"""`steward vm`: one VM whole, or one by its manifest."""

from __future__ import annotations

import argparse
import asyncio
import time
from urllib.parse import quote

from ...config.settings import Config
from ...dump import read_dump
from ...engine.engine import Engine
from ...kube.errors import UnreachableError
from ...offline.files import DumpError
from ...views.vm import READER, Manifest, NoSuchVMError, VMWhole, exit_code, propose, take
from ..input.config import configured
from ..input.filters import UsageError
from ..input.manifest import read_manifest
from ..input.once import aim_of, complain_if_late, of_running, refuse_complete_without_dump
from ..input.undated import all_undated
from ..output.text.aimed import aimed
from ..output.text.progress import progress_line
from ..output.text.screen import prose_width
from ..output.text.structured import written
from ..output.text.terminal import complain, say
from ..output.vm import whole_vm


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
        from ..input.asking import answer_of  # not for a dump

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
