"""A report as JUnit XML: a suite for each check, a failure for each finding, an error for each thing not known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ....checks import all_checks
from ....views.findings import FindingReport, Report, advice

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DUMP = "dump"  # the suite of files that could not be read

Row = tuple[str, str, str, str, str]  # failure or error, the test's name, the type, the message, what to do


def junit(report: Report, checks: frozenset[str], unread: Iterable[tuple[str, str]]) -> str:
    """`checks` are the ids of the chosen ones, `unread` files and why. A check without any is one test that passes."""
    root = Element("testsuites", name="steward")
    for check in all_checks():
        if check.id in checks:
            rows = [
                ("error", _at(u.partition or "everywhere", u.cluster), "unknown", u.why, "")
                for u in report.unknown
                if u.check == check.id
            ]
            rows += [_failure(finding) for finding in report.findings if finding.check == check.id]
            _suite(root, check.id, check.title, rows)
    if files := [("error", name, "unread", why, "") for name, why in unread]:
        _suite(root, _DUMP, "The files can be read", files)
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, name: str, title: str, rows: list[Row]) -> None:
    kinds = [kind for kind, *_ in rows]
    suite = SubElement(root, "testsuite", name=name, tests=str(len(rows) or 1))
    suite.set("failures", str(kinds.count("failure")))
    suite.set("errors", str(kinds.count("error")))
    if not rows:
        SubElement(suite, "testcase", classname=name, name=title)
    for kind, test, type_, message, next_ in rows:
        case = SubElement(suite, "testcase", classname=name, name=_clean(test))
        SubElement(case, kind, type=type_, message=_clean(message)).text = _clean(f"{message}\n{next_}".strip())


def _failure(finding: FindingReport) -> Row:
    test = _at(f"{finding.reason} {finding.subject}", finding.cluster)
    message = f"{finding.severity}: {finding.message} (since {finding.since})"
    return "failure", test, finding.reason, message, "\n".join((f"fingerprint {finding.fingerprint}", *advice(finding)))


def _at(text: str, cluster: str) -> str:
    return f"{text} in {cluster}" if cluster else text


def _clean(text: str) -> str:
    """Without the characters that no XML may hold, not even escaped."""
    return _NO_XML.sub("?", text)
