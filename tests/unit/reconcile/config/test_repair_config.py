"""The sidecar's configuration: what holds with nothing set, precedence of modes, and all mistakes at once."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from exporter.config.file import read
from exporter.config.keys import keys_within
from exporter.config.mistakes import Mistakes
from reconcile.config.loading import LoadedSidecar, load
from reconcile.config.settings import Mode, SidecarConfig, may_write, mode_of, model_of
from reconcile.plan.remediations import all_remediations
from tests.all_of import each_of
from tests.repairs import REPAIR, config


def attempt(tmp_path: Path, text: str | bytes) -> LoadedSidecar | Mistakes:
    file = tmp_path / "config.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load([REPAIR], file)


def loaded(tmp_path: Path, text: str) -> SidecarConfig:
    got = attempt(tmp_path, text)
    assert isinstance(got, LoadedSidecar), str(got)
    return got.config


def mistakes(tmp_path: Path, text: str | bytes) -> list[str]:
    got = attempt(tmp_path, text)
    assert isinstance(got, Mistakes)
    return [line.strip() for line in str(got).splitlines()[1:]]


def test_with_nothing_set_every_remediation_only_plans(tmp_path: Path) -> None:
    for got in (
        load(all_remediations(), None),
        attempt(tmp_path, ""),
        attempt(tmp_path, "budgets:\nalertmanager: {}\n"),
    ):
        assert isinstance(got, LoadedSidecar)
        assert {mode_of(got.config, each.id, "any") for each in (*all_remediations(), REPAIR)} == {Mode.PLAN}
        assert (got.config.windows, got.config.budgets.run, got.config.alertmanager.url) == ((), 5, None)


def test_every_key_can_be_set(tmp_path: Path) -> None:
    text = """
mode: "off"
remediations:
  repair: {mode: auto, minAge: 1h, namespaces: {shop: approve}, canary: {enabled: true, stays: 5m}}
