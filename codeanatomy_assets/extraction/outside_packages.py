"""Packages beside the repository: what their sources import and which words they have.

The indexer finds modules of the repository first, also for imports in an installed package or in a stub that it
brings along for one. Such a package is read here as text, whole, and too much rather than too little of it: every name
that looks imported, every word of a file whose functions may be tried with a caller's arguments or that has protocols.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from codeanatomy_assets import toolchain
from codeanatomy_assets.extraction.words import words_of

# `_typeshed` and `typing_extensions` are modules of the indexer's standard library, though not of Python's.
STANDARD_LIBRARY = sys.stdlib_module_names | {"_typeshed", "typing_extensions", "mypy_extensions"}
SUFFIXES = (".py", ".pyi")
TYPED_MARKER = "py.typed"
_CONTINUED = re.compile(rb"\\\r?\n")
_IMPORTED = re.compile(rb"(?:^|[;:\r\n])[ \t\f]*(?:from[ \t]+([A-Za-z_]\w*)|import[ \t]+([^#;\r\n]+))")
_PROTOCOL = b"Protocol"


@dataclass(frozen=True)
class _Package:
    """One top-level name outside: the names its files import, all words, and those by which they may ask callers."""

    imports: frozenset[str]
    words: frozenset[str]
    asking: frozenset[str]


@dataclass(frozen=True)
class OutsidePackages:
    """What can be imported beside the repository and the standard library; nothing, if there are no folders."""

    folders: tuple[Path, ...] = ()
    _read: dict[str, _Package] = field(default_factory=dict, compare=False)
    _closures: dict[frozenset[str], tuple[_Package, ...]] = field(default_factory=dict, compare=False)

    def imported_by(self, names: Iterable[str]) -> frozenset[str]:
        """All first names of modules that these packages import, directly or through others."""
        return frozenset[str]().union(*(package.imports for package in self._closure(self._known(names))))

    def words_asked_by(self, names: Iterable[str], is_whole: bool = False) -> frozenset[str]:
        """The words by which these packages, and those that they import, may ask for members of what they are given.

        All of their words, if they ask the repository itself.
        """
        found = self._closure(self._known(names))
        return frozenset[str]().union(*(package.words if is_whole else package.asking for package in found))

    def _known(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(name for name in names if name in self._places)

    def _closure(self, names: frozenset[str]) -> Collection[_Package]:
        """These packages and all that they import, of those that are there."""
        if names not in self._closures:
            pending, found = sorted(names), dict[str, _Package]()
            while pending:
                name = pending.pop()
                if name not in found:
                    found[name] = self._package(name)
                    pending += sorted(self._known(found[name].imports))
            self._closures[names] = tuple(found.values())
        return self._closures[names]

    def _package(self, name: str) -> _Package:
        if name not in self._read:
            imports, words, asking = set[str](), set[str](), set[str]()
            for place in self._places[name]:
                is_typed = (place / TYPED_MARKER).exists()
                for file in _sources(place):
                    text = file.read_bytes()
                    imports.update(_imported(text))
                    found = words_of(text)
                    words |= found
                    if _PROTOCOL in text or (file.suffix == ".py" and not is_typed):
                        asking |= found
            outside = frozenset(imports - STANDARD_LIBRARY)
            self._read[name] = _Package(outside, frozenset(words), frozenset(asking))
        return self._read[name]

    @cached_property
    def _places(self) -> dict[str, list[Path]]:
        """First name of modules → files and folders of that name; stubs of a package count as it."""
        places: dict[str, list[Path]] = {}
        for folder in self.folders:
            for place in sorted(folder.iterdir()):
                if place.is_dir() or place.suffix in SUFFIXES:
                    name = place.name.removesuffix(".pyi").removesuffix(".py").removesuffix("-stubs")
                    places.setdefault(name, []).append(place)
        return places


@lru_cache(maxsize=8)
def outside_packages(site_packages: Path | None) -> OutsidePackages:
    """The stubs that the indexer brings along, and installed packages; what is in them is read once in a process."""
    stubs = toolchain.scip_python_bundle().parent / "typeshed-fallback" / "stubs"
    installed = (site_packages,) if site_packages is not None else ()
    return OutsidePackages((*sorted(each for each in stubs.iterdir() if each.is_dir()), *installed))


def _sources(place: Path) -> Iterator[Path]:
    if place.is_dir():
        yield from (each for each in sorted(place.rglob("*")) if each.suffix in SUFFIXES and each.is_file())
    else:
        yield place


def _imported(text: bytes) -> Iterator[str]:
    for origin, listed in _IMPORTED.findall(_CONTINUED.sub(b" ", text)):
        for name in [origin] if origin else listed.split(b","):
            first = name.strip().split(b".")[0].split()
            if first:
                yield first[0].decode("utf-8", errors="replace")
