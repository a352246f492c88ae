"""Namespaces by their labels, each with the mode of a remediation there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Strict, model_validator

from exporter.config.forms import Text, setting
from exporter.config.section import Section
from exporter.store.selector import Requirement, Selector

MODES = "off, plan, shadow, approve or auto"
ConfiguredMode = Literal["off", "plan", "shadow", "approve", "auto"]
Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]


class LabelRequirement(Section):
    """One expression over labels, as Kubernetes has them."""

    key: Text | None = setting(None, "A label.", "text")
    operator: Operator | None = setting(None, "What must hold of it.", "In, NotIn, Exists or DoesNotExist")
    values: Annotated[tuple[str, ...], Strict(False)] = setting((), "Of `In` and `NotIn`.", "list of texts")


class NamespaceSelector(Section):
    """Namespaces that all of it holds for."""

    match_labels: dict[Text, str] = setting({}, "Labels that a namespace has.", "mapping of labels to values")
    match_expressions: Annotated[tuple[LabelRequirement, ...], Strict(False)] = setting(
        (), "Expressions that hold of its labels.", "list of expressions"
    )
    mode: ConfiguredMode | None = setting(None, "The mode there.", MODES)

    @model_validator(mode="after")
    def _whole(self) -> Any:
        if self.mode is None:
            raise ValueError(f"it has no `mode`; write {MODES}")
        if not self.match_labels and not self.match_expressions:
            raise ValueError("it selects every namespace; set `mode` of the remediation instead")
        for each in self.match_expressions:
            if not each.key or not each.operator or not _requirement(each).valid:
                raise ValueError("an expression needs a key, an operator, and values with In and NotIn alone")
        return self

    @property
    def selector(self) -> Selector:
        return _selector(
            tuple(sorted(self.match_labels.items())),
            tuple((each.key or "", each.operator or "", each.values) for each in self.match_expressions),
        )

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self.selector.matches(labels)


def _requirement(given: LabelRequirement) -> Requirement:
    return Requirement(given.key or "", given.operator or "", given.values)


@lru_cache(maxsize=256)
def _selector(
    labels: tuple[tuple[str, str], ...], expressions: tuple[tuple[str, str, tuple[str, ...]], ...]
) -> Selector:
    own = tuple(Requirement(key, "In", (value,)) for key, value in labels)
    return Selector(own + tuple(Requirement(*each) for each in expressions))
