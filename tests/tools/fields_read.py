"""`python -m tests.tools.fields_read`: which fields of records each check reads, over all of its cases, as the module
that checks have them from. `make generate` runs it; a unit test says where the module is out of date.

A check names the kinds (`Check.fields_read`); what it reads of them is seen, and not declared.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from docs.generator.files import NOTE
from exporter.checks import all_checks
from exporter.engine.affected import everything
from exporter.engine.evaluate import evaluate
from exporter.facts.record import Record
from exporter.findings.check import Check
from exporter.store.reader import Seen
from tests.check_cases import cases_of, evaluated
from tests.shared import REPO

FILE = REPO / "exporter/findings/fields_read.py"
_WIDTH = 120
_HEAD = f'''"""The fields of records that each check reads, of the kinds that it names in `Check.fields_read`.

{NOTE} Seen over all cases of the check.
"""

from __future__ import annotations

from collections.abc import Mapping

# fmt: off
FIELDS_READ: Mapping[str, Mapping[str, str]] = {{
'''


@contextmanager
def _traced(kinds: Iterable[type[Record]]) -> Iterator[dict[type[Record], set[str]]]:
    """The fields of records of these types that are read while entered."""
    used: dict[type[Record], set[str]] = {kind: set() for kind in kinds}

    def reading(self: Record, name: str) -> Any:
        if name in type(self).__struct_fields__:
            used[type(self)].add(name)
        return object.__getattribute__(self, name)

    for kind in used:
        kind.__getattribute__ = reading  # type: ignore[method-assign, assignment]
    try:
        yield used
    finally:
        for kind in used:
            del kind.__getattribute__


@cache
def read_by(check: Check) -> Mapping[str, str]:
    """By the kinds that it names: the fields that it reads over all of its cases, but for what every record has."""
    clusters = [evaluated(check, case).engine.cluster for case in cases_of(check).values()]
    with _traced(kind.record for kind in check.fields_read) as used:
        for cluster in clusters:
            for partition in everything(check, cluster):
                evaluate(check, cluster, partition, seen=Seen())  # so that nothing is taken from memory
            for kind in check.fields_read:
                for record in cluster.all(kind.record):
                    for index in check.indexes:
                        tuple(cluster.keys_of(index, record))
    common = set(Record.__struct_fields__)
    return {kind.name: " ".join(sorted(used[kind.record] - common)) for kind in check.fields_read}


def text() -> str:
    """The module as it should be."""
    lines = []
    for check in all_checks():
        if check.fields_read:
            lines.append(f'    "{check.id}": {{')
            for kind, names in read_by(check).items():
                line = f'        "{kind}": "{names}",'
                if len(line) <= _WIDTH:
                    lines.append(line)
                    continue
                *first, last = textwrap.wrap(names, 96, break_on_hyphens=False)
                lines += [f'        "{kind}":', *(f'            "{each} "' for each in first), f'            "{last}",']
            lines.append("    },")
    return "\n".join((_HEAD + "\n".join(lines), "}", ""))


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
