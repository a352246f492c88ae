"""The rules in the eyes of pint: alone, and against a Prometheus that has every series they read."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import Tools
from tests.cluster.prometheus import Prometheus, Setup
from tests.cluster.steward_pages import CHECKS, Pages, Site, named, one_of_each
from tests.rules import FILES, RULES, rules_of

CONFIG = RULES.parent / ".pint.hcl"
REMEMBERED = "rules:kubevirt_steward_findings:remembered"
STORM = 101  # findings of a reason


def pint(binary: Tools, config: Path, *files: Path, online: bool = False) -> subprocess.CompletedProcess[str]:
    how = () if online else ("--offline",)
    # Of a Prometheus that is minutes old it warns that what the rules read was not always there.
    lint = ("lint", "--min-severity=info", f"--fail-on={'bug' if online else 'warning'}", *map(str, files))
    command = (str(binary("pint")), "--no-color", *how, "--config", str(config), *lint)
    return subprocess.run(command, cwd=RULES.parent, capture_output=True, text=True, check=False)


def hurried(folder: Path) -> list[Path]:
    """The rule files, with no group that is evaluated more seldom than the others: the last ones would take minutes."""
    found = []
    for file in FILES:
        hurry = folder / file.name
        hurry.write_text(re.sub(r"^  interval: .+\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE))
        found.append(hurry)
    return found


@pytest.fixture(scope="module")
def seeded(binary: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """It has scraped two stewards of the same VMs, one with all that can be wrong, and recorded what follows."""
    storm = (named("MissingClaim", f"storm-{i}", namespace="storm") for i in range(STORM))
    pages = Pages({"east": Site(1, (*one_of_each(), *storm), trouble=True), "west": Site(1)})
    pages.sites["blind"] = Site(3, unknown=frozenset(check.id for check in CHECKS[:1]))
    files = hurried(tmp_path_factory.mktemp("rules"))
    # All rules at once take a second of CPU or more.
    setup = Setup(rule_files=files, scrape_configs=[pages.scrape_config()], scrape_interval=10, evaluation_interval=4)
    prometheus = Prometheus(binary("prometheus"), setup)
    try:
        prometheus.start()
        prometheus.wait_for('{__name__=~"cause:.+:together"}')
        prometheus.wait_for("network:kubevirt_ipam_pool_used:full")
        parts = {rule.labels["part"] for file in FILES for rule in rules_of(file) if rule.name == REMEMBERED}
        prometheus.wait_for(f'count({REMEMBERED}{{part!=""}}) == {len(parts)}')
        prometheus.wait_for("VM:kubevirt_vm_firmware_uuid_info:held")
        # What is recorded of what is recorded comes by and by: pint would meet one side without the other.
        recorded = 'count({__name__=~".+:.+:.+"})'
        prometheus.wait_for(f"{recorded} == ({recorded.replace('})', '} offset 1m)')})", timeout=300)
        yield prometheus
    finally:
        prometheus.stop()
        pages.close()


def test_pint_has_nothing_to_say_of_the_rules(binary: Tools) -> None:
    done = pint(binary, CONFIG, *FILES)
    assert done.returncode == 0, done.stdout + done.stderr


def online(seeded: Prometheus, folder: Path) -> Path:
    config = folder / "pint.hcl"
    # It looks back by steps, for a time in which all has been there.
    steps = 'check "promql/series" {\n  lookbackRange = "1m"\n  lookbackStep = "5s"\n}'
    text = f'{CONFIG.read_text(encoding="utf-8")}\n{steps}\nprometheus "seeded" {{ uri = "{seeded.url}" }}\n'
    config.write_text(text, encoding="utf-8")
    return config


def test_pint_finds_every_series_that_the_rules_read(binary: Tools, seeded: Prometheus, tmp_path: Path) -> None:
    done = pint(binary, online(seeded, tmp_path), *FILES, online=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pint_notices_a_series_that_nobody_serves(binary: Tools, seeded: Prometheus, tmp_path: Path) -> None:
    text = (RULES / "steward.yaml").read_text(encoding="utf-8")
    file = tmp_path / "steward.yaml"
    file.write_text(text.replace("config_reload_success", "config_reload_succeeded"), encoding="utf-8")
    assert file.read_text(encoding="utf-8") != text
    done = pint(binary, online(seeded, tmp_path), file, online=True)
    assert done.returncode != 0
    assert "(promql/series)" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("changed", "into", "check"),
    [
        ("by (cluster, kind)", "by (kind)", "promql/aggregate"),
        ("severity: warning", "severity: bad", "rule/label"),
        ("      kubernetes_operator_component: kubevirt-steward\n", "", "rule/label"),
        ("runbooks/StewardDown.md", "runbooks/StewardUp.md", "alerts/annotation"),
    ],
)
def test_pint_notices(binary: Tools, tmp_path: Path, changed: str, into: str, check: str) -> None:
    text = (RULES / "steward.yaml").read_text(encoding="utf-8")
    assert changed in text
    file = tmp_path / "steward.yaml"
    file.write_text(text.replace(changed, into, 1), encoding="utf-8")
    done = pint(binary, CONFIG, file)
    assert done.returncode != 0
    assert f"({check})" in done.stdout + done.stderr
