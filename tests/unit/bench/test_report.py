"""docs/performance.md is what the kept figures say, and its plots too."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from bench.fleet import report

RUNS = json.loads(report.RESULTS.read_text(encoding="utf-8"))


def test_the_page_and_its_plots_are_made_of_the_figures() -> None:
    assert report.document(RUNS, report.WORDS.read_text(encoding="utf-8")) == report.DOCUMENT.read_text(
        encoding="utf-8"
    )
    for name, text in report.pictures(RUNS).items():
        assert text == (report.PICTURES / name).read_text(encoding="utf-8"), name


def test_a_plot_is_xml_and_has_a_point_for_each_figure() -> None:
    for text in report.pictures(RUNS).values():
        root = ElementTree.fromstring(text)
        points = [each for each in root.iter() if each.tag.endswith("circle")]
        assert len(points) >= len({run["subject"] for run in RUNS})
        assert all(0 < float(each.attrib["cx"]) < 640 and 0 < float(each.attrib["cy"]) < 360 for each in points)


def test_each_table_has_a_row_for_each_size() -> None:
    text = report.document(RUNS, "<!-- ready -->")
    for run in RUNS:
        assert f"| {run['vms']:,}" in text
