"""The shipped rules, in a test's time."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from tests.case_files import read_yaml
from tests.rules import RULES

__all__ = ["quick_rules"]


def quick_rules(stem: str, folder: Path) -> Path:
    """Those of an area at a hundredth of their times; a window of minutes, for a scrape a minute, is one of seconds."""
    rules = read_yaml((RULES / f"{stem}.yaml").read_text(encoding="utf-8"))
    for group in rules["groups"]:
        group.pop("interval", None)
        for rule in group["rules"]:
            rule["expr"] = re.sub(r"\[(\d+)m\]", r"[\1s]", rule["expr"])
            for key in ("for", "keep_firing_for"):
                if key in rule:
                    rule[key] = f"{max(1, _seconds(rule[key]) // 100)}s"
    path = folder / f"quick-{stem}.yaml"
    path.write_text(yaml.safe_dump(rules), encoding="utf-8")
    return path


def _seconds(duration: str) -> int:
    return int(duration[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[duration[-1]]
