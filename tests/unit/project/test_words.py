"""Whatever users read uses the preferred words of docs/glossary.md: the docs, rules, runbooks, pages and messages.

Words that users search for are in the last column of the glossary, and are not refused for that: only those are refused
that name another thing here, or nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from reconcile.plan.requests import NOT_APPROVED, NOT_PLANNED
from tests.all_of import each_of
from tests.shared import REPO

TOP = REPO
GLOSSARY = TOP / "docs" / "glossary.md"

# Words of other things, and the preferred word of the glossary.
REFUSED = {
    r"machines?": "VM, VMI",
    r"judg(?:e[sd]?|ing|e?ments?)": "evaluate",
    r"told": "report, say",
    r"mark(?:s|ed|ing)?": "evacuation request",
    r"instances?": "VMI",
    r"definitions?": "NAD, UDN",
    r"budgets?": "PDB, series limit",
    r"rights|(?<=\ba )right|(?<=\bthe )right|(?<=\bno )right": "permission",
    r"accounts?": "ServiceAccount",
    r"sights?": "sync state",
    r"odd": "undecodable",
    r"had\s+back": "reclaimable",
    r"gets?\s+on": "progress",
    r"becom(?:es?|ing)\s+of": "outcome",
}
# Of messages of the code alone, which have the preferred word throughout.
PREFERRED = {
    r"(?:take|takes|taking|taken|took)\s+back": "undo",
    r"asked\s+to\s+leave": "evacuation request",
    r"nobody|somebody|anybody|whoever": "",  # a component or a role
    r"mend(?:s|ed|ing)?": "",
    r"for\s+ever|any\s+more|all\s+the\s+same": "",
    r"cannot(?! migrate VMI)": "",  # which is what KubeVirt says
    r"may": "",  # can, might, or has permission to
}
# Names and idioms of others, in which these words mean something else.
ALLOWED = (
    r"Cluster API's Machines?|state machines?|machine types?|virtual machines?",
    r"marked as unknown|mark(?:s|ed)? for deletion|VMI is marked for eviction",  # the last one is KubeVirt's
    r'`instance`|\$labels\.instance|instance=|instance: "|(?:by|on|without) \((?:\w+, )*instance',  # a label
    r"job, instance",  # two of them
    r"one instance of the steward",
    r"(?:provided by|provided by the|selected) instance type",  # what KubeVirt's webhook answers
    r"custom resource definitions?",
    r"disruption budgets?",
    r"error budgets?|StewardErrorBudgetBurn",
    r'budgets(?="?[.:`])',  # keys of the sidecar's configuration
    r"service accounts?|into account",
)
# What policies in clusters say, which the sidecar looks for.
PUBLISHED = (NOT_PLANNED, NOT_APPROVED)
# Codes of notes that no reader has.
CODES = r"\b[A-F]-\d{2}[a-z]?\b|(?<![\w./-])[A-F]\.\d{1,2}\b|\bE\d{2}\b|\bverified \d"

_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(REFUSED)})(?![\w-])|{CODES}", re.IGNORECASE)
_CODE = re.compile(CODES)
_ALLOWED = re.compile("|".join(ALLOWED), re.IGNORECASE)
_NO_TEXT = (".png", ".webp", ".pyc")
_PROSE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "*/README.md", "docs/**/*.*", "rules/**/*.*", "deploy/**/*.*")
_CODE_FOLDERS = ("exporter", "reconcile", "release", "bench")
_PREFERRED = re.compile(rf"(?<![\w.-])(?:{'|'.join(PREFERRED)})(?![\w-])", re.IGNORECASE)
_SETTLED = (
    "reconcile",
    "demo/fleet",
    "dashboards/generator",
    *(
        f"exporter/{each}"
        for each in (
            "config",
            "counts",
            "engine",
            "kube",
            "metrics",
            "serve/access",
            "serve/server",
            "sidecar",
            "store",
        )
    ),
)
_TEXT = (".py", ".yaml", ".html", ".md")


def texts() -> Iterator[tuple[Path, int, str]]:
    """Each text with its file and first line."""
    prose = {path for pattern in _PROSE for path in TOP.glob(pattern) if path.is_file() and path.suffix not in _NO_TEXT}
    copies = {*TOP.glob("deploy/helm/*/files/**/*")}
    for path in sorted(prose - copies):
        if path.suffix == ".py":
            yield from ((path, line, text) for line, text in literals(path.read_text(encoding="utf-8")))
        else:
            yield path, 1, read(path)
    for folder in _CODE_FOLDERS:
        for path in sorted((TOP / folder).rglob("*.py")):
            yield from ((path, line, text) for line, text in literals(path.read_text(encoding="utf-8")))
        for path in sorted((TOP / folder).rglob("*.html")):
            yield path, 1, path.read_text(encoding="utf-8")


def read(path: Path) -> str:
    """A file of prose. Of the glossary without the last column, which has the words that users search for."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"^(\|.*\|)[^|\n]*\|$", r"\1", text, flags=re.MULTILINE) if path == GLOSSARY else text


