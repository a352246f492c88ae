"""Follows a configuration that changes while the steward runs.

A change of the file counts once two looks in a row see the same content: an editor may be half done. What is wrong
keeps what was right, and is reported until it is right again; so does a file that has become empty. What can't change
while running is reported, and waits.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from .file import content_of, digest_of
from .mistakes import Mistake, Mistakes

log = logging.getLogger(__name__)
_EMPTY = "the file is empty, possibly truncated. To restore the defaults, write {} into it"


@dataclass(slots=True)
class ReloadStatus:
    """What metrics and page show of the configuration. `tried` is in seconds since 1970."""

    digest: str = digest_of(b"")
    tried: float = 0.0
    mistakes: Mistakes | None = None  # of the last try
    waiting: tuple[str, ...] = ()  # keys whose change takes effect at the next start

    @property
    def notices(self) -> list[str]:
        return [f"{name} changed. It takes effect at the next start" for name in self.waiting]


class Reloadable(Protocol):
    @property
    def digest(self) -> str:
        """That of the file."""

    @property
    def empty(self) -> str:
        """The file, where it has nothing."""

    def waiting(self, started: Self) -> tuple[str, ...]:
        """The keys that differ from what was `started` with, and take effect at the next start alone."""


L = TypeVar("L", bound=Reloadable)


class Reloading(Generic[L]):
    """`load` gives what holds now, `take` puts it into effect; `loaded` is what the steward was started with."""

    def __init__(
        self, loaded: L, load: Callable[[], L | Mistakes], take: Callable[[L], None], status: ReloadStatus
    ) -> None:
        self._started, self._load, self._take, self.status = loaded, load, take, status
        self.status.digest, self.status.tried = loaded.digest, time.time()

    def now(self) -> None:
        """Reads the configuration again, and takes it or says what is wrong with it."""
        self.status.tried = time.time()
        loaded = self._load()
        if not isinstance(loaded, Mistakes) and loaded.empty and loaded.digest != self.status.digest:
            loaded = Mistakes((Mistake(loaded.empty, "", _EMPTY),))
        if isinstance(loaded, Mistakes):
            self.status.mistakes = loaded
            lines = "; ".join(f"{each.place} {each.path}: {each.what}" for each in loaded.each).replace('"', "'")
            log.error('event="configuration rejected" kept=%s why="%s"', self.status.digest, lines)
            return
        self._take(loaded)
        self.status.digest, self.status.mistakes = loaded.digest, None
        before = self.status.waiting
        self.status.waiting = loaded.waiting(self._started)
        log.info('event="configuration loaded" hash=%s', loaded.digest)
        for name, notice in zip(self.status.waiting, self.status.notices, strict=True):
            if name not in before:
                log.warning('event="restart required" key=%s why="%s"', name, notice)


class Watched:
    """Notices when a file's content has changed and stays so. A ConfigMap is swapped by a link: only content counts."""

    def __init__(self, file: Path, digest: str) -> None:
        """`digest` is that of the content which was loaded."""
        self._file = file
        self._known = self._last = digest

    def changed(self) -> bool:
        """Whether there is something new since the last time that this was true; ask every few seconds."""
        look, last = self._look(), self._last
        self._last = look
        if look != last or look == self._known:
            return False
        self._known = look
        return True

    def _look(self) -> str:
        try:
            return digest_of(content_of(self._file))
        except OSError as error:
            return f"unreadable: {error.errno}"