budgets: {run: 1, hour: 2, namespaceHour: 3, fleetShare: 1}
storm: {share: 0.5, atLeast: 3, cooldown: 1m}
windows: [{days: [Sat, Sun], from: "22:00", to: "05:00", timeZone: Europe/Berlin}, {days: [Mon]}]
blackouts: [{from: "2026-12-20", to: "2027-01-06T12:00", timeZone: Europe/Berlin, reason: year end freeze}]
breaker: {failures: 1, pause: 1m}
editWar: {returns: 2, within: 1h}
canary: {enabled: false, stays: 2h}
approval: {longest: 1h}
source: {url: "https://exporter:9877/", tokenFile: /t, caFile: /c, serverName: exporter, oldest: 5s}
exporterConfig: /e.yaml
alertmanager: {url: "https://am", tokenFile: /t, caFile: /c, labels: {cluster: prod}}
listen: "[::]:9878"
insecure: false
hosts: [sidecar.example.org]
tls: {certFile: /c, keyFile: /k}
ledger: {directory: /l, maxFileSize: 65536}
lease: {namespace: ns, name: n, duration: 30s}
interval: 1m
verifyAfter: 5m
settleAfter: 10m
"""
    got = loaded(tmp_path, text)
    written = {line.split(":")[0] for line in text.splitlines() if line and line[0] != " "}
    assert written == {key.path[0] for key in keys_within(model_of([REPAIR]))}
    defaults = model_of([REPAIR])().model_dump(mode="json")
    same = [name for name, value in got.model_dump(mode="json").items() if value == defaults[name]]
    assert same == ["insecure"]  # which does not go with tls
    assert got.of("repair").min_age == timedelta(hours=1)
    assert (got.canary_of("repair").enabled, got.canary_of("repair").stays) == (True, timedelta(minutes=5))
    assert (got.canary_of("other").enabled, got.canary_of("other").stays) == (False, timedelta(hours=2))
    assert got.source.url == "https://exporter:9877"
    assert (got.windows[0].from_, got.windows[1].to, got.windows[1].time_zone) == ("22:00", "24:00", "UTC")


@each_of(
    ("values", "namespace", "mode"),
    [
        ({"mode": "auto"}, "a", Mode.AUTO),
        ({"mode": "auto", "remediations": {"repair": {"mode": "off"}}}, "a", Mode.OFF),
        ({"mode": "off", "remediations": {"repair": {"mode": "approve"}}}, "a", Mode.APPROVE),
        ({"remediations": {"repair": {"mode": "auto", "namespaces": {"a": "plan"}}}}, "a", Mode.PLAN),
        ({"remediations": {"repair": {"mode": "auto", "namespaces": {"a": "plan"}}}}, "b", Mode.AUTO),
        ({"remediations": {"repair": {"namespaces": {"a": "auto"}}}}, "b", Mode.PLAN),
        ({"remediations": {"repair": {"mode": "auto", "namespaces": {"a": "plan"}}}}, "", Mode.AUTO),
    ],
)
def test_the_most_specific_mode_counts(values: dict[str, Any], namespace: str, mode: Mode) -> None:
    assert mode_of(config(**values), "repair", namespace) is mode
    assert mode_of(config(**values), "unheard_of", namespace) is Mode(values.get("mode", "plan"))


@each_of(
    ("text", "wanted"),
    [
        ("mode: autos", 'mode: "autos" is unknown. Did you mean "auto"?'),
        ("mode: apply", 'mode: "apply" is unknown. .*'),
        ("mode: true", "mode: true is unknown. Write off, plan, shadow, approve or auto"),
        ("mdoe: auto", 'mdoe: no such key. Did you mean "mode"?'),
        ("remediations: {repare: {mode: auto}}", 'remediations.repare: no such key. Did you mean "repair"?'),
        ("remediations: {repair: {mode: aut}}", 'remediations.repair.mode: "aut" is unknown. Did you mean "auto"?'),
        (
            "remediations: {repair: auto}",
            'remediations.repair: "auto" is not allowed here. Write a mapping with mode, .*',
        ),
        ("remediations: {repair: {namespaces: {a: aut}}}", 'remediations.repair.namespaces.a: "aut" is unknown. .*'),
        ("remediations: {repair: {namespaces: {A: auto}}}", '.*namespaces.A: "A" can\'t be the name of a namespace'),
        ("remediations: {repair: {namespaces: {a: }}}", ".*namespaces.a: None is unknown. Write off, .*"),
        ("remediations: {repair: {namespaces: [a]}}", ".*namespaces: a list is not a mapping of namespaces to modes"),
        ("remediations: {repair: {minAge: 10}}", '.*minAge: 10 has no unit. Write it as "10s" if seconds are meant'),
        ("budgets: {hour: -1}", "budgets.hour: -1 is out of range. It must be 0 to 10000"),
        ("budgets: {fleetShare: 5}", "budgets.fleetShare: 5 is out of range. It must be 0 to 1"),
        ("budgets: {fleetShare: nan}", 'budgets.fleetShare: "nan" is not a number'),
        ("windows: {}", "windows: a mapping is not a list of windows"),
        ("windows: [x]", 'windows.0: "x" is not a mapping .*'),
        ("windows: [{}, {day: [Mon]}]", 'windows.1.day: no such key. Did you mean "days"?'),
        ("windows: [{days: [Mon, Teu]}]", 'windows.0.days.1: "Teu" is unknown. Did you mean "Tue"?'),
        ("windows: [{days: [Monday]}]", 'windows.0.days.0: "Monday" is unknown. Did you mean "Mon"?'),
        ("windows: [{days: []}]", "windows.0: it has no days; leave `days` out for all of them"),
        ('windows: [{from: "1:00"}]', 'windows.0.from: "1:00" isn\'t a time of day. Write it as "22:00"'),
        ('windows: [{from: "24:00"}]', 'windows.0.from: "24:00" isn\'t a time of day. .*'),
        ('windows: [{to: "24:01"}]', 'windows.0.to: "24:01" isn\'t a time of day. .*'),
        ('windows: [{from: "02:00", to: "02:00"}]', "windows.0: it ends when it begins; .*"),
        ("windows: [{timeZone: Europe/Berln}]", 'windows.0.timeZone: .* Did you mean "Europe/Berlin"?'),
        (
            "windows: [{timeZone: ../../etc/passwd}]",
            'windows.0.timeZone: "../../etc/passwd" isn\'t a known time zone.*',
        ),
        ("windows: [{timeZone: Europe}]", 'windows.0.timeZone: "Europe" isn\'t a known time zone.*'),
        ("source: {url: exporter:9877}", 'source.url: "exporter:9877" is not a URL. Write it as https://HOST:PORT'),
        ("source: {url: 'https://a:99999'}", "source.url: .* is not a URL. .*"),
        ("source: {url: 'https://a:0'}", "source.url: .* is not a URL. .*"),
        ("source: {url: 'https://me@a'}", "source.url: a URL must not contain a password. Use tokenFile"),
        ("source: {url: 'https://a/b c'}", "source.url: .* is not a URL. .*"),
        ("source: {url: 'https://a?b'}", "source.url: .* is not a URL. .*"),
        ("source: {url: 'https:///a'}", "source.url: .* is not a URL. .*"),
        ("source: {url: 'https://me:pw@a'}", "source.url: a URL must not contain a password. Use tokenFile"),
        ("source: {url: }", "source.url: it has no value. Write URL, or omit it"),
        ("source: {url: 'http://a', tokenFile: /t}", "source.url: a token would be sent unencrypted. Use https, .*"),
        ("alertmanager: {tokenFile: /t}", "alertmanager.tokenFile: no server to send it to: .*"),
        ("alertmanager: {labels: {cluster: 1}}", "alertmanager.labels.*1 is not text.*"),
        ("prometheus: {gate: up}", "prometheus: no such key. Known: .*"),
        ("actions: true", "actions: no such key. .*"),
        ("acknowledge: {configMap: a}", "acknowledge: no such key. Known: mode, remediations, .*"),
        ("webhook: {enabled: true}", "webhook: no such key. Known: .*"),
        ("tls: {certFile: /c}", "tls: certFile and keyFile belong together. Set both or neither"),
        ("insecure: true\ntls: {certFile: /c, keyFile: /k}", "insecure: plain HTTP has no certificate. .*"),
        ("hosts: ['a b']", 'hosts.*"a b" is not a host name. Write it as steward.example.org, without a port'),
        ("source: {serverName: a}", "source.serverName: only https has a server certificate. .*"),
        ("lease: {duration: 14s}", "lease.duration: 14s is out of range. It must be 15s to 10m"),
        ("- mode", "a list is not allowed here. Write a mapping with mode, remediations, .*"),
        ("mode: plan\nmode: auto", "mode: written twice, in lines 1 and 2"),
        ("a: &a 1\nb: *a", ".*anchors and aliases are not supported.*"),
        (b"\xff", "byte 1 is not UTF-8 text"),
    ],
)
def test_a_mistake_is_named_with_what_would_be_right(tmp_path: Path, text: str | bytes, wanted: str) -> None:
    found = mistakes(tmp_path, text)
    assert any(re.fullmatch(wanted.replace("?", r"\?"), each) for each in found), found


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    found = mistakes(tmp_path, "mode: x\nbudgets: {run: x}\nwindows: [{days: [x]}, {from: x}]\nx: x")
    assert [each.partition(":")[0] for each in found] == [
        "mode",
        "budgets.run",
        "windows.0.days.0",
        "windows.1.from",
        "x",
    ]


def test_a_token_may_go_over_loopback_unencrypted(tmp_path: Path) -> None:
    for host in ("127.0.0.1:9877", "localhost", "[::1]:1"):
        assert loaded(tmp_path, f"source: {{url: 'http://{host}', tokenFile: /t}}").source.token_file == "/t"


def test_a_file_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    got = load([REPAIR], tmp_path / "none.yaml")
    assert isinstance(got, Mistakes)
    assert "none.yaml, 1 mistake:\n  it can't be read: No such file or directory" in str(got)


def test_editors_validate_what_is_loaded(tmp_path: Path) -> None:
    schema = model_of([REPAIR]).model_json_schema()
    from jsonschema import Draft202012Validator  # loading it takes seconds

    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for text, sound in (
        ("windows: [{days: [Sat], from: '22:00', to: '24:00', timeZone: UTC}]", True),
        ("remediations: {repair: {mode: auto, namespaces: {a: off}}}", True),
        ("remediations: {repair:}", True),
        ("windows: [{days: [Saturday]}]", False),
        ("windows: [{from: '24:00'}]", False),
        ("remediations: {repair: {namespaces: {a: aut}}}", False),
        ("source: {url: ftp://a}", False),
        ("mdoe: auto", False),
    ):
        assert validator.is_valid(read(text.encode())[0]) == sound, text
        assert isinstance(attempt(tmp_path, text), LoadedSidecar) == sound, text


@each_of(
    ("values", "writes"),
    [
        ({}, False),
        ({"mode": "off"}, False),
        ({"mode": "approve"}, True),
        ({"remediations": {"release_ipam_claim": {"mode": "auto"}}}, True),
        ({"remediations": {"release_ipam_claim": {"namespaces": {"shop": "approve"}}}}, True),
        ({"remediations": {"release_ipam_claim": {"namespaces": {"shop": "off"}}}}, False),
        ({"remediations": {"clean_feature_gates": {"mode": "auto"}}}, False),  # it only proposes
    ],
)
def test_with_the_defaults_nothing_is_ever_written(values: dict[str, Any], writes: bool) -> None:
    remediations = all_remediations()
    config = model_of(remediations).model_validate(values, by_alias=True, by_name=False)
    assert may_write(config, remediations) is writes


IN_TEST = {"matchLabels": {"tier": "test"}, "mode": "auto"}
NOT_PROD = {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["prod"]}], "mode": "approve"}


@each_of(
    ("selectors", "labels", "mode"),
    [
        ([IN_TEST], {"tier": "test"}, Mode.AUTO),
        ([IN_TEST], {"tier": "prod"}, Mode.PLAN),
        ([IN_TEST], {}, Mode.PLAN),
        ([IN_TEST, NOT_PROD], {"tier": "test"}, Mode.APPROVE),
        ([NOT_PROD], {}, Mode.APPROVE),
        ([IN_TEST, NOT_PROD], None, Mode.AUTO),  # a gate is closed then
    ],
)
def test_a_mode_by_labels_is_the_strictest_that_selects(
    selectors: list[Any], labels: dict[str, str] | None, mode: Mode
) -> None:
    values = {"remediations": {"repair": {"namespaceSelectors": selectors, "namespaces": {"named": "off"}}}}
    assert mode_of(config(**values), "repair", "a", labels) is mode
    assert mode_of(config(**values), "repair", "named", labels) is Mode.OFF
    assert mode_of(config(**values), "repair", "", labels) is Mode.PLAN
    assert may_write(config(**values), [REPAIR])


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ("{matchLabels: {a: b}}", "it has no `mode`"),
        ("{mode: auto}", "it selects every namespace"),
        ("{matchExpressions: [{key: a, operator: In}], mode: auto}", "an expression needs"),
        ("{matchExpressions: [{key: a, operator: Exists, values: [b]}], mode: auto}", "an expression needs"),
        ("{matchLabels: {a: b}, mode: aut}", '"aut" is unknown'),
    ],
)
def test_a_selector_that_says_less_than_it_must_is_refused(selector: str, why: str, tmp_path: Path) -> None:
    (found,) = mistakes(tmp_path, f"remediations: {{repair: {{namespaceSelectors: [{selector}]}}}}")
    assert found.startswith("remediations.repair.namespaceSelectors.0")
    assert why in found


@pytest.mark.parametrize(
    ("blackout", "why"),
    [
        ("{from: '2026-07-02', to: '2026-07-01', reason: r}", "it ends (2026-07-01) before it begins (2026-07-02)"),
        ("{from: '2026-07-02', to: '2026-07-03'}", "it has no `reason`"),
        ("{from: tomorrow, to: '2026-07-03', reason: r}", "isn't a date"),
        ("{from: '2026-07-02', to: '2026-07-03', reason: r, timeZone: Europe/Berlim}", 'Did you mean "Europe/Berlin"'),
    ],
)
def test_a_blackout_that_is_none_is_refused(blackout: str, why: str, tmp_path: Path) -> None:
    (found,) = mistakes(tmp_path, f"blackouts: [{blackout}]")
    assert found.startswith("blackouts.0")
    assert why in found
