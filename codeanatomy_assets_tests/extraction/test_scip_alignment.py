"""Where syntax rows and SCIP documents meet on real code: the share of names with an occurrence, by category.

A name aligns if an occurrence of its file covers exactly its bytes. What counts as the name
- definition: the name after `def` or `class`; a lambda has none.
- import: the name taken, of `import a.b` the whole `a.b`; a name after `as` is one more. Stars take no name.
- parameter, keyword, plain name and builtin: the name, wherever it is read, bound or deleted.
- attribute: the name after the dot, whatever stands before it.
- call: the callee's last name; a callee that is no name, as in `f()()`, has none.
The strings of `__all__` are no names of the code. Nothing else is left out: an attribute counts as missing if its
owner's type is not known to the indexer, and so does a name declared in code that never runs.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from codeanatomy_assets.contracts.syntax import CALLSITES, DEFS, IMPORTS, NAME_REFS
from codeanatomy_assets.extraction.scip_documents import file_rows
from codeanatomy_assets.extraction.scip_index import FailedFile, IndexedFile, ScipIndexer, Surroundings
from codeanatomy_assets_tests import corpora
from codeanatomy_assets_tests.extraction.syntax_rows import Row, all_rows
from codeanatomy_assets_tests.scip_trees import write_tree

REFERENCES = ("parameters", "keyword names", "plain names", "builtins", "attributes", "call names")
CATEGORIES = ("definitions", "imports", *REFERENCES)
OF_CONTEXT = {"parameter": "parameters", "keyword": "keyword names", "attribute": "attributes"}


class Case(NamedTuple):
    """A package, what is installed beside it, and the least share that must align: of all references, by category."""

    name: str
    version: str
    dependencies: tuple[tuple[str, str], ...]
    references: float
    least: dict[str, float]


ALWAYS = {"definitions": 1.0, "imports": 1.0, "parameters": 0.995, "keyword names": 0.995, "builtins": 0.995}
CASES = {
    # A module for Windows alone never runs on the pinned platform: what it declares is not declared to the indexer.
    "click": Case("click", "8.1.7", (), 0.985, ALWAYS | {"plain names": 0.99, "attributes": 0.975, "call names": 0.98}),
    # All that it requires but blinker, whose signals stay unknown.
    "flask": Case(
        "flask",
        "3.0.3",
        (("click", "8.1.7"), ("itsdangerous", "2.2.0"), ("jinja2", "3.1.6"), ("werkzeug", "3.0.3")),
        0.98,
        ALWAYS | {"plain names": 1.0, "attributes": 0.96, "call names": 0.95},
    ),
    # As by default, without any dependency: what is lost stands after the dot of something whose type is not known.
    "flask alone": Case(
        "flask", "3.0.3", (), 0.955, ALWAYS | {"plain names": 1.0, "attributes": 0.87, "call names": 0.87}
    ),
}


@dataclass
class Alignment:
    """Names of one package by category: all, those with an occurrence, and which lack one.

    `alone` counts names whose only occurrence is a local symbol found nowhere else: placed, but naming nothing.
    """

    all: Counter[str] = field(default_factory=Counter)
    aligned: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)
    missing: dict[str, Counter[str]] = field(default_factory=lambda: {category: Counter() for category in CATEGORIES})

    def share(self, *categories: str) -> float:
        return sum(self.aligned[each] for each in categories) / sum(self.all[each] for each in categories)

    def table(self, title: str) -> str:
        lines = [f"{title:24}    all  aligned  share  alone  missing most often"]
        for category in CATEGORIES:
            often = ", ".join(f"{text} {count}" for text, count in self.missing[category].most_common(5))
            lines.append(f"{category:24} {self._figures((category,))}  {often}")
        lines.append(f"{'references and calls':24} {self._figures(REFERENCES)}")
        return "\n".join(lines)

    def _figures(self, categories: tuple[str, ...]) -> str:
        whole, aligned, alone = (
            sum(counter[each] for each in categories) for counter in (self.all, self.aligned, self.alone)
        )
        return f"{whole:6} {aligned:8} {100 * self.share(*categories):5.1f}% {alone:6}"


class Name(NamedTuple):
    """A name as the syntax rows place it."""

    category: str
    text: str
    span: tuple[int, int]


@pytest.fixture(scope="module", params=["click", "flask", pytest.param("flask alone", marks=pytest.mark.slow)])
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Alignment]:
    case = CASES[request.param]
    folder = tmp_path_factory.mktemp("aligned")
    alignment = aligned_package(case, folder)
    print("\n" + alignment.table(request.param))
    return case, alignment


def test_names_of_a_package_and_of_its_calls_have_an_occurrence(measured: tuple[Case, Alignment]) -> None:
    case, alignment = measured
    assert alignment.share(*REFERENCES) >= case.references


def test_each_category_of_names_has_occurrences(measured: tuple[Case, Alignment]) -> None:
    case, alignment = measured
    assert min(alignment.all[category] for category in CATEGORIES) > 100
    below = {
        category: round(alignment.share(category), 4)
        for category in CATEGORIES
        if alignment.share(category) < case.least[category]
    }
    assert below == {}


def test_the_measure_falls_when_occurrences_lie_beside_their_names() -> None:
    source = b"def f(x):\n    return len(x.y)\n"
    names = list(names_of(source))
    assert [name.text for name in names] == ["f", "x", "len", "x", "x.y", "len"]
    spans = {name.span: 2 for name in names}
    assert measure([(names, spans)]).share(*REFERENCES) == 1.0
    beside = {(start + 1, end + 1): count for (start, end), count in spans.items()}
    assert measure([(names, beside)]).share(*REFERENCES) == 0.0


def aligned_package(case: Case, folder: Path) -> Alignment:
    """The package's own files, indexed in the whole of their sdist."""
    root = corpora.unpack(case.name, case.version, folder)
    files = sorted(str(path.relative_to(root)) for path in (root / "src" / case.name).rglob("*.py"))
    site_packages = installed(case.dependencies, folder) if case.dependencies else None
    with ScipIndexer(root, Surroundings(search_roots=("src",), site_packages=site_packages)) as indexer:
        return measure(meeting(answer, (root / answer.path).read_bytes()) for answer in indexer.index(files))


