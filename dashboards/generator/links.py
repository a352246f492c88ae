"""Where the rows of tables lead: the steward's page, runbooks, and other boards. Each address is here alone.

The page has a URL in each cluster. The variable `page` has it, with `{cluster}` in the place of the cluster's name
where there are several; `paged` gives each row that of its own cluster, as a label. Grafana alone can do so: in Perses
a link begins with the variable as it is, and the console has no links.
"""

from __future__ import annotations

from .model import Link

__all__ = ["PAGE", "VM_BOARD", "board_link", "page_link", "paged", "runbook"]

PAGE = "page"  # the variable, and the label of a row
_PATHS = {
    "steward": ("The steward's page", "/"),
    "finding": ("Finding in the web UI", "/findings?namespace={namespace}&name={name}&reason={reason}"),
    "cause": ("Cause in the web UI", "/findings?cause={cause}"),
    "vm": ("VM in the web UI", "/vms/{namespace}/{vm}"),
}


def page_link(what: str) -> Link:
    """To the steward's page about `what` a row is: steward, finding, cause or vm."""
    title, path = _PATHS[what]
    return Link(title, f"{{{PAGE}}}{path}")


def board_link(board: str, title: str, **variables: str) -> Link:
    """To a board in the cluster of the row. Values of variables are texts with `{label}` in them."""
    given = "".join(f"&var-{name}={value}" for name, value in variables.items())
    return Link(title, f"/d/kubevirt-steward-{board}?var-cluster={{cluster}}{given}")


VM_BOARD = board_link("vm", "Board VM", namespace="{namespace}", name="{vm}")


def runbook(alert: str) -> Link:
    """The runbook of an alert, on the panel that shows what it is about."""
    return Link(f"Runbook {alert}", f"${{runbooks}}{alert}.md")


def paged(expr: str) -> str:
    """The rows of an expression, with the URL of the page of their cluster as a label."""
    joined = f'label_join(label_replace({expr}, "{PAGE}", "${PAGE}", "", ""), "{PAGE}", ";", "{PAGE}", "cluster")'
    named = f'label_replace({joined}, "{PAGE}", "$1$3$2;", "{PAGE}", "(.*)[{{]cluster[}}](.*);(.*)")'
    return f'label_replace({named}, "{PAGE}", "$1", "{PAGE}", "(.*?)/*;.*")'
