"""Writes what is generated into the checkout; with --verify says what of it is out of date; with `--artifacts FOLDER`
writes what only an installer needs, which is not in git.

The pages of the checks come first: no check can be imported before its page is compiled.
"""

from __future__ import annotations

import sys
from pathlib import Path

from . import pages

if __name__ == "__main__":
    if "--artifacts" not in sys.argv and (code := pages.main()):
        sys.exit(code)
    from . import artifacts, exporter, names, networks, reports, runbooks, sidecar, support
    from .files import kept, written

    made = exporter.generated() | sidecar.generated() | reports.generated()
    made |= names.generated() | networks.generated() | runbooks.generated() | support.generated()
    if "--artifacts" in sys.argv:
        written(Path(sys.argv[sys.argv.index("--artifacts") + 1]), artifacts.of(made))
        sys.exit()
    sys.exit(kept(artifacts.tracked(made)))