def literals(source: str) -> Iterator[tuple[int, str]]:
    """The strings of a module that have a space, with their lines: messages, help, docstrings; f-strings whole."""
    inner: set[int] = set()
    for node in ast.walk(ast.parse(source)):  # an f-string comes before its parts
        if isinstance(node, ast.JoinedStr):
            parts = [part for part in node.values if isinstance(part, ast.Constant)]
            inner |= {id(part) for part in parts}
            text = "{}".join(str(part.value) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield node.lineno, text


def messages(source: str) -> Iterator[tuple[int, str]]:
    """The strings of a module as `literals` gives them, without docstrings."""
    tree = ast.parse(source)
    lines = {node.value.lineno for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from ((line, text) for line, text in literals(source) if line not in lines)


def refused(text: str) -> Iterator[tuple[int, str]]:
    """(line, word) of each refused word, lines counted from 0."""
    words = list(_WORD.finditer(text))
    allowed = [(found.start(), found.end()) for found in _ALLOWED.finditer(text)] if words else []
    for found in words:
        word = found[0]
        code = re.fullmatch(CODES, word, re.IGNORECASE) is not None
        if code and not _CODE.fullmatch(word):  # codes are in capitals
            continue
        if not any(start <= found.start() < end for start, end in allowed):
            yield text.count("\n", 0, found.start()), word


def test_every_text_uses_the_words_of_the_glossary() -> None:
    wrong = [
        f"{path.relative_to(TOP)}:{first + line}: {word}"
        for path, first, text in texts()
        for line, word in refused(text)
    ]
    assert not wrong, f"{len(wrong)} words that docs/glossary.md refuses:\n" + "\n".join(wrong)


def test_messages_of_the_code_have_the_preferred_words() -> None:
    wrong = [
        f"{path.relative_to(TOP)}:{line}: {found[0]}"
        for folder in _SETTLED
        for path in sorted((TOP / folder).rglob("*.py"))
        for line, text in messages(path.read_text(encoding="utf-8"))
        if (found := _PREFERRED.search(text)) and text not in PUBLISHED
    ]
    assert not wrong, f"{len(wrong)} words with a preferred one:\n" + "\n".join(wrong)


def test_no_code_cites_notes_that_readers_lack() -> None:
    """Comments too, where a code such as that of a table of notes says nothing."""
    files = [path for folder in (*_CODE_FOLDERS, "tests") for path in (TOP / folder).rglob("*") if path.suffix in _TEXT]
    cited = [
        f"{path.relative_to(TOP)}:{number}: {code}"
        for path in sorted(files)
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for code in _CODE.findall(line)
    ]
    assert not cited, f"{len(cited)} codes of notes:\n" + "\n".join(cited)


@each_of(("pattern", "instead"), [*REFUSED.items(), *((each, word) for each, word in PREFERRED.items() if word)])
def test_the_glossary_has_the_preferred_word_and_finds_it_by_the_other(pattern: str, instead: str) -> None:
    rows = [row.strip("|").split("|") for row in GLOSSARY.read_text(encoding="utf-8").splitlines() if row[:1] == "|"]
    for word in instead.split(", "):
        assert any(word in row[0] and re.search(pattern, row[-1]) for row in rows), word


@each_of(
    ("text", "words"),
    [
        ("a stopped machine, judged again", ["machine", "judged"]),
        ("its KubevirtMachine has machine type q35", []),
        ("Sights are odd (C-02a, A.11, E23); see 1.4 and RFC 3339", ["Sights", "odd", "C-02a", "A.11", "E23"]),
        ("the Account lacks a right, the service account too", ["Account", "right"]),
        ("NetworkAttachmentDefinition, network-attachment-definitions, a definition", ["definition"]),
        ("what becomes\nof it", ["becomes\nof"]),
        ("a PodDisruptionBudget; a budget of series", ["budget"]),
    ],
)
def test_what_counts_as_a_refused_word(text: str, words: list[str]) -> None:
    assert [word for _, word in refused(text)] == words


def test_messages_are_found_in_code() -> None:
    source = 'def f(x):\n    """Its doc string."""\n    key = "word"\n    return f"the machine {x}" "s are told"\n'
    assert list(literals(source)) == [(2, "Its doc string."), (4, "the machine {}s are told")]