def meeting(answer: IndexedFile | FailedFile, source: bytes) -> tuple[Iterator[Name], dict[tuple[int, int], int]]:
    return names_of(source), occurrences_of(file_rows(answer, answer.path, source).occurrences)


def installed(dependencies: Iterable[tuple[str, str]], folder: Path) -> Path:
    """A site-packages folder as pip would leave it, of the packages' sources: nothing of them is run."""
    site_packages = folder / "site-packages"
    for name, version in dependencies:
        root = corpora.unpack(name, version, folder / "dependencies")
        shutil.copytree(root / "src" / name, site_packages / name)
        record = "".join(f"{path.relative_to(site_packages)},,\n" for path in (site_packages / name).rglob("*.py"))
        metadata = (root / "PKG-INFO").read_bytes()
        write_tree(site_packages / f"{name}-{version}.dist-info", {"METADATA": metadata, "RECORD": record})
    return site_packages


def measure(files: Iterable[tuple[Iterable[Name], dict[tuple[int, int], int]]]) -> Alignment:
    """Names against the spans of occurrences, each with how often its symbol occurs in the file."""
    alignment = Alignment()
    for names, spans in files:
        for name in names:
            alignment.all[name.category] += 1
            alignment.aligned[name.category] += name.span in spans
            alignment.alone[name.category] += spans.get(name.span) == 1
            if name.span not in spans:
                alignment.missing[name.category][name.text] += 1
    return alignment


def occurrences_of(rows: Iterable[Row]) -> dict[tuple[int, int], int]:
    """Spans, with the number of occurrences that a local symbol has in the file; 2, enough, for any other."""
    rows = list(rows)
    often = Counter(row["symbol"] for row in rows)
    spans: dict[tuple[int, int], int] = {}
    for row in rows:
        span = row["bstart"], row["bend"]
        is_named = row["symbol_kind"] != "local" or row["role"] == "definition"
        spans[span] = max(spans.get(span, 0), 2 if is_named else often[row["symbol"]])
    return spans


def names_of(source: bytes) -> Iterator[Name]:
    """Every name of a file that an occurrence is due for."""
    rows = all_rows(source)
    for row in rows[DEFS.name]:
        if row["kind"] != "lambda":
            yield Name("definitions", row["name"], (row["name_bstart"], row["name_bend"]))
    for row in rows[IMPORTS.name]:
        yield from _imported(row)
    for row in rows[NAME_REFS.name]:
        if row["context"] != "export":
            bound = "builtins" if row["binding"] == "builtin" else "plain names"
            yield Name(
                OF_CONTEXT.get(row["context"], bound), row["dotted"] or row["name"], (row["bstart"], row["bend"])
            )
    for row in rows[CALLSITES.name]:
        if row["callee_name"] is not None:
            yield Name("call names", row["callee_text"], (row["callee_bstart"], row["callee_bend"]))


def _imported(row: Row) -> Iterator[Name]:
    if row["name_bstart"] is not None:
        yield Name("imports", row["name"] or row["module"], (row["name_bstart"], row["name_bend"]))
    if row["alias"] is not None:
        yield Name("imports", row["alias"], (row["bend"] - len(row["alias"].encode()), row["bend"]))
