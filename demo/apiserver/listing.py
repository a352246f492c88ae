"""Lists: in pages, each page of the instant that the first one saw."""

import base64
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter

from .calls import PathTarget
from .errors import ApiError, bad_request, continue_expired, too_new
from .registry import key_of
from .resources import Obj, ServedResource
from .storage import Key, Storage, Stored, list_item

# Label and field selectors of lists and watches.

Predicate = Callable[[Obj], bool]

_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^)]*)\)$")
_EQUAL = re.compile(r"^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$")
_EXISTS = re.compile(r"^(!?)\s*([^\s=!(),]+)$")


@dataclass(frozen=True, slots=True)
class Selection:
    """All predicates must hold; none at all selects everything."""

    predicates: tuple[Predicate, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.predicates)

    def matches(self, obj: Obj) -> bool:
        return all(holds(obj) for holds in self.predicates)


def selection(resource: ServedResource, query: Mapping[str, str]) -> Selection:
    """What `labelSelector` and `fieldSelector` of a request ask for."""
    labels = [_label(text) for text in _split(query.get("labelSelector", ""))]
    fields = [_field(resource, text) for text in _split(query.get("fieldSelector", ""))]
    return Selection((*labels, *fields))


def _split(selector: str) -> list[str]:
    """Parts between commas, except commas within parentheses."""
    parts: list[list[str]] = []
    within = False
    for piece in selector.split(","):
        if within:
            parts[-1].append(piece)
        else:
            parts.append([piece])
        within = piece.rfind("(") > piece.rfind(")") or (within and ")" not in piece)
    return [part for each in parts if (part := ",".join(each).strip())]


def _label(text: str) -> Predicate:
    if found := _SET.match(text):
        key, operator, listed = found.groups()
        return _among(key, frozenset(v.strip() for v in listed.split(",")), wanted=operator == "in")
    if found := _EQUAL.match(text):
        key, operator, value = found.groups()
        return _among(key, frozenset({value}), wanted=operator != "!=")
    if found := _EXISTS.match(text):
        absent, key = found.groups()
        return lambda obj: (key in _labels(obj)) is not bool(absent)
    raise bad_request(f'unable to parse requirement: found "{text}"')


def _among(key: str, values: frozenset[str], *, wanted: bool) -> Predicate:
    """An absent label is in no set, hence not in this one."""
    return lambda obj: (_labels(obj).get(key) in values) is wanted


def _labels(obj: Obj) -> Mapping[str, str]:
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return labels


def _field(resource: ServedResource, text: str) -> Predicate:
    found = _EQUAL.match(text)
    if not found:
        raise bad_request(f'invalid selector: "{text}"; can\'t understand "{text}"')
    path, operator, value = found.groups()
    if path not in ("metadata.name", "metadata.namespace", *resource.fields):
        raise bad_request(f"field label not supported: {path}")
    equal = operator != "!="
    steps = path.split(".")
    return lambda obj: (_at(obj, steps) == value) is equal


def _at(obj: Obj, steps: list[str]) -> str:
    value: object = obj
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


TODAY = -1
"""As version in a token: go on with what is there now."""


def list_body(storage: Storage, target: PathTarget, query: Mapping[str, str]) -> bytes:
    """The whole answer to a list request."""
    resource = target.resource
    meta, page = selected_page(storage, target, query)
    head: Obj = {"apiVersion": resource.api_version, "kind": f"{resource.kind}List", "metadata": meta}
    opening = json.dumps(head, separators=(",", ":")).encode()[:-1]
    return opening + b',"items":[' + b",".join(list_item(resource, row) for row in page) + b"]}\n"


def selected_page(storage: Storage, target: PathTarget, query: Mapping[str, str]) -> tuple[Obj, list[Stored]]:
    """The metadata of a list, and what is in it."""
    limit = _number(query, "limit")
    at, start = storage.version, ("", "")
    if token := query.get("continue"):
        at, start = _begin_again(storage, token, query)
    else:
        at = _asked_version(storage, query)
        limit = 0 if query.get("resourceVersion") == "0" else limit  # out of the watch cache: whole

    resource = target.resource
    selected = selection(resource, query)
    rows = storage.rows(resource, None if at == storage.version else at)
    first = bisect_right(rows, max(start, (target.namespace, "")), key=itemgetter(0))
    end = bisect_left(rows, (target.namespace + "\0", ""), key=itemgetter(0)) if target.namespace else len(rows)
    found = [row for _, row in rows[first:end] if not selected or selected.matches(row.body)]
    page = found[:limit] if limit else found
    meta: Obj = {"resourceVersion": str(at), "continue": ""}
    if left := len(found) - len(page):
        meta["continue"] = _token(at, key_of(resource, page[-1].body))
        if not selected:
            meta["remainingItemCount"] = left
    return meta, page


def _begin_again(storage: Storage, token: str, query: Mapping[str, str]) -> tuple[int, Key]:
    """The version and the last key that a token stands for."""
    if query.get("resourceVersion") not in (None, "", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    try:
        content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        at, start = int(content["rv"]), _key(content["start"])
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise bad_request(f"continue key is not valid: {err}") from err
    if at == TODAY:
        return storage.version, start
    if at < storage.compacted:
        raise continue_expired(_token(TODAY, start))
    return at, start


def _asked_version(storage: Storage, query: Mapping[str, str]) -> int:
    version = _number(query, "resourceVersion")
    if version > storage.version:
        raise too_new(version, storage.version)
    if query.get("resourceVersionMatch") != "Exact":
        return storage.version
    if version < storage.compacted:
        raise ApiError(410, "Expired", "The resourceVersion for the provided list is too old.")
    return version


def _token(at: int, start: Key) -> str:
    content = json.dumps({"v": "meta.k8s.io/v1", "rv": at, "start": "/".join(start)}, separators=(",", ":"))
    return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")


def _key(joined: str) -> Key:
    namespace, name = joined.split("/")
    return namespace, name


def _number(query: Mapping[str, str], name: str) -> int:
    value = query.get(name) or "0"
    if not value.isdecimal():
        raise bad_request(f'{name}: Invalid value: "{value}"')
    return int(value)
