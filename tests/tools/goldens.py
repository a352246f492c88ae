"""What the command line and the HTTP server answer, as files: made from any commit, and compared.

    python -m tests.tools.goldens make FOLDER [--commit COMMIT] [--only WORD] [--processes 2]
    python -m tests.tools.goldens compare FOLDER OTHER [--lines 20]

`make` writes an output a file into FOLDER, which lies outside of the checkout: of the cases of each check, of each
report and of the demo's fleet what `check`, `status`, `networks`, `features`, `instancetypes`, `vm`, `drain`, `impact`
and `explain` print, as JSON and as text at three widths; metrics, API and every page that a link leads to; rules in all
formats, roles and policies; and the plan of every case of each remediation, from an API server that has its objects.
The inputs come from the checkout that this runs in, and stay in FOLDER/inputs: a second FOLDER takes those of the first
one by `--inputs FOLDER`, so that cases which move in between change nothing.

Another commit is checked out apart, and runs by its `python -m exporter`, with a clock that stands at `NOW`. What
differs from run to run is replaced: ports, durations, what a process uses. Names of loggers are not in it.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import html
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urljoin, urlsplit

from tests.evaluation import NOW
from tests.waiting import wait_until

__all__ = ["main"]

WIDTHS = (80, 120, 200)
_TOP = Path(__file__).parents[2]
_RELEASES = ("1.8.0", "1.9.0", "1.10.0")
_LOOKS = ("status", "networks", "features", "instancetypes")
_API = ("findings", "causes", "networks", "instancetypes", "features", "migrations")
_FIRST_PAGES = ("/", "/metrics", *(f"/api/v1/{name}" for name in _API))
_MOST_PAGES = 400
_MODES = ("plan", "shadow", "approve", "auto")
_VOLATILE = (
    (re.compile(r"127\.0\.0\.1:\d+"), "HOST"),
    (re.compile(r"\[::1\]:\d+"), "HOST"),
    (re.compile(r"/tmp/[\w./-]*goldens-\w+"), "FOLDER"),
    (re.compile(r"(?m)^(?:# \w+ )?(?:process_|python_)\S*.*\n"), ""),
    (re.compile(r"(?m)^(\w*(?:_seconds|_bytes)(?:_total|_sum|_bucket|_count|_created)?(?:\{.*\})?) \S+$"), r"\1 N"),
    (re.compile(r"(?m)^(\w+_(?:created|generation)(?:\{.*\})?) \S+$"), r"\1 N"),
    (re.compile(r'"(instance|generation|etag)": ?("[^"]*"|\d+)'), r'"\1": "N"'),
    (re.compile(r'data-generation="\d+"|Generation \d+|(?m:^generation: \d+)'), "generation N"),
)

# Runs within the checkout: a command is a fork of one process that has imported all, with the clock that stands still.
_DRIVER = """
import json, os, runpy, sys, time
time.time = lambda: %r
sys.argv = ["steward", "version"]
def run(words, columns, out, err):
    os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.dup2(os.open(err, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.environ["COLUMNS"] = str(columns)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
    sys.argv = ["steward", *words]
    try:
        runpy.run_module("exporter", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 2
    except BaseException:
        import traceback
        traceback.print_exc()
        code = 99
    for stream in (sys.stdout, sys.stderr):
        try: stream.flush()
        except OSError: pass
    os._exit(code)
import gc, importlib, pkgutil
for top in ("exporter", "reconcile"):
    for module in pkgutil.walk_packages(importlib.import_module(top).__path__, top + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
gc.collect()
gc.freeze()
for line in sys.stdin:
    words, columns, out, err = json.loads(line)
    child = os.fork()
    if not child:
        run(words, columns, out, err)
    if words[0] == "serve" and "--help" not in words:
        print(child, flush=True)
    else:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Job:
    """An output: the words of a command; with `objects` they are what an API server has, else a dump is in `words`."""

    name: str
    words: tuple[str, ...]
    columns: int = 120
    objects: Path | None = field(default=None, compare=False)


class Driver:
    """A process of the checkout that runs one command after the other."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("STEWARD_", "KUBE"))}
        home = {"HOME": str(folder), "PYTHONPATH": str(checkout), "NO_COLOR": "1", "TZ": "UTC", "PYTHONHASHSEED": "0"}
        self.folder, self._out, self._err = folder, folder / "out", folder / "err"
        self._process = subprocess.Popen(
            [sys.executable, "-c", _DRIVER % NOW],
            cwd=checkout,
            env=kept | home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, words: Sequence[str], columns: int = 120) -> str:
        code = self._asked(words, columns)
        out, err = (path.read_text(encoding="utf-8", errors="replace") for path in (self._out, self._err))
        return f"exit code {code}\n{out}" + (f"--- on stderr\n{err}" if err else "")

    def start(self, words: Sequence[str]) -> int:
        """Its process id; it goes on."""
        return self._asked(words, 120)

    def _asked(self, words: Sequence[str], columns: int) -> int:
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps([list(words), columns, str(self._out), str(self._err)]), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


# -- inputs


def inputs(folder: Path) -> None:
    """Dumps of all cases: `checks/CHECK/CASE.json`, `remediations/…`, `reports/NAME.json` and `fleet/demo.json`."""
    from demo.fleet.sample import sample_fleet
    from reconcile.plan.remediations import all_remediations
    from tests import check_cases, remediation_cases, report_files
    from tests.rows import full

    def write(path: str, objects: Iterable[Any]) -> None:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}), encoding="utf-8")

    for check in check_cases.CHECKS:
        for name, case in check_cases.cases_of(check).items():
            write(f"checks/{check.id}/{_file_name(name)}.json", map(full, case["given"]))
    for remediation in all_remediations():
        for name, case in remediation_cases.cases_of(remediation).items():
            if "refuses" not in case:
                write(f"remediations/{remediation.id}/{_file_name(name)}.json", map(full, case["given"]))
    for file in report_files.FILES:
        write(f"reports/{file.stem}.json", report_files.loaded(file).objects)
    write("fleet/demo.json", sample_fleet(datetime.fromtimestamp(NOW, UTC)).objects)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w-]+", "_", name)


def jobs(folder: Path, checkout: Path, ask: Driver) -> Iterator[Job]:
    """All commands, of the inputs in `folder`."""
    for file in sorted(folder.rglob("*.json")):
        sort, *_ = file.relative_to(folder).parts
        name, dump = str(file.relative_to(folder).with_suffix("")), ("--from", str(file), "--complete")
        if sort == "remediations":
            yield Job(f"{name}/plan.yaml", ("reconcile", "plan", "-o", "yaml"), objects=file)
            continue
        yield Job(f"{name}/check.json", ("check", *dump, "-o", "json"))
        yield Job(f"{name}/check.txt", ("check", *dump, "-o", "table", "--commands"), 80)
        if sort != "checks":
            yield from _looked_at(name, dump, file)
    yield from _without_a_cluster(ask)


def _looked_at(name: str, dump: tuple[str, ...], file: Path) -> Iterator[Job]:
    objects = json.loads(file.read_text(encoding="utf-8"))["items"]
    asked: dict[str, tuple[str, ...]] = {look: (look,) for look in _LOOKS}
    asked |= {f"impact {release}": ("impact", "--upgrade-to", release) for release in _RELEASES}
    for each in objects:
        meta = each["metadata"]
        if each["kind"] == "VirtualMachine":
            of = f"{meta.get('namespace', '')}/{meta['name']}"
            asked[f"vm {_file_name(of)}"] = ("vm", of)
        if each["kind"] == "Node":
            asked[f"drain {_file_name(meta['name'])}"] = ("drain", meta["name"])
    for what, words in asked.items():
        yield Job(f"{name}/{what}.json", (*words, *dump, "-o", "json"))
        for width in WIDTHS if name.startswith("fleet") and words[0] != "vm" else WIDTHS[:1]:
            yield Job(f"{name}/{what}.{width}.txt", (*words, *dump), width)
    if name.startswith("fleet"):
        for form in ("wide", "name", "yaml", "csv", "html", "sarif"):
            yield Job(f"{name}/check.{form}", ("check", *dump, "-o", form))
        for width in WIDTHS:
            yield Job(f"{name}/check.{width}.txt", ("check", *dump), width)


def _without_a_cluster(ask: Driver) -> Iterator[Job]:
    listed = [line.split() for line in ask(("explain",), 400).splitlines()[2:]]
    for word in dict.fromkeys(word for row in listed for word in row[:2] if len(row) > 2):
        yield Job(f"explain/{word}.txt", ("explain", word), 80)
    commands = re.findall(r"(?m)^ {2,4}([a-z]+) +[A-Z]", ask(("--help",), 120))
    formats = re.search(r"(?:one of|Output format:)\s+([\w, -]+\w)", ask(("rules", "render", "--help"), 400))
    assert commands, "the help lists no command any more as it is read here"
    assert formats, "the help of `rules render` lists no format any more as it is read here"
    for command in commands:
        yield Job(f"help/{command}.txt", (command, "--help"), 80)
    for form in formats[1].split(", "):
        yield Job(f"rules/{form.strip()}.yaml", ("rules", "render", "--format", form.strip()))
    for mode in _MODES:
        config = _config(ask, mode)
        yield Job(f"role/{mode}.yaml", ("reconcile", "role", "-n", "kv", "--config", str(config)))


def _config(ask: Driver, mode: str) -> Path:
    file = ask.folder / f"reconcile-{mode}.yaml"
    file.write_text(f"mode: {mode}\n", encoding="utf-8")
    return file


# -- outputs


async def _planned(job: Job, ask: Driver) -> str:
    """The same command against an API server that has the objects of the job."""
    from demo.apiserver.server import ApiServer, kubeconfig

    assert job.objects
    server = ApiServer()
    server.load(json.loads(job.objects.read_text(encoding="utf-8"))["items"])
    await server.start()
    try:
        words = (*job.words, "--kubeconfig", str(kubeconfig(ask.folder, server.url)))
        return await asyncio.to_thread(ask, words, job.columns)
    finally:
        await server.stop()


def _pages(dump: Path, ask: Driver) -> Iterator[tuple[str, str]]:
    """What a steward that serves a dump answers: metrics, API, and all pages that links lead to."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    number = ask.start(("serve", "--from", str(dump), "--complete", "--insecure", "--listen", f"127.0.0.1:{port}"))
    try:
        wait_until(lambda: _answers(f"{address}/readyz"), 60, "the steward is ready")
        todo, seen = list(_FIRST_PAGES), set(_FIRST_PAGES)
        while todo:
            path = todo.pop(0)
            text = _fetched(address + path)
            if path == "/metrics":
                text = "".join(sorted(text.splitlines(keepends=True)))  # series of a family have no order
            yield f"http/{_file_name(path.strip('/') or 'index')}.txt", text
            for link in re.findall(r'href="([^"]+)"', text):
                parts = urlsplit(urljoin(address + path, html.unescape(link)))
                found = parts.path + (f"?{parts.query}" if parts.query else "")
                if parts.netloc == f"127.0.0.1:{port}" and found not in seen and len(seen) < _MOST_PAGES:
                    seen.add(found)
                    todo.append(found)
    finally:
        os.kill(number, signal.SIGTERM)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _fetched(url: str) -> str:
    try:
        with urllib.request.urlopen(url) as answer:
            return f"{answer.status}\n{answer.read().decode(errors='replace')}"
    except urllib.error.HTTPError as error:
        return f"{error.code}\n{error.read().decode(errors='replace')}"


def _steady(text: str) -> str:
    for pattern, instead in _VOLATILE:
        text = pattern.sub(instead, text)
    return text


def make(folder: Path, checkout: Path, given: Path, only: str, processes: int) -> int:
    """Writes all outputs; gives how many there are."""
    outputs = folder / "outputs"
    shutil.rmtree(outputs, ignore_errors=True)

    def write(name: str, text: str) -> None:
        file = outputs / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_steady(text), encoding="utf-8")

    with tempfile.TemporaryDirectory(prefix="goldens-") as scratch:
        places = [Path(scratch, str(number)) for number in range(processes)]
        for each in places:
            each.mkdir()
        drivers = [Driver(checkout, each) for each in places]
        todo = [job for job in jobs(given, checkout, drivers[0]) if only in job.name]
        done = [0] * processes

        def work(number: int) -> None:
            for job in todo[number::processes]:
                ask = drivers[number]
                write(job.name, asyncio.run(_planned(job, ask)) if job.objects else ask(job.words, job.columns))
                done[number] += 1

        with ThreadPoolExecutor(processes) as pool:
            list(pool.map(work, range(processes)))
        for dump in sorted((given / "fleet").glob("*.json")):
            for name, text in _pages(dump, drivers[0]) if only in f"fleet/{dump.stem}/http" else ():
                write(f"fleet/{dump.stem}/{name}", text)
                done[0] += 1
        for driver in drivers:
            driver.close()
    return sum(done)


# -- comparing


def compare(one: Path, other: Path, lines: int) -> int:
    """Prints each output that differs; gives how many do."""
    files = {path.relative_to(top / "outputs") for top in (one, other) for path in (top / "outputs").rglob("*.*")}
    differing = 0
    for name in sorted(file for file in files):
        sides = [_text(top / "outputs" / name) for top in (one, other)]
        if sides[0] == sides[1]:
            continue
        differing += 1
        print(f"== {name}" + (": only on one side" if None in sides else ""))
        before, after = ((side or "").splitlines() for side in sides)
        for line in list(difflib.unified_diff(before, after, lineterm="", n=0))[2 : 2 + lines]:
            print(f"   {line}")
    print(f"{len(files)} outputs, {differing} differ")
    return differing


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


@contextmanager
def _checked_out(commit: str) -> Iterator[Path]:
    if not commit:
        yield _TOP
        return
    with tempfile.TemporaryDirectory(prefix="goldens-") as folder:
        place = Path(folder, "checkout")
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(place), commit], cwd=_TOP, check=True)
        try:
            yield place
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(place)], cwd=_TOP, check=True)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.goldens", description=(__doc__ or "").split("\n")[0])
    acts = parser.add_subparsers(dest="act", required=True)
    making = acts.add_parser("make", help="write all outputs into a folder")
    making.add_argument("folder", type=Path)
    making.add_argument("--commit", default="", help="of which; default: this checkout as it is")
    making.add_argument("--inputs", type=Path, help="a folder that has been made, whose inputs are taken")
    making.add_argument("--only", default="", help="outputs with this in their name")
    making.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    comparing = acts.add_parser("compare", help="say which outputs of two folders differ; exit code 1 if any does")
    comparing.add_argument("folder", type=Path)
    comparing.add_argument("other", type=Path)
    comparing.add_argument("--lines", type=int, default=20, help="of each difference")
    given = parser.parse_args(words)
    if given.act == "compare":
        return 1 if compare(given.folder, given.other, given.lines) else 0
    source = given.inputs or given.folder
    if not (source / "inputs").is_dir():
        inputs(source / "inputs")
    stands_still = mock.patch("time.time", return_value=NOW)  # of the API server with the objects, too
    with stands_still, _checked_out(given.commit) as checkout:
        made = make(given.folder.absolute(), checkout, (source / "inputs").absolute(), given.only, given.processes)
    print(f"{made:,} outputs in {given.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
