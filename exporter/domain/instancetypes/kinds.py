"""The kinds of instancetypes and preferences, for what reads all of them."""

from __future__ import annotations

from typing import Any

from ...store.kind import ApiKind
from ...store.kinds import (
    virtual_machine_cluster_instancetype,
    virtual_machine_cluster_preference,
    virtual_machine_instancetype,
    virtual_machine_preference,
)

INSTANCETYPES: tuple[ApiKind[Any], ...] = (
    virtual_machine_instancetype.KIND,
    virtual_machine_cluster_instancetype.KIND,
    virtual_machine_preference.KIND,
    virtual_machine_cluster_preference.KIND,
)
"""Of each the kind of one namespace, then that of the cluster."""

CLUSTER_WIDE = INSTANCETYPES[1::2]
