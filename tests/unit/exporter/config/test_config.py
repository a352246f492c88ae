"""The configuration: what goes before what, what is refused and how; documentation and schema know the same."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.__main__ import main
from exporter.checks import all_checks
from exporter.config.documents import as_rows, as_yaml, pages, schema
from exporter.config.file import read
from exporter.config.forms import parse_duration, write_duration
from exporter.config.keys import keys_of
from exporter.config.loading import Loaded, Sources, load
from exporter.config.mistakes import Mistakes
from exporter.config.settings import Config
from exporter.findings.check import PER_VM, Check, Reason, Setting, View
from exporter.findings.finding import Finding
from exporter.kube.watch.reflector import Timeouts
from exporter.metrics.text import SeriesLimit
from exporter.store.kinds import ipam_claim
from tests.all_of import each_of
from tests.evaluation import Evaluation
from tests.rows import full
from tests.shared import REPO


class NameSettings(msgspec.Struct, frozen=True, rename="camel"):
    longest_name: Annotated[int, Setting("The longest name.", "characters", low=1, high=63)] = 8
    settle: Annotated[timedelta, Setting("How long a name may be new.", low="1s", high="1d")] = timedelta(minutes=10)
    share: Annotated[float, Setting("Of how many.", low=0, high=1)] = 0.5
    spared: Annotated[tuple[str, ...], Setting("Names that may be longer.")] = ()

    def __post_init__(self) -> None:
        if self.longest_name < 4 and self.spared:
            raise ValueError("spared is of no use where longestName is below 4")


_FAMILY = next(iter(next(c for c in all_checks() if c.id == "ipam_claims").reasons.values()))


def long_names(view: View) -> Iterator[Finding]:
    for claim in view.all(ipam_claim.IPAMClaim):
        if len(claim.name) > view.settings.longest_name and claim.name not in view.settings.spared:
            yield Finding(reason="LongName", severity=_FAMILY.severities[0], subject=claim.ref, message="it is long")


NAMES = Check(
    id="names",
    title="Names",
    reads=(ipam_claim.KIND,),
    scope=PER_VM,
    reasons={"LongName": Reason(_FAMILY.severities, "Long.", _FAMILY.family)},
    find=long_names,
    settings=NameSettings,
)
CHECKS = (*all_checks(), NAMES)


pytestmark = pytest.mark.usefixtures("root_logger")


def loaded(tmp_path: Path, text: str = "", environment: dict[str, str] | None = None, **flags: str) -> Loaded:
    got = attempt(tmp_path, text, environment, **flags)
    assert isinstance(got, Loaded), str(got)
    return got


def mistakes(tmp_path: Path, text: str, environment: dict[str, str] | None = None, **flags: str) -> list[str]:
    """The lines that a user gets, after the first of each place."""
    got = attempt(tmp_path, text, environment, **flags)
    assert isinstance(got, Mistakes)
    return [line.strip() for line in str(got).splitlines() if line.startswith("  ")]


def attempt(
    tmp_path: Path, text: str | bytes, environment: dict[str, str] | None = None, **flags: str
) -> Loaded | Mistakes:
    file = tmp_path / "config.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(CHECKS, Sources(file, environment or {}, flags))


# -- what goes before what


@pytest.mark.parametrize(
    ("file", "environment", "flag", "value", "origin"),
    [
        (None, None, None, "127.0.0.1:9877", "default"),
        ("f:1", None, None, "f:1", "file"),
        (None, "e:2", None, "e:2", "environment STEWARD_LISTEN"),
        ("f:1", "e:2", None, "e:2", "environment STEWARD_LISTEN"),
        (None, None, "a:3", "a:3", "flag --listen"),
        ("f:1", None, "a:3", "a:3", "flag --listen"),
        (None, "e:2", "a:3", "a:3", "flag --listen"),
        ("f:1", "e:2", "a:3", "a:3", "flag --listen"),
        ("f:1", "", None, "f:1", "file"),  # an empty variable is none
    ],
)
def test_a_flag_goes_before_the_environment_before_the_file_before_the_default(
    file: str | None, environment: str | None, flag: str | None, value: str, origin: str, tmp_path: Path
) -> None:
    got = loaded(
        tmp_path,
        f"listen: {file}" if file else "",
        {"STEWARD_LISTEN": environment} if environment is not None else {},
        **({"listen": flag} if flag else {}),
    )
    assert got.config.listen == value
    assert (got.values["listen"].value, got.values["listen"].origin) == (value, origin)


def test_every_level_and_type_can_come_from_file_and_environment(tmp_path: Path) -> None:
    text = """
    settle: 1s
    seriesLimit: {family: 10}
    checks:
      sources: {enabled: false}
      names: {longestName: 20, settle: 2h30m, share: 0.25, spared: [a, b]}
    """
    got = loaded(tmp_path, text, {"STEWARD_SERIES_LIMIT__TOTAL": "30", "STEWARD_PACE__STALE_AFTER": "90s"}).config
    assert (got.settle, got.series_limit.family, got.series_limit.total) == (timedelta(seconds=1), 10, 30)
    assert got.pace.stale_after == timedelta(seconds=90)
    assert not got.of("sources").enabled
    assert got.of("ipam_claims").enabled
    assert got.of("names").settings == NameSettings(20, timedelta(hours=2.5), 0.25, ("a", "b"))

    variables = {"LONGEST_NAME": "9", "SETTLE": "1d", "SHARE": "1", "SPARED": "x, y", "ENABLED": "false"}
    got = loaded(tmp_path, text, {f"STEWARD_CHECKS__NAMES__{name}": value for name, value in variables.items()}).config
    assert got.of("names").settings == NameSettings(9, timedelta(days=1), 1.0, ("x", "y"))
    assert not got.of("names").enabled


def test_defaults_are_those_of_the_code() -> None:
    config, pace = Config(), Timeouts()
    assert SeriesLimit(config.series_limit.family, config.series_limit.total) == SeriesLimit()
    seconds = [
        getattr(config.pace, name).total_seconds() for name in ("watch", "stale_after", "look_again", "longest_wait")
    ]
    assert seconds == [pace.watch, pace.stale_after, pace.look_again, pace.longest_wait]


# -- what is refused


def test_all_mistakes_are_reported_at_once_with_place_path_and_the_right_name(tmp_path: Path) -> None:
    text = """\
