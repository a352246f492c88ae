"""`steward vm`: one VM whole, or one by its manifest."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ...offline.documents import DumpedObject, Malformed, objects
from ...offline.files import DumpError, Unread, files
from ...offline.wanted import Wanted
from ...questions.asked import VMQuery
from ...questions.vm import OF_MANIFESTS, QUESTION, READER, Manifest, exit_code, manifest_of
from ..asking import CommandQuestion
from ..input.filters import UsageError, vm_named
from ..input.once import of_running, refuse_complete_without_dump
from ..output.text.screen import prose_width
from ..output.vm import whole_vm

# The manifest of a VM, from a file of YAML or JSON.

_DEFAULT = "default"  # the namespace of a manifest that names none


def read_manifest(path: str, namespace: str = "", name: str = "") -> Manifest:
    """The VirtualMachine or VirtualMachineInstance in it, which is in the namespace where it names none; of several the
    one of that name there. Raises UsageError and DumpError.
    """
    wanted = f"{namespace}/{name}" if name else ""
    try:
        found = list(_manifests(path, namespace or _DEFAULT))
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    if not found:
        raise UsageError(f"{path} has no VirtualMachine and no VirtualMachineInstance")
    of = namespace if namespace and not name else ""
    if strangers := [each.path for each in found if of not in ("", each.path.partition("/")[0])]:
        raise UsageError(f"{path} has {strangers[0]}, and -n says {of}")
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


def _of_context(arguments: argparse.Namespace) -> str:
    """The namespace that kubectl would take; empty where no kubeconfig says one."""
    from ...kube.credentials import namespace_from_environment  # not for a dump
    from ...kube.errors import ConfigError

    try:
        return namespace_from_environment(arguments.kubeconfig, arguments.context)
    except ConfigError:
        return ""  # the look says what is wrong with it


def _asked(arguments: argparse.Namespace) -> VMQuery:
    """Raises UsageError for what names no VM, and DumpError."""
    if not (arguments.vm or arguments.manifest):
        raise UsageError("name the VM as NAMESPACE/NAME or -n NAMESPACE NAME, or give its manifest with --manifest")
    of_context = "" if of_running(arguments) or arguments.dump or arguments.namespace else _of_context(arguments)
    asked = vm_named(arguments.vm, arguments.namespace, of_context) if arguments.vm else (arguments.namespace, "")
    namespace, name = asked
    if arguments.manifest and of_running(arguments):
        raise UsageError("--manifest is evaluated by a look at a cluster or a dump, and not by a running steward")
    if arguments.manifest == "-" and arguments.dump == "-":
        raise UsageError("standard input can be read once; give --manifest or --from a file")
    refuse_complete_without_dump(arguments)
    manifest = read_manifest(arguments.manifest, namespace, name) if arguments.manifest else None
    if manifest is not None and arguments.beside:
        raise UsageError("--beside compares with a VM that is there, and --manifest has one that is not")
    return VMQuery(namespace, name, manifest, arguments.beside or "")


run = CommandQuestion(
    QUESTION,
    text=lambda found, _, __, aim: whole_vm(found, prose_width(), aim),
    code=lambda found, in_time: exit_code(found, whole=in_time),
    asked=_asked,
    looks=lambda asked: {"views": [READER], "namespaces": [asked.namespace] if asked.namespace else []},
).run
