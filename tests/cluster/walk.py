"""A runbook as a person walks through it: read, write, verify."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.cluster.shell import Shell, fill
from tests.rules import Step, plain

__all__ = ["ABSENT", "CHANGES", "DEPRECATED", "OPENED", "Walk"]

DEPRECATED = re.compile(r"^Warning: kubevirt.io/\w+ VirtualMachineInstancePresets? is ")
CHANGES = re.compile(
    r"kubectl (apply|patch|delete|annotate|label|create (?!--dry-run)|replace|scale|rollout restart|taint|uncordon)"
)
SECTIONS = ("Diagnosis", "Mitigation", "Verification")
ABSENT = re.compile(r"\(NotFound\)|^No resources found")
OPENED = re.compile(r"^Edit cancelled, no changes made.$")  # by what edits nothing
WRITES_FILE, NEEDS_FILE = re.compile(r"> \S+\.(yaml|json)"), re.compile(r"kubectl diff -f|-f \S*NAD\S*\.yaml")
# The variables in a write by which it takes effect only on what was read.
GUARDS = re.compile(
    r"(?:/metadata/(?:uid|resourceVersion)\W+value|preconditions\W+uid|resourceVersion|--resource-version)\W+\$\{?(\w+)"
)


class Walk:
    """The way through a runbook of a person who has its alert."""

    def __init__(self, of: Iterable[Step], shell: Shell, values: Mapping[str, str]) -> None:
        self._shell = shell
        self._steps = [
            step._replace(text=fill(step.text, values)) for step in of if not step.untried and step.section in SECTIONS
        ]

    def diagnose(self) -> None:
        """Runs what only reads: all of it has to work, whatever it is that is wrong."""
        for step in self._in("Diagnosis", "Mitigation"):
            assert step.section == "Mitigation" or not CHANGES.search(step.text), "a diagnosis changes nothing"
            if not CHANGES.search(step.text) and not NEEDS_FILE.search(step.text):
                self._read(step)

    def act(self, act: str) -> str:
        """Runs the one block with the act in it, after those before it that read; gives it with its values."""
        mitigation = list(self._in("Mitigation"))
        (at,) = (i for i, step in enumerate(mitigation) if plain(act) in plain(step.text))
        for step in mitigation[:at]:
            if not CHANGES.search(step.text) and not WRITES_FILE.search(step.text) and not NEEDS_FILE.search(step.text):
                self._read(step)
        block = mitigation[at].text
        guards = GUARDS.findall(block)
        for guard in guards:
            wrong = self._shell(block, **{guard: "1"})
            assert wrong.returncode != 0, f"takes effect whatever {guard} was read; read in a block before it"
        for file in re.findall(r"kubectl replace -f (\S+)", self._shell.expanded(block)):
            self._refused_when_changed(block, self._shell.folder / file.strip("\"'"))
        done = self._shell(block)
        assert done.returncode == 0, done.stderr
        expanded = self._shell.expanded(block)
        # What is tried dry changes nothing, and a PVC stays until its finalizer is removed.
        if guards and not re.search(r"--dry-run|persistentvolumeclaims/", block):
            again = self._shell(block)
            assert again.returncode != 0 or again.stdout.endswith(" not labeled\n"), "takes effect twice"
        return expanded

    def _refused_when_changed(self, block: str, file: Path) -> None:
        """What somebody has changed since it was saved is not replaced."""
        saved = file.read_text(encoding="utf-8")
        file.write_text(re.sub(r'(resourceVersion"?: )"\d+"', r'\1"1"', saved), encoding="utf-8")
        assert "Conflict" in self._shell(block).stderr
        file.write_text(saved, encoding="utf-8")

    def verified(self) -> bool:
        """Whether all commands of the verification print what it says."""
        asked = [step for step in self._in("Verification") if step.prints]
        assert asked, "the verification has a command, and what it prints"
        return False not in [self._prints(step) for step in asked]  # all are run

    def _prints(self, step: Step) -> bool:
        done = self._shell(step.text)
        lines = [line for line in (done.stdout + done.stderr).splitlines() if not DEPRECATED.search(line)]
        assert "unbound variable" not in done.stderr, done.stderr
        wanted = ".*".join(map(re.escape, self._shell.expanded(step.prints).strip().split("…")))
        return re.fullmatch(wanted, "\n".join(lines).strip(), re.DOTALL) is not None

    def _read(self, step: Step) -> None:
        done = self._shell(step.text)
        lines = [line for line in done.stderr.splitlines() if not DEPRECATED.search(line) and not ABSENT.search(line)]
        if step.section == "Mitigation":  # it may be for another of the alert's reasons
            lines = [line for line in lines if "executing template" not in line and not line.startswith("template was")]
        assert lines == [], f"{step.text}\n{done.stderr}"
        # 1 of grep that finds nothing; 1 and 2 of steward that finds something
        assert done.returncode in (0, 1, *((2,) if "-- steward " in step.text else ())), step.text

    def _in(self, *sections: str) -> Iterator[Step]:
        return (step for step in self._steps if step.section in sections)
