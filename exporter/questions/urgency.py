"""How urgent an alert is, in words."""

from __future__ import annotations

import msgspec

_WHO = {"pager": "who is on call", "platform": "who runs the platform", "tenants": "the owners of the namespace"}


class Urgency(msgspec.Struct, frozen=True):
    """`pages`: some of it is critical, and `always` where all of it is. `receivers` are those of the routes."""

    pages: bool
    always: bool
    receivers: tuple[str, ...]

    @property
    def urgent(self) -> str:
        if not self.pages:
            return "Not urgent: it is a warning, and nobody is woken."
        if self.always:
            return "Urgent: it pages."
        return "Urgent where it is critical: that pages. As a warning it does not."

    @property
    def who(self) -> str:
        return f"For {self.whom}."

    @property
    def whom(self) -> str:
        return " and ".join(_WHO.get(each, each) for each in self.receivers)

    @property
    def morning(self) -> str:
        if not self.pages:
            return "It is safe to leave it until the morning."
        return "It is not safe to leave it until the morning" + ("." if self.always else " while it is critical.")
