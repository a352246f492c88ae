"""Which requests are not allowed, and why; VMs that look alike share the answer."""

from __future__ import annotations

from ....domain.features.rule import Ground, Request, Rule
from ....domain.features.rules import BY_ID
from ....store.text.text_cache import remembered

Refusals = dict[Rule, tuple[str, ...]]
"""Why, for each request of a rule that is not allowed."""


@remembered(50_000)
def refusals(ground: Ground, requests: tuple[Request, ...]) -> Refusals:
    """Not to be changed. Rules that look at StorageClasses only count where the ground has them, and then alone."""
    found: dict[Rule, list[str]] = {}
    for name, parameter in requests:
        rule = BY_ID[name]
        if rule.storage is (ground.storage is not None) and (why := rule.why(ground, parameter)):
            found.setdefault(rule, []).append(why)
    return {rule: tuple(dict.fromkeys(whys)) for rule, whys in found.items()}
