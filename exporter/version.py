"""Which version of the steward runs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed() -> str:
    """That of the package; `unknown` where the code runs without being installed."""
    try:
        return version("kubevirt-steward")
    except PackageNotFoundError:
        return "unknown"
