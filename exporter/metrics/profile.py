"""How many series there are whatever the cluster has: by `metrics.profile` of the configuration.

Each family has the least profile that serves it. What is `sparse` has no samples at 0 in the least of them, where
absent says no less: `kubevirt_steward_check_up` tells nothing found from nothing known.
"""

from __future__ import annotations

from enum import StrEnum


class Profile(StrEnum):
    MINIMAL = "minimal"  # what the rules read
    DEFAULT = "default"  # and the boards and runbooks, with what is 0
    FULL = "full"  # and what only helps who debugs the steward

    def serves(self, least: Profile) -> bool:
        """Whether it has what `least` is the least profile of."""
        return _ORDER.index(self) >= _ORDER.index(least)


_ORDER = tuple(Profile)
