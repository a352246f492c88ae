"""What is found of VMs that ask for what the cluster does not allow, held against what KubeVirt refuses of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from functools import partial

import pytest

from tests.cluster.client import ApiError
from tests.cluster.exporter import Exporter
from tests.cluster.resources import VMIS, VMS, Resource
from tests.kubevirt.conftest import MakeStage
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.features import NOTHING, OLD, Row, phases, switched_off, switched_on
from tests.kubevirt.settings import Settings
from tests.kubevirt.sizes import INSTANCETYPE, PREFERENCE, sized
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.probing import differences, probed_edits
from tests.waiting import wait_until

Said = dict[tuple[str, str], str]  # by the row's name and what was tried

WEBHOOKS = Resource("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations")
VALIDATOR = "virt-api-validator"
DENIED = "denied the request: "
NEW = "new"  # the name of what is only tried


# -- what KubeVirt says


def tried(stage: Stage, row: Row, verb: str) -> str:
    """What KubeVirt says against it; nothing is changed by that."""
    if verb == "start":
        return stage.act(row.name, verb, dryRun=["All"]).message
    if verb == "edit":
        return stage.refusal(row.name)
    space = stage.namespace
    resource, obj = (VMS, row.vm(space, NEW)) if verb == "create" else (VMIS, row.vmi_of(space, NEW))
    try:
        stage.client.connection.request("POST", resource.path(space), obj, query={"dryRun": "All"})
    except ApiError as error:
        return error.message
    return NOTHING


def admits(stage: Stage, row: Row) -> bool:
    return tried(stage, row, "create") == NOTHING


def refuses(stage: Stage, row: Row) -> bool:
    return not admits(stage, row)


def heard(stage: Stage, rows: Iterable[Row]) -> Said:
    """The refusals of all that can be tried."""
    answers = {(row.name, verb): tried(stage, row, verb) for row in rows for verb in row.asks}
    return {key: answer for key, answer in answers.items() if answer != NOTHING}


def unexpected(stage: Stage, rows: Iterable[Row]) -> Said:
    """What KubeVirt says otherwise than the rows do."""
    listed = tuple(rows)
    wanted = {(row.name, verb): row.refusal(verb) for row in listed for verb in row.asks}
    answers = heard(stage, listed)
    return {key: answers.get(key, NOTHING) for key, text in wanted.items() if not agrees(text, answers.get(key))}


def agrees(text: str, answer: str | None) -> bool:
    if text == NOTHING:
        return answer is None
    return answer is not None and DENIED in answer and text in answer


# -- what is found


def findings(exporter: Exporter, stage: Stage) -> list[Object]:
    found: list[Object] = exporter.report(f"?namespace={stage.namespace}&check=feature_mismatch")["findings"]
    return found


def wait_found(exporter: Exporter, stage: Stage, rows: Sequence[Row]) -> None:
    """Until each VM has a finding for each feature that it asks for, and no other has any. They quote KubeVirt."""
    wanted = sorted((row.name, feature) for row in rows for feature in row.asked_for)

    def found() -> list[tuple[str, str]]:
        return sorted((each["subject"]["name"], each["feature"]) for each in findings(exporter, stage))

    with contextlib.suppress(TimeoutError):
        wait_until(lambda: found() == wanted, 30, "what is found", every=0.02)
    assert found() == wanted
    said = [(name, text) for (name, _), text in heard(stage, rows).items()]
    quoted = [(each["subject"]["name"], each["evidence"].get("answer", "")) for each in findings(exporter, stage)]
    invented = [(name, ours) for name, ours in quoted if not any(name == who and ours in text for who, text in said)]
    assert invented == []


def test_what_is_found_is_what_the_webhooks_refuse(
    exporter: Exporter, settings: Settings, make_stage: MakeStage
) -> None:
    for rows in phases():
        compare(exporter, settings, make_stage(), rows)


def compare(exporter: Exporter, settings: Settings, stage: Stage, rows: tuple[Row, ...]) -> None:
    """On, off and on again."""
    on, off = switched_on(settings.before), switched_off(settings.before, rows)
    settings.put(on, partial(admits, stage, rows[0]))
    make(stage, rows)
    assert heard(stage, rows) == {}
    settings.put(off, partial(refuses, stage, rows[0]))
    assert unexpected(stage, rows) == {}
    wait_found(exporter, stage, rows)
    settings.put(on, partial(admits, stage, rows[0]))
    assert heard(stage, rows) == {}
    wait_found(exporter, stage, ())


def test_the_probe_of_edits_finds_nothing_that_differs(
    kubevirt: ControlPlane, settings: Settings, stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = next(phases())
    settings.put(switched_on(settings.before), partial(admits, stage, rows[0]))
    make(stage, rows)
    settings.put(switched_off(settings.before, rows), partial(refuses, stage, rows[0]))
    _, probes = probed_edits(kubevirt.kubeconfig(), capsys)
    assert differences(probes, stage.namespace) == {}
    assert probes["unanswered"] == []
    assert probes["agree"] >= sum(1 for row in rows if row.asked_for)


def make(stage: Stage, rows: Iterable[Row]) -> None:
    with sized(stage) as sizes:
        for row in rows:
            for kind, spec in ((INSTANCETYPE, row.instancetype), (PREFERENCE, row.preference)):
                if spec is not None:
                    sizes.make(row.name, kind, spec)
            stage.client.create(row.vm(stage.namespace))


def test_old_vms_are_refused_what_their_release_refuses_them(
    kubevirt: ControlPlane, exporter: Exporter, settings: Settings, stage: Stage
) -> None:
    leave_behind(kubevirt, stage, OLD)
    assert unexpected(stage, OLD) == {}
    wait_found(exporter, stage, OLD)


def leave_behind(kubevirt: ControlPlane, stage: Stage, rows: Iterable[Row]) -> None:
    """VMs as an earlier release admitted them: while nobody looks."""
    webhooks = stage.client.get(WEBHOOKS, None, VALIDATOR)
    kept = {key: value for key, value in webhooks["metadata"].items() if key not in ("resourceVersion", "uid")}
    with kubevirt.without("virt-operator"):
        stage.client.delete(WEBHOOKS, None, VALIDATOR)
        try:
            for row in rows:
                wait_until(partial(admitted, stage, row), 30, f"{row.name} is admitted")
        finally:
            stage.client.create({**webhooks, "metadata": kept})
    for row in rows:
        wait_until(partial(refuses, stage, row), 30, "KubeVirt looks again")


def admitted(stage: Stage, row: Row) -> bool:
    try:
        stage.client.create(row.vm(stage.namespace))
    except ApiError as error:
        if DENIED in error.message:
            return False
        raise
    return True
