"""The table of what the networks' controllers cause has every reason, and no other."""

from __future__ import annotations

import pytest

from docs.generator.networks import _causes, _tables


def test_every_reason_has_its_cause_and_nothing_else_has_one() -> None:
    causes = dict(_causes())
    assert list(_tables(causes))
    with pytest.raises(LookupError, match=r"no test of tests/networks says what causes NotOvn: "):
        list(_tables({reason: each for reason, each in causes.items() if reason != "NotOvn"}))
    with pytest.raises(LookupError, match="says what causes Nothing, which no check finds"):
        list(_tables(causes | {"Nothing": causes["NotOvn"]}))
