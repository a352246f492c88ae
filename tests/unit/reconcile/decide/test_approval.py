"""Approvals: for one plan, by somebody, until a time that is not far; anything else is refused with what it is."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from exporter.facts.record import Ref
from reconcile.decide.approval import Approval, approved, parse, write
from reconcile.plan.annotations import APPROVED_PLAN
from tests.all_of import each_of
from tests.repairs import NOW, plan

PLAN = plan()
DAY, LONGEST = 86_400.0, timedelta(days=1)


def why_not(text: Any) -> str:
    return approved(PLAN, {"metadata": {"annotations": {APPROVED_PLAN: text}}}, NOW, LONGEST)


@pytest.mark.parametrize("by", ["alice", "system:serviceaccount:shop:bot", "Ada Lovelace", "a until b", "ä <b@c>"])
def test_what_is_written_approves(by: str) -> None:
    text = write(PLAN.hash, by, NOW, NOW + DAY)
    assert parse(text) == Approval(PLAN.hash, by, NOW + DAY, NOW)
    assert why_not(text) == ""


@each_of("by", ["", " a", "a ", "a\nb", "a\x1bb", "a" * 201, "\ud800"])
def test_a_name_that_cannot_stand_in_it_is_refused(by: str) -> None:
    with pytest.raises(ValueError, match="an approval"):
        write(PLAN.hash, by, NOW, NOW + DAY)


@each_of(
    ("text", "wanted"),
    [
        (None, "the plan isn't approved. Annotate IPAMClaim shop/db.blue"),
        ("", "the plan isn't approved"),
        (7, "isn't text"),
        (["x"], "isn't text"),
        ("yes", '"yes" isn\'t an approval. Write it as HASH by NAME until'),
        (PLAN.hash, "isn't an approval"),
        (f"{PLAN.hash} by  until 2026-05-29T00:00:00Z", "isn't an approval"),
        (f"{PLAN.hash} by a", "has no end. Add: until TIME, within 1d"),
        (f"{PLAN.hash} by a until", "has no end"),
        (f"{PLAN.hash} by a until tomorrow", '"tomorrow" isn\'t a time'),
        (f"{PLAN.hash} by a until 2026-05-29", "isn't a time"),
        (f"{PLAN.hash} by a until 2026-05-29T00:00:00", "isn't a time"),
        (f"{PLAN.hash} by a until 2026-13-29T00:00:00Z", "isn't a time"),
        (f"{PLAN.hash} by a until 0001-01-01T00:00:00+14:00", "expired at"),
        (f"{PLAN.hash} by a until 9999-12-31T23:59:59-14:00", "at most 1d is allowed|isn't a time"),
        (f"{PLAN.hash} by a until 2026-05-28T20:26:40Z", "expired at 2026-05-28T20:26:40Z. Approve again"),
        (f"{PLAN.hash} by a until 2026-05-28T20:26:41Z", "^$"),
        (f"{PLAN.hash} by a until 2026-05-28T22:26:41+02:00", "^$"),
        (f"{PLAN.hash} by a until 2026-05-28T22:26:40+02:00", "expired at"),
        (f"{PLAN.hash} by a until 2026-05-29T20:26:40Z", "^$"),
        (f"{PLAN.hash} by a until 2026-05-29T20:26:40.5Z", "lasts until .*; at most 1d is allowed .approval.longest"),
        (f"{PLAN.hash.upper()} by a until 2026-05-29T00:00:00Z", "isn't an approval"),
        (
            f"{'0' * 16} by eve until 2026-05-29T00:00:00Z",
            f'"eve" .as given. approved plan 0{{16}}, and the plan now is {PLAN.hash}',
        ),
        (f"{PLAN.hash} by a\x1b[2J until 2026-05-29T00:00:00Z", "isn't an approval"),
        ("9" * 300_000, "isn't an approval"),
    ],
)
def test_why_an_annotation_does_not_approve(text: Any, wanted: str) -> None:
    assert re.search(wanted, why_not(text)), why_not(text)
    assert why_not(text).isprintable()
    assert len(why_not(text)) < 400


@pytest.mark.parametrize("whole", [None, {}, {"metadata": None}, {"metadata": {"annotations": "x"}}])
def test_an_object_that_cannot_be_read_does_not_approve(whole: Any) -> None:
    assert "could not be read" in approved(PLAN, whole, NOW, LONGEST)


def test_another_object_of_that_name_has_another_hash() -> None:
    other = plan(target=Ref("IPAMClaim", "shop", "db.blue", "u2"))
    text = write(PLAN.hash, "a", NOW, NOW + 60)
    assert "Review the plan and approve again" in approved(
        other, {"metadata": {"annotations": {APPROVED_PLAN: text}}}, NOW, LONGEST
    )


@each_of(
    ("at", "wanted"),
    [
        (" at 2026-05-28T20:26:39Z", "^$"),  # the moment from which on it is known
        (
            " at 2026-05-28T20:26:38Z",
            "records used approvals since 2026-05-28T20:26:39Z, and the approval of .* might be older",
        ),
        ("", "and has no date"),
        (" at 2026-05-28T20:27:39Z", "^$"),  # a clock that is ahead
        (" at 2026-05-28T20:28:39Z", "which is in the future"),
        (" at yesterday", '"yesterday" isn\'t a time'),
    ],
)
def test_what_may_be_older_than_the_ledger_approves_of_nothing(at: str, wanted: str) -> None:
    text = f"{PLAN.hash} by a{at} until 2026-05-29T20:26:00Z"
    whole = {"metadata": {"annotations": {APPROVED_PLAN: text}}}
    found = approved(PLAN, whole, NOW, LONGEST, since=NOW - 1, authorized=True)
    assert re.search(wanted, found), found
    assert "(as given)" not in found


def test_a_name_is_as_given_where_no_policy_holds_its_author_to_it() -> None:
    text = f"{'0' * 16} by eve until 2026-05-29T00:00:00Z"
    whole = {"metadata": {"annotations": {APPROVED_PLAN: text}}}
    assert approved(PLAN, whole, NOW, LONGEST).startswith('"eve" (as given) approved')
    assert approved(PLAN, whole, NOW, LONGEST, authorized=True).startswith('"eve" approved')
