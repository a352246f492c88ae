"""The demo's fleet as dumps of every layout that people hand in."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import yaml

from demo.apiserver.resources import RESOURCES, ServedResource
from tests.manifests import Object

__all__ = ["LAYOUTS", "by_resource", "many", "plain_list", "typed_list"]


def by_resource(objects: Iterable[Object]) -> dict[ServedResource, list[Object]]:
    rows = {(row.api_version, row.kind): row for row in RESOURCES}
    found: dict[ServedResource, list[Object]] = defaultdict(list)
    for each in objects:
        found[rows[each["apiVersion"], each["kind"]]].append(each)
    return found


def plain_list(items: list[Object]) -> Object:
    """As kubectl prints what it got."""
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}


def typed_list(resource: ServedResource, items: list[Object]) -> Object:
    """As the API server answers: the items of a built-in kind do not say what they are."""
    bare = [{k: v for k, v in each.items() if resource.custom or k not in ("apiVersion", "kind")} for each in items]
    return {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "items": bare}


def many(documents: Iterable[Object]) -> str:
    return yaml.dump_all(documents, Dumper=yaml.CSafeDumper, explicit_start=True)


def _one_per_kind(folder: Path, objects: list[Object]) -> Path:
    for resource, items in by_resource(objects).items():
        (folder / f"{resource.plural}.json").write_text(json.dumps(plain_list(items), indent=4), encoding="utf-8")
    return folder


def _typed(folder: Path, objects: list[Object]) -> Path:
    for resource, items in by_resource(objects).items():
        text = json.dumps(typed_list(resource, items)) if resource.custom else many([typed_list(resource, items)])
        (folder / f"{resource.plural}.{'json' if resource.custom else 'yml'}").write_text(text, encoding="utf-8")
    return folder


def _one_file(folder: Path, objects: list[Object]) -> Path:
    path = folder / "all.yaml"
    path.write_text(many(objects), encoding="utf-8")
    return path


def _lines(folder: Path, objects: list[Object]) -> Path:
    path = folder / "all.ndjson"
    path.write_text("\n".join(json.dumps(each) for each in objects), encoding="utf-8")
    return path


def _adjoining(folder: Path, objects: list[Object]) -> Path:
    path = folder / "all.txt"
    path.write_text("".join(json.dumps(each) for each in objects), encoding="utf-8")
    return path


def _utf16(folder: Path, objects: list[Object]) -> Path:
    path = folder / "powershell.yaml"
    path.write_text(many([plain_list(objects)]), encoding="utf-16")
    return path


def _must_gather(folder: Path, objects: list[Object]) -> Path:
    """A file for each object of some kinds, and a list a namespace for others."""
    top = folder / "must-gather" / "quay-io-image-sha256-0123"
    for resource, items in by_resource(objects).items():
        group, lists = resource.group or "core", defaultdict[str, list[Object]](list)
        for each in items:
            meta = each["metadata"]
            if not resource.namespaced:
                _write(top / "cluster-scoped-resources" / group / resource.plural / f"{meta['name']}.yaml", each)
            elif resource.plural == "pods":
                _write(top / "namespaces" / meta["namespace"] / "pods" / meta["name"] / f"{meta['name']}.yaml", each)
            elif resource.custom:
                name = f"{meta['name']}.yaml"
                _write(top / "namespaces" / meta["namespace"] / group / resource.plural / name, each)
            else:
                lists[meta["namespace"]].append(each)
        for namespace, each_list in lists.items():
            place = top / "namespaces" / namespace / group / f"{resource.plural}.yaml"
            _write(place, typed_list(resource, each_list))
    (top / "namespaces" / "shop" / "pods" / "web-1.log").write_bytes(b"\xff\x00 not for us: {")
    return folder


def _write(path: Path, document: Object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(many([document]), encoding="utf-8")


def _info_dump(folder: Path, objects: list[Object]) -> Path:
    """`kubectl cluster-info dump` on standard output: documents and logs, one after the other."""
    parts = []
    for resource, items in by_resource(objects).items():
        parts.append(json.dumps(typed_list(resource, items), indent=4) + "\n")
        for container in ("compute", "volume"):
            head = f"logs for container {container} of pod shop/web-1 ===="
            parts.append(f'==== START {head}\n{{"level":"info"}}\n}}\n{{ half\n==== END {head}\n')
    path = folder / "cluster-info.txt"
    path.write_text("".join(parts), encoding="utf-8")
    return path


def _tar(mode: str) -> Callable[[Path, list[Object]], Path]:
    def make(folder: Path, objects: list[Object]) -> Path:
        path = folder.parent / f"{folder.name}.archive"
        _must_gather(folder, objects)
        with tarfile.open(path, f"w:{mode}") as archive:  # type: ignore[call-overload]
            archive.add(folder, "dump")
        return path

    return make


def _zip(folder: Path, objects: list[Object]) -> Path:
    path = folder.parent / f"{folder.name}.archive"
    _one_per_kind(folder, objects)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in sorted(folder.iterdir()):
            archive.write(each, f"dump/{each.name}")
    return path


def _packed(folder: Path, objects: list[Object]) -> Path:
    import gzip

    path = folder / "all.yaml"
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as stream:
        stream.write(many(objects).encode())
    path.write_bytes(packed.getvalue())
    return path


LAYOUTS: dict[str, Callable[[Path, list[Object]], Path]] = {
    "a list a kind": _one_per_kind,
    "typed lists": _typed,
    "one YAML": _one_file,
    "lines of JSON": _lines,
    "JSON without ends of lines": _adjoining,
    "UTF-16": _utf16,
    "must-gather": _must_gather,
    "cluster-info dump": _info_dump,
    "tar": _tar(""),
    "tar.gz": _tar("gz"),
    "tar.xz": _tar("xz"),
    "zip": _zip,
    "gzip": _packed,
}
