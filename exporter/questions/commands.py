"""What the commands of an advice do: those that only look, and those that change something, in words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

import msgspec

from ..domain.acts import Act, acts_of

_FILTERS = frozenset(("awk", "cat", "cut", "echo", "grep", "head", "jq", "printf", "sort", "tail", "tr", "uniq", "wc"))
_READS = frozenset(
    (
        *(
            f"kubectl {verb}"
            for verb in ("api-resources", "describe", "diff", "events", "explain", "get", "logs", "top")
        ),
        *(f"virtctl {verb}" for verb in ("fslist", "guestosinfo", "userlist", "version")),
        *(
            f"steward {verb}"
            for verb in ("check", "drain", "explain", "features", "impact", "instancetypes", "networks")
        ),
        *("steward status", "steward vm", "steward reconcile plan", "steward reconcile ledger"),
        *("kubectl auth can-i", "kubectl rollout status", "virsh list", "virsh dominfo", "virsh domstate"),
    )
)
_ENDS = frozenset(("|", "||", "&&", ";", "&"))  # of a simple command
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_CLUSTER = re.compile(r"\b(kubectl|virtctl)(?: --(?:kubeconfig|context) (?:'[^']*'|\S)+)+")
_NOW = "$(date +%s)"
_WITHIN = re.compile(r"\$\(([^()]*)\)")  # a command whose output is an argument
_DRY = re.compile(r"--dry-run(=server|=client)?(?![\w=-])")
_WRITE = re.compile(
    r"\bkubectl (?:annotate|apply|cordon|create|delete|drain|edit|label|patch|replace|rollout (?!status)|scale|set|"
    r"taint|uncordon)\b|\bvirtctl (?:adopt|addvolume|migrate|pause|removevolume|restart|start|stop|"
    r"unpause)\b|"
    r"\bsteward reconcile (?:apply|approve|clean|pause|resume|undo)\b|"
    r"\bvirsh (?:destroy|shutdown|undefine)\b"
)

_EFFECTS = {
    Act.START: "Starts the guest.",
    Act.STOP: "Shuts the guest down.",
    Act.STOP_NOW: "Ends the guest at once.",
    Act.RESTART: "Restarts the guest (not with runStrategy Once: stop and start it).",
    Act.MIGRATE: "Moves the guest to another node while it runs.",
    Act.DRAIN: "Evicts everything from the node: guests that can't migrate are shut down, or hold it up.",
    Act.END: "Deletes the VMI: the guest ends.",
    Act.DELETE: "Deletes the object, which can't be undone.",
}
_OUT_OF_SERVICE = "Only once the host is switched off: deletes the node's pods, and detaches their volumes."
_ADMINISTRATORS_OWN = "clusteruserdefinednetworks|hyperconvergeds|kubevirts|namespaces|nodes"
_BY_ADMINISTRATORS = re.compile(
    r"kubectl (?:(?:cordon|drain|taint|uncordon)\b|(?:annotate|edit|label|patch|scale) "
    rf"(?:deployments|{_ADMINISTRATORS_OWN})\b|apply -f deploy/)"
)
_OF_CLUSTER = re.compile(  # what a role in one namespace doesn't read
    rf"\bkubectl\b[^|]* (?:-A\b|--raw '/readyz|(?:get|describe) (?:customresourcedefinitions|{_ADMINISTRATORS_OWN}|"
    r"mutatingwebhookconfigurations|storageclasses|validatingwebhookconfigurations)\b)"
)
_INTERRUPTS = (Act.STOP, Act.STOP_NOW, Act.RESTART, Act.DRAIN, Act.END)


class Command(msgspec.Struct, frozen=True):
    """`changes` unless it only looks. `effects` are sentences on who may run it, and on what it does to a guest, or
    loses: it `interrupts` a guest, or `loses` an object for good.
    """

    text: str
    changes: bool
    effects: tuple[str, ...] = ()
    interrupts: bool = False
    loses: bool = False


def commands(texts: Iterable[str]) -> list[Command]:
    return [command(each) for each in texts]


def in_parts(texts: Iterable[str]) -> dict[str, list[Command]]:
    """By the heads that they are shown under: those that only look come first, of these what the owner of a namespace
    may run. None is empty.
    """
    parts: dict[str, list[Command]] = {"Look": [], "Look, as a cluster administrator": [], "Change": []}
    look, look_everywhere, change = parts.values()
    for each in commands(texts):
        (change if each.changes else look_everywhere if _OF_CLUSTER.search(each.text) else look).append(each)
    return {head: some for head, some in parts.items() if some}


def command(text: str) -> Command:
    """`text` may name the cluster of each client that it calls."""
    plain = _CLUSTER.sub(r"\1", text)
    if _looks(plain):
        return Command(text, changes=False)
    acts = tuple(dict.fromkeys(acts_of(plain)))
    return Command(
        text,
        changes=True,
        effects=(
            *(("Needs a cluster administrator.",) if _BY_ADMINISTRATORS.search(plain) else ()),
            *((_OUT_OF_SERVICE,) if "out-of-service" in plain else ()),
            *(_EFFECTS[each] for each in acts),
        ),
        interrupts="out-of-service" in plain or any(each in _INTERRUPTS for each in acts),
        loses=Act.DELETE in acts,
    )


def writes(script: str) -> bool:
    """Whether some line of a script is known to change something."""
    return any(_WRITE.search(line) and not _DRY.search(line) for line in script.splitlines())


def _looks(text: str) -> bool:
    """Whether all that it calls is known to change nothing. What can't be read may do anything."""
    text = text.replace(_NOW, "0")
    if not all(map(_looks, _WITHIN.findall(text))):
        return False
    text = _WITHIN.sub("0", text)
    if any(each in text for each in ("<<", "`", "$(", "<(")):
        return False
    if _DRY.search(text) and text.startswith("kubectl ") and "|" not in text:
        return True
    try:
        lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=";|&")
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
    except ValueError:
        return False
    return all(map(_reads, _simple(words)))


def _simple(words: list[str]) -> Iterator[list[str]]:
    """The commands between pipes and ends of lines."""
    own: list[str] = []
    for word in (*words, ";"):
        if word in _ENDS:
            if own:
                yield own
            own = []
        else:
            own.append(word)


def _reads(words: list[str]) -> bool:
    if words[0] in _FILTERS:
        return True
    if _ASSIGNMENT.match(words[0]):
        return len(words) == 1
    if words[:2] == ["kubectl", "exec"] and "--" in words:
        return _reads(words[words.index("--") + 1 :] or [""])
    if words[:3] == ["kubectl", "get", "--raw"]:
        return True
    return " ".join(words[:2]) in _READS or " ".join(words[:3]) in _READS
