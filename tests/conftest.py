"""What every run of the tests has, whichever folder it is of."""

from __future__ import annotations

import os
import sys

import pytest

from tests.shared import missing

# Byte code is kept, also where the environment asks for none: else each process that a test starts compiles all that it
# imports, half of its start, and pytest rewrites every module of tests anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

os.environ["KUBE_EDITOR"] = "true"  # what a finding says to edit is opened, and nothing is changed: nobody is there to


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.get_closest_marker("tier"):
        item.add_marker("long")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if why := missing(item):
        pytest.skip(why)
