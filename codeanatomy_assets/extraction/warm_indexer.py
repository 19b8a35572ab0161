"""The warm indexer: one indexer process kept from run to run, told what moved in the checkout since the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.extraction.scip_index import Limits, ScipIndexer, Surroundings
from codeanatomy_assets.settings import installed_packages

# A program that has grown past this share of its heap starts over before it fails.
LARGEST_SHARE = 0.7


class _Opened(NamedTuple):
    """What an indexer was started with; a folder of the same name that is another one counts as another.

    It reads installed packages once and for all: another version of one is another start.
    """

    root: Path
    inode: int
    surroundings: Surroundings
    limits: Limits
    installed: Sequence[str]


class WarmIndexer:
    """Holds at most one indexer. It is closed, and the next run opens another, whenever its answers are in doubt."""

    def __init__(self) -> None:
        self._indexer: ScipIndexer | None = None
        self._opened: _Opened | None = None
        self._told: dict[str, str] = {}

    @contextmanager
    def serving(
        self, root: Path, surroundings: Surroundings, limits: Limits, files: Mapping[str, str]
    ) -> Iterator[ScipIndexer]:
        """An indexer over the folder, which holds exactly these files now: path → blob id."""
        packages = surroundings.site_packages
        installed = () if packages is None else installed_packages(packages)
        wanted = _Opened(root, root.stat().st_ino, surroundings, limits, installed)
        indexer = self._brought_to(wanted, files) or self._fresh(wanted, files)
        try:
            yield indexer
        except BaseException:
            # It may be in the middle of an answer that nobody reads any more.
            self.close()
            raise
        if indexer.rss_bytes > LARGEST_SHARE * limits.memory_megabytes * 1_048_576:
            self.close()

    def close(self) -> None:
        """End the process, if there is one."""
        indexer, self._indexer = self._indexer, None
        if indexer is not None:
            indexer.close()

    def _brought_to(self, wanted: _Opened, files: Mapping[str, str]) -> ScipIndexer | None:
        """The indexer at hand, told of the files that moved; None when there is none that can be told."""
        if self._indexer is None or self._opened != wanted:
            return None
        told = self._told
        try:
            self._indexer.update(
                changed=sorted(path for path in told.keys() & files.keys() if told[path] != files[path]),
                added=sorted(files.keys() - told.keys()),
                deleted=sorted(told.keys() - files.keys()),
            )
        except CodeAnatomyError:
            return None  # it died since the last run: a fresh one says whether that was its own fault
        self._told = dict(files)
        return self._indexer

    def _fresh(self, wanted: _Opened, files: Mapping[str, str]) -> ScipIndexer:
        self.close()
        self._indexer = ScipIndexer(wanted.root, wanted.surroundings, wanted.limits)
        self._opened, self._told = wanted, dict(files)
        return self._indexer