listen: 9877
log_level: debug
pace: 5
staleAfter: 1m
seriesLimit:
  family: many
  total: 0
  total: 5
checks:
  ipam_claim: {enabled: true}
  sources: {enabled: yes, settle: 1m}
settle: 2 min
kubeconfig:
context: 12
logFormat: jsn
"""
    environment = {"STEWARD_LISTEN": "nowhere", "STEWARD_SERIES_LIMIT_TOTAL": "7", "STEWARD_PACE__WATCHES": "1m"}
    assert str(attempt(tmp_path, text, environment, context="")).splitlines() == [
        f"{tmp_path}/config.yaml, 14 mistakes:",
        "  seriesLimit.total: written twice, in lines 7 and 8",
        "  listen: 9877 is not HOST:PORT. Write it as 127.0.0.1:9877 or [::1]:9877",
        '  log_level: no such key. Did you mean "logLevel"?',
        "  pace: 5 is not allowed here. Write a mapping with watch, staleAfter, lookAgain, longestWait",
        '  staleAfter: no such key. Did you mean "pace.staleAfter"?',
        '  seriesLimit.family: "many" is not a whole number of series',
        "  seriesLimit.total: 0 is out of range. It must be 2 to 10000000",
        '  checks.ipam_claim: no such check. Did you mean "ipam_claims"?',
        '  checks.sources.enabled: "yes" is not true or false',
        '  checks.sources.settle: no such key. Did you mean "settle" at the top?',
        '  settle: "2 min" is not a duration. Write it as "90s", "10m", "2h30m" or "1d"',
        "  kubeconfig: it has no value. Write text, or omit it",
        '  context: 12 is not text. Write it in quotes: "12"',
        '  logFormat: "jsn" is unknown. Did you mean "json"?',
        "environment, 3 mistakes:",
        '  STEWARD_LISTEN: "nowhere" is not HOST:PORT. Write it as 127.0.0.1:9877 or [::1]:9877',
        '  STEWARD_PACE__WATCHES: no such key. Did you mean "STEWARD_PACE__WATCH"?',
        '  STEWARD_SERIES_LIMIT_TOTAL: no such key. Did you mean "STEWARD_SERIES_LIMIT__TOTAL"?',
        "command line, 1 mistake:",
        '  --context: "" is empty',
    ]


@each_of(
    ("reconcile", "said"),
    [
        (
            "{url: 'ftp://a'}",
            'reconcile.url: "ftp://a" is not the URL of a server. Write it as https://HOST:PORT, without a path',
        ),
        ("{url: 'https://user:secret@a'}", "reconcile.url: "),
        ("{url: 'https://a/plans'}", "reconcile.url: "),
        ("{url: 'https://a?b'}", "reconcile.url: "),
        ("{url: 'https://'}", "reconcile.url: "),
        ("{tokenFile: /t}", "reconcile.tokenFile: it is for the sidecar at reconcile.url, which is not set"),
        ("{caFile: /c}", "reconcile.caFile: it is for the sidecar at reconcile.url, which is not set"),
        (
            "{url: 'http://sidecar.ns.svc:9878', tokenFile: /t}",
            "reconcile.tokenFile: a token is not sent over http to another host. Write reconcile.url with https",
        ),
        ("{url: 'http://127.0.0.1.nip.io', tokenFile: /t}", "reconcile.tokenFile: "),
    ],
)
def test_a_sidecar_that_can_not_be_asked_is_refused(reconcile: str, said: str, tmp_path: Path) -> None:
    (found,) = mistakes(tmp_path, f"reconcile: {reconcile}")
    assert found.startswith(said)


@pytest.mark.parametrize(
    ("url", "token"),
    [
        ("http://127.0.0.1:9878", "/t"),
        ("http://localhost", "/t"),
        ("http://[::1]:9878/", "/t"),
        ("https://sidecar.ns.svc:9878", "/t"),
        ("http://sidecar.ns.svc:9878", ""),
    ],
)
def test_a_sidecar_is_configured_by_its_url(url: str, token: str, tmp_path: Path) -> None:
    got = loaded(tmp_path, f"reconcile: {{url: '{url}'}}", {"STEWARD_RECONCILE__TOKEN_FILE": token}).config.reconcile
    assert (got.url, got.token_file, got.ca_file) == (url, token or None, None)


@each_of(
    ("text", "said"),
    [
        (
            "seriesLimit: [1",
            "line 1, column 16: while parsing a flow sequence, expected ',' or ']', but got '<stream end>'",
        ),
        ("settle: 1s\nseriesLimit: a: b", "line 2, column 15: mapping values are not allowed here"),
        ("listen: &a b:1", "line 1, column 9: anchors and aliases are not supported. Write the value out"),
        ("listen: *a", "line 1, column 9: anchors and aliases are not supported. Write the value out"),
        (
            "listen: !!python/name:os.system x",
            "line 1, column 9: tags are not supported. Write the value without the tag",
        ),
        ("settle: 1s\n---\nsettle: 2s", "line 2, column 1: a second document starts here. Only one is allowed"),
        ("\n? {a: 1}\n: 2", "line 2: a key must be plain text"),
        ("listen: a:1\nlisten: b:1", "listen: written twice, in lines 1 and 2"),
        ("a: \x00", "line 1: a character that YAML does not allow"),
        ('a: "\\UFFFFFFFF"', "a number or an escaped character in it is too large"),
        ("[" * 5000, "line 1, column 17: this is nested too deeply"),
        ("#" * (1 << 20) + "##", "it is larger than 1 MiB"),
        ("token-of-somebody", "text is not allowed here. Write a mapping with "),
        ('"\\ud800": 1', "line 1: a key must be plain text"),
        ('logLevel: "\\ud800"', 'logLevel: "?" is unknown. Write debug, info, warning or error'),
        ('checks: {names: {share: "\\ud800"}}', 'checks.names.share: "?" is not a number'),
        (b"listen: \xff", "byte 9 is not UTF-8 text"),
    ],
)
def test_what_is_no_yaml_of_ours_is_refused_with_its_line(text: str | bytes, said: str, tmp_path: Path) -> None:
    got = attempt(tmp_path, text)
    assert isinstance(got, Mistakes)
    assert [each for each in got.each if f"{each.path}: {each.what}".removeprefix(": ").startswith(said)]
    assert "somebody" not in str(got)


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "seriesLimit:\n  # family: 5\n", "\ufeffsettle: 1s", "checks: {}\npace: ~"]
)
def test_an_empty_file_or_section_sets_nothing_or_little(text: str, tmp_path: Path) -> None:
    assert loaded(tmp_path, text).config.series_limit == Config().series_limit


@each_of(
    ("text", "said"),
    [
        (
            "assumeUpstreamVersion: v4.19",
            'assumeUpstreamVersion: "v4.19" is not a release of KubeVirt. Write it as "v1.8.4"',
        ),
        (
            "assumeUpstreamVersion: v1.9.0-9-gd923fdb",
            'assumeUpstreamVersion: "v1.9.0-9-gd923fdb" is between two releases. Write the earlier release, "v1.9.0"',
        ),
        ("settle: 90", 'settle: 90 has no unit. Write it as "90s" if seconds are meant'),
        ("settle: 1:30", 'settle: "1:30" is not a duration. Write it as "90s", "10m", "2h30m" or "1d"'),
        ("settle: 1h1d", 'settle: "1h1d" is not a duration. Write it as "90s", "10m", "2h30m" or "1d"'),
        ("settle: [1s]", 'settle: a list is not a duration. Write it as "90s", "10m", "2h30m" or "1d"'),
        ("settle: 2m", "settle: 2m is out of range. It must be 0s to 1m"),
        ("seriesLimit: {family: true}", "seriesLimit.family: true is not a whole number of series"),
        ("seriesLimit: {family: 2.5}", "seriesLimit.family: 2.5 is not a whole number of series"),
        ("seriesLimit: {family: 0o17}", 'seriesLimit.family: "0o17" is not a whole number of series'),
        ("checks: {names: {spared: x}}", 'checks.names.spared: "x" is not a list of texts'),
        ("checks: {names: {spared: [1]}}", 'checks.names.spared: 1 is not text. Write it in quotes: "1"'),
        ("checks: {names: {share: 2}}", "checks.names.share: 2 is out of range. It must be 0 to 1"),
        (
            "checks: {names: {longestName: 3, spared: [x]}}",
            "checks.names: spared is of no use where longestName is below 4",
        ),
        (
            f"checks: {{{', '.join(f'{check.id}: {{enabled: false}}' for check in CHECKS if check.id != 'sources')}}}",
            "checks: no check would run. Leave at least one check enabled",
        ),
        (
            "- listen",
            "a list is not allowed here. Write a mapping with listen, insecure, hosts, tls, login, kubeconfig, ",
        ),
        ("tls: {certFile: /c}", "tls: certFile and keyFile belong together. Set both or neither"),
        (
            "insecure: true\ntls: {certFile: /c, keyFile: /k}",
            "insecure: plain HTTP has no certificate. Omit tls or insecure",
        ),
        ("hosts: [a, 'b:1']", 'hosts: "b:1" is not a host name. Write it as steward.example.org, without a port'),
        ("hosts: a", 'hosts: "a" is not a list of host names'),
        (
            "reconcile: {serverName: a}",
            "reconcile.serverName: it is for the sidecar at reconcile.url, which is not set",
        ),
        (
            "reconcile: {url: 'http://a', serverName: a}",
            "reconcile.serverName: only https has a server certificate. Write reconcile.url with https",
        ),
        ("listen: a:70000", 'listen: "a:70000" is not HOST:PORT. Write it as 127.0.0.1:9877 or [::1]:9877'),
        (f"listen: {'x' * 500}", f'listen: "{"x" * 59}… is not HOST:PORT'),
    ],
)
def test_a_wrong_value_is_reported_with_what_would_be_right(text: str, said: str, tmp_path: Path) -> None:
    assert [line for line in mistakes(tmp_path, text) if line.startswith(said)]


def test_variables_of_others_are_left_alone(tmp_path: Path) -> None:
    links = {"STEWARD_PORT": "tcp://10.0.0.1:80", "STEWARD_SERVICE_HOST": "10.0.0.1", "STEWARD_PORT_80_TCP_ADDR": "x"}
    assert loaded(tmp_path, "", {**links, "STEWARD_SHARED": "x", "STEWARD_CONFIG": "x", "PATH": "/"})
    assert mistakes(tmp_path, "", {"STEWARD_CONFG": "x"}) == [
        'STEWARD_CONFG: no such key. Did you mean "STEWARD_CONFIG"?'
    ]


def test_a_file_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    got = load(CHECKS, Sources(tmp_path / "none.yaml", {}, {}))
    assert str(got) == f"{tmp_path}/none.yaml, 1 mistake:\n  it can't be read: No such file or directory"


# -- forms


@given(st.timedeltas(timedelta(0), timedelta(days=900_000)))
def test_a_duration_is_read_back_as_it_was_written(value: timedelta) -> None:
    value -= value % timedelta(milliseconds=1)
    assert parse_duration(write_duration(value)) == value


@given(st.text() | st.from_regex(r"([0-9]{1,8}(ms|d|h|m|s)){1,5}", fullmatch=True))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert parse_duration(text) >= timedelta(0)


_WORDS = [key.path for key in keys_of(CHECKS)]
_ODD = (
    *(": ", "\n", "\n  ", "- ", "[", "]", "{", "}", ",", '"', "'", "&a", "*a", "!x ", "? ", "| ", "%YAML 1.", "---\n"),
    *("null", "true", "1", "-1e9", "9" * 20, "90s", "\\U", "\t", "\ud7ff", "#"),
)
_PIECES = st.sampled_from([*sorted({part for path in _WORDS for part in path}), *_ODD])


@given(st.text() | st.lists(_PIECES, max_size=30).map("".join) | st.binary())
def test_any_text_gives_a_configuration_or_mistakes(tmp_path_factory: Any, text: str | bytes) -> None:
    content = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    got = attempt(_folder(tmp_path_factory), content)
    assert isinstance(got, Loaded) or got.each
    if isinstance(got, Mistakes):
        assert all(line.isprintable() for line in str(got).splitlines())


def _folder(factory: pytest.TempPathFactory) -> Path:
    path = factory.getbasetemp() / "any-text"
    path.mkdir(exist_ok=True)
    return path


# -- what a check gets


def test_a_check_gets_its_settings_and_others_while_it_runs() -> None:
    evaluation = Evaluation([NAMES])
    evaluation.seen(full({"kind": "IPAMClaim", "namespace": "ns", "name": "short", "vm": "db"}))
    evaluation.seen(full({"kind": "IPAMClaim", "namespace": "ns", "name": "longer-than-8", "vm": "web"}))
    assert [name for _, name, _, _ in evaluation.found()] == ["longer-than-8"]

    evaluation.engine.configure("names", NameSettings(longest_name=4))
    assert [name for _, name, _, _ in evaluation.found()] == ["longer-than-8", "short"]
    evaluation.engine.configure("names", NameSettings(longest_name=4, spared=("short",)))
    assert [name for _, name, _, _ in evaluation.found()] == ["longer-than-8"]
    evaluation.engine.configure("names", NameSettings(longest_name=63))
    assert evaluation.found() == []


class Required(msgspec.Struct, frozen=True):
    name: str


class Strange(msgspec.Struct, frozen=True):
    name: Annotated[bytes, Setting("Bytes.")] = b""


@pytest.mark.parametrize("settings", [Required, Strange])
def test_settings_that_no_file_can_hold_are_refused(settings: type[msgspec.Struct]) -> None:
    check = Check("odd", "Odd", (ipam_claim.KIND,), PER_VM, {}, long_names, settings=settings)
    with pytest.raises(TypeError):
        keys_of([check])


# -- schema, documentation, commands


SCHEMA_CASES = [
    ("", True),
    ("settle: 1s\nlisten: '[::1]:80'\nlogLevel: debug\npace:\nseriesLimit: {family: 5}", True),
    ("checks: {names: {longestName: 20, settle: 2h30m, share: 1, spared: [a]}, sources: {enabled: false}}", True),
    ("seriesLimit: {family: 5.0}", True),
    ("kubeconfig: ~/.kube/config", True),
    ("- a", False),
    ("settle: 90", False),
    ("settle: 1h1d", False),
    ("settle: ''", False),
    ("settle: s", False),
    ("listen: 80", False),
    ("listen: localhost", False),
    ("kubeconfig:", False),
    ("kubeconfig: ''", False),
    ("logLevel: loud", False),
    ("loglevel: debug", False),
    ("pace: 5", False),
    ("seriesLimit: {family: 1}", False),
    ("seriesLimit: {family: 2.5}", False),
    ("seriesLimit: {family: many}", False),
    ("checks: {sources: {enabled: yes}}", False),
    ("checks: {names: {spared: a}}", False),
    ("checks: {names: {spared: [1]}}", False),
    ("checks: {names: {share: 1.5}}", False),
    ("checks: {nothing: {enabled: true}}", False),
]


@each_of(("text", "fine"), SCHEMA_CASES)
def test_the_schema_accepts_what_is_accepted(text: str, fine: bool, tmp_path: Path) -> None:
    from jsonschema import Draft202012Validator  # loading it takes seconds

    validator = Draft202012Validator(schema(CHECKS))
    validator.check_schema(validator.schema)
    data, _ = read(text.encode())
    assert validator.is_valid(data) == fine
    assert isinstance(attempt(tmp_path, text), Loaded) == fine


def test_the_defaults_of_the_schema_are_accepted(tmp_path: Path) -> None:
    top = json.loads((REPO / "docs/config.schema.json").read_text(encoding="utf-8"))
    defaults = _defaults(top, top["$defs"])
    assert (defaults["settle"], defaults["pace"]["watch"], defaults["checks"]["sources"]["enabled"]) == (
        "250ms",
        "4m30s",
        True,
    )
    assert loaded(tmp_path, json.dumps(defaults)).config == loaded(tmp_path, "").config


def _defaults(section: dict[str, Any], sections: dict[str, Any]) -> Any:
    found = {}
    for name, below in section["properties"].items():
        if "$ref" in below:
            found[name] = _defaults(sections[below["$ref"].removeprefix("#/$defs/")], sections)
        elif "default" in below:
            found[name] = below["default"]
    return found


def test_no_two_keys_have_one_variable() -> None:
    variables = [key.variable for key in keys_of(CHECKS)]
    assert all(variables)
    assert len(set(variables)) == len(variables)


def test_the_documentation_has_every_key_with_all_its_names() -> None:
    keys = keys_of(CHECKS)
    text = "\n".join(pages(keys, ""))
    for key in keys:
        row = next(line for line in text.splitlines() if line.startswith(f"| `{key.name}` |"))
        assert key.meaning
        assert key.meaning in row
        assert f"`{key.variable}`" in row
        assert key.title in row
        assert not key.flag or f"`{key.flag}`" in row


def test_what_is_shown_is_a_file_that_gives_the_same(tmp_path: Path) -> None:
    known = 'acknowledged: [{cause: "0123456789abcdef", until: 2026-12-01, because: x}]'
    text = f'context: "true"\n{known}\n' + 'checks: {names: {spared: ["a: b", "ü #x"], settle: 90m}}'
    got = loaded(tmp_path, text, {"STEWARD_SERIES_LIMIT__FAMILY": "7"}, listen="[::1]:1")
    shown = as_yaml(got)
    assert 'context: "true" # file' in shown
    assert "  family: 7 # environment STEWARD_SERIES_LIMIT__FAMILY" in shown
    assert 'listen: "[::1]:1" # flag --listen' in shown
    assert loaded(tmp_path, shown).config == got.config
    assert ("checks.names.settle", "1h30m", "file") in as_rows(got)
    assert ("kubeconfig", "(not set)", "default") in as_rows(got)


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(words)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_commands_check_and_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("settle: 1s\nlogLevel: error\n")
    bad.write_text("setle: 1s\n")
    reported = f'{bad}, 1 mistake:\n  setle: no such key. Did you mean "settle"?\n'

    assert run(["config", "check", str(good)], capsys) == (0, f"{good} is fine\n", "")
    assert run(["config", "check", str(bad)], capsys) == (2, reported, "")
    assert run(["config", "check"], capsys)[0] == 2
    for command in (["config", "show"], ["serve"], ["check"]):
        assert run([*command, "--config", str(bad)], capsys) == (2, "", reported)

    monkeypatch.setenv("STEWARD_CONFIG", str(good))
    monkeypatch.setenv("STEWARD_LOG_FORMAT", "json")
    assert run(["config", "check"], capsys) == (0, f"{good} is fine\n", "")
    code, out, _ = run(["--log-level", "info", "config", "show", "--context", "here"], capsys)
    origins = {line.split()[0]: line.split(maxsplit=2)[1:] for line in out.splitlines()}
    assert code == 0
    assert origins["settle"] == ["1s", "file"]
    assert origins["context"] == ["here", "flag --context"]
    assert origins["logLevel"] == ["info", "flag --log-level"]
    assert origins["logFormat"] == ["json", "environment STEWARD_LOG_FORMAT"]
    assert origins["listen"] == ["127.0.0.1:9877", "default"]


def test_thousands_of_unknown_keys_are_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("".join(f"logLevl{number}: info\n" for number in range(5000)), encoding="utf-8")
    before = time.thread_time()
    mistakes = load(all_checks(), Sources(file, {}, {}))
    assert time.thread_time() - before < 5
    assert isinstance(mistakes, Mistakes)
    assert len(mistakes.each) == 5000
    lines = str(mistakes).splitlines()
    assert lines[0].endswith("5000 mistakes:")
    assert lines[1] == '  logLevl0: no such key. Did you mean "logLevel"?'
    assert lines[-1] == "  and 4900 more"
    assert len(lines) == 102
