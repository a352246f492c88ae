"""How urgent an alert is, in words."""

from __future__ import annotations

import msgspec

_WHO = {"pager": "the on-call engineer", "platform": "cluster administrators", "tenants": "the owners of the namespace"}


class Urgency(msgspec.Struct, frozen=True):
    """`pages`: some of it is critical, and `always` where all of it is. `receivers` are those of the routes."""

    pages: bool
    always: bool
    receivers: tuple[str, ...]

    @property
    def urgent(self) -> str:
        if not self.pages:
            return "Not urgent: a warning, which doesn't page."
        if self.always:
            return "Urgent: the alert pages."
        return "Urgent if critical: a critical alert pages, a warning doesn't."

    @property
    def who(self) -> str:
        return f"For {self.whom}."

    @property
    def whom(self) -> str:
        return " and ".join(_WHO.get(each, each) for each in self.receivers)

    @property
    def morning(self) -> str:
        if not self.pages:
            return "It can wait until the next working day."
        return "Act at once." if self.always else "Act at once if it is critical."
