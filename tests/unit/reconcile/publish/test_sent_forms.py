"""A form of the page does something once, and one that the sidecar may have had before it started does nothing."""

from __future__ import annotations

from exporter.serve.access.same_origin import LASTS
from reconcile.publish import actions
from reconcile.publish.actions import SentForms

NOW = 1_790_000_000


class Clock:
    def __init__(self) -> None:
        self.now = float(NOW)

    def __call__(self) -> float:
        return self.now


def test_a_form_is_taken_once() -> None:
    forms = SentForms(Clock())
    assert forms.refusal(f"{NOW}.aa") == ""
    assert "was sent before" in forms.refusal(f"{NOW}.aa")
    assert forms.refusal(f"{NOW}.bb") == ""


def test_one_of_before_the_start_is_not_taken_since_it_may_have_been() -> None:
    forms = SentForms(Clock())
    for form in (f"{NOW - 1}.aa", "", "x.aa", "-5.aa"):
        assert "older than the sidecar's last start" in forms.refusal(form), form


def test_so_many_are_remembered_as_may_be_good_and_no_more() -> None:
    clock = Clock()
    forms = SentForms(clock)
    assert [forms.refusal(f"{NOW}.{each}") for each in range(actions.MOST)] == [""] * actions.MOST
    assert "try again later" in forms.refusal(f"{NOW}.more")
    assert "was sent before" in forms.refusal(f"{NOW}.0")
    clock.now += LASTS + 1
    assert forms.refusal(f"{int(clock.now)}.more") == ""
