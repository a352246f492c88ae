"""What a VM is, as text: identity, interfaces, instancetype and preference, features."""

from __future__ import annotations

from collections.abc import Iterator

from ...views.vm import VMWhole
from ...views.vm.report import FeatureUse, InterfaceReport, SizeReport
from .text.paragraphs import paragraph


def shape(found: VMWhole) -> Iterator[str]:
    """The sections."""
    yield "".join(_identity(found))
    yield "".join(_interfaces(found))
    yield "".join(_sizes(found))
    yield "".join(_features(found))


def _identity(found: VMWhole) -> Iterator[str]:
    of = found.identity
    yield "Identity\n"
    origin = {"spec": "from its spec", "name": "derived from its name", "": ""}[of.origin]
    same = of.uuid.casefold() == of.next_uuid.casefold()
    uuid = of.uuid if of.uuid and not same else of.next_uuid
    text = f"firmware UUID {uuid or 'unknown'}"
    if of.uuid and not same:
        text += f" now, {of.next_uuid} with its next start"
    wrong = f"; {of.invalid}" if of.invalid else ""
    yield paragraph(f"{text}{f' ({origin})' if origin else ''}{wrong}", "  ", "    ")
    serial = of.serial or of.next_serial
    if serial:
        changes = (
            f" now, {of.next_serial or 'none'} with its next start" if of.serial not in ("", of.next_serial) else ""
        )
        yield paragraph(f"serial {serial}{changes}", "  ", "    ")
    if of.keeps:
        yield paragraph(f"keeps state beside its disks: {of.keeps}", "  ", "    ")


def _interfaces(found: VMWhole) -> Iterator[str]:
    if found.interfaces:
        yield "Interfaces\n"
    for each in found.interfaces:
        yield paragraph(_interface(each), "  ", "    ")


def _interface(of: InterfaceReport) -> str:
    parts = [f"{of.network}: {of.nad or 'the pod network'}"]
    parts += ["its unplug was requested"] if of.absent else []
    parts += [f"MAC {', '.join(of.macs)}"] if of.macs else []
    parts += [f"addresses {', '.join(of.addresses)}"] if of.addresses else []
    parts += [f"asks for {', '.join(of.requested)}"] if of.requested else []
    if of.claim is not None:
        parts.append(f"IPAMClaim {of.claim.name} holds {', '.join(of.claimed) or 'no address'}")
    parts += [each for each in (of.missing, f"not known: {of.unknown}" if of.unknown else "") if each]
    return "; ".join(parts)


def _sizes(found: VMWhole) -> Iterator[str]:
    if found.sizes:
        yield "Instancetype and preference\n"
    for each in found.sizes:
        yield paragraph(_size(each), "  ", "    ")


def _size(of: SizeReport) -> str:
    text = f"{of.role} {of.kind} {of.name}"
    if of.mode == "inferred":
        return f"{of.role}: still to be inferred from volume {of.name}"
    text += f", by ControllerRevision {of.revision} ({of.mode})" if of.revision else ", as it is now (no copy)"
    if of.failure:
        return f"{text}; {of.failure}"
    if of.unknown:
        return f"{text}; not known whether it is there, or differs: {of.unknown}"
    if of.differs is None:
        return text if not of.revision else f"{text}; the object is not there to compare it with"
    return f"{text}; " + (
        f"the object differs now in {', '.join(of.differs)}" if of.differs else "as the object is now"
    )


def _features(found: VMWhole) -> Iterator[str]:
    if found.features:
        yield "Features that it asks for\n"
    for each in found.features:
        yield paragraph(_feature(each), "  ", "    ")


def _feature(of: FeatureUse) -> str:
    values = f" ({', '.join(of.values)})" if of.values else ""
    answer = {True: "allowed", False: "not allowed", None: "not known whether it is allowed"}[of.allowed]
    why = f": {'; '.join(of.why)}" if of.why else ""
    where = f" [{of.stage}]" if of.stage else ""
    return f"{of.title}{values}: {answer}{why}{where}"
