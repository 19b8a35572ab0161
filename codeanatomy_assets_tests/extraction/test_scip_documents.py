"""Documents to rows: spans, symbols, local names, fingerprints."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeanatomy_assets.contracts.symbols import PY_INTERFACE, SCIP_FINGERPRINTS, SCIP_OCCURRENCES, SCIP_SYMBOLS
from codeanatomy_assets.extraction.scip_documents import FileRows, SymbolParts, file_rows, symbol_parts
from codeanatomy_assets.extraction.scip_index import FailedFile, IndexedFile, ScipIndexer
from codeanatomy_assets.extraction.utf16_spans import ByteSpans
from codeanatomy_assets_tests.scip_trees import cold_answers, cold_rows, meanings, python_files, write_tree

HARD_TO_PLACE: dict[str, bytes] = {
    "crlf.py": b"alpha = 1\r\n\r\nbeta = alpha\r\n",
    "old_mac.py": b"alpha = 1\rbeta = alpha\r",
    "mixed.py": b"alpha = 1\r\rbeta = alpha\n\r\ngamma = beta\r",
    "bom.py": b"\xef\xbb\xbfalpha = 1\nbeta = alpha\n",
    "form_feed.py": b"alpha = 1\n\x0c\nbeta = alpha\n\x0cgamma = beta\n",
    "emoji.py": "alpha = '😀😀'; beta = alpha; gamma = '𝒳é'; delta = gamma, beta\n".encode(),
    "letters.py": "größe = 1\nβeta = größe + größe\nclass Ünit:\n    größe = βeta\nÜnit.größe\n".encode(),
    "separators.py": "alpha = '\u2028\x0b\x1c'; beta = alpha\ngamma = beta\n".encode(),
    "latin.py": b"# coding: latin-1\nalpha = '\xe9\xe8\xff'; beta = alpha\ngamma = beta\n",
    "cut_short.py": b"alpha = '\xf0\x9f\x98 \xe2\x82'; beta = alpha\ngamma = beta",
    "no_end.py": b"alpha = 1\nalpha",
}


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, FileRows]]:
    folder = write_tree(tmp_path_factory.mktemp("placed"), dict(HARD_TO_PLACE))
    return folder, cold_rows(folder)


@pytest.mark.parametrize("path", sorted(HARD_TO_PLACE))
def test_spans_select_exactly_the_names_bytes(path: str, placed: tuple[Path, dict[str, FileRows]]) -> None:
    folder, rows = placed
    source = (folder / path).read_bytes()
    named = [row for row in rows[path].occurrences if row["symbol_kind"] in {"term", "type"}]
    assert len(named) >= 2
    for row in named:
        name = symbol_parts(row["symbol"]).name
        assert name is not None
        assert source[row["bstart"] : row["bend"]] == name.encode()


@pytest.mark.parametrize("path", ["mixed.py", "form_feed.py", "emoji.py", "latin.py", "cut_short.py", "separators.py"])
def test_names_after_the_hard_place_are_all_found(path: str, placed: tuple[Path, dict[str, FileRows]]) -> None:
    folder, rows = placed
    assert len(meanings(folder, rows[path], "gamma")) >= 1
    assert len(meanings(folder, rows[path], "beta")) == 2


def test_a_range_may_span_lines_and_end_past_the_file() -> None:
    spans = ByteSpans("é = [\r\n'😀'\r]\n".encode())
    assert spans.of([0, 0, 1]) == (0, 2)
    assert spans.of([0, 4, 2, 1]) == (5, 16)
    assert spans.of([1, 1, 3]) == (9, 13)
    assert spans.of([9, 0, 5]) == (17, 17)


@pytest.mark.parametrize(
    ("symbol", "parts"),
    [
        ("local 12", SymbolParts("local")),
        (
            "scip-python python repository 0 `a.b`/C#m().(p)",
            SymbolParts("parameter", "repository 0", "a.b", "C#m().(p)", "p"),
        ),
        ("scip-python python repository 0 a/__init__:", SymbolParts("module", "repository 0", "a", "__init__:", "a")),
        ("scip-python python repository 0 a/", SymbolParts("module", "repository 0", "a", "", "a")),
        ("scip-python python x  y 1 a/`größe`.", SymbolParts("term", "x y 1", "a", "`größe`.", "größe")),
        (
            "scip-python python python-stdlib 3 os/getcwd().",
            SymbolParts("method", "python-stdlib 3", "os", "getcwd().", "getcwd"),
        ),
        ("scip-python python repository 0 ``/C#", SymbolParts("type", "repository 0", "", "C#", "C")),
    ],
)
def test_a_symbol_is_split_into_its_parts(symbol: str, parts: SymbolParts) -> None:
    assert symbol_parts(symbol) == parts


def test_a_text_that_is_no_symbol_is_refused() -> None:
    with pytest.raises(ValueError, match="not a SCIP symbol"):
        symbol_parts("nonsense")


def test_rows_have_the_contracts_columns_and_keys(tmp_path: Path) -> None:
    folder = write_tree(
        tmp_path, {"m.py": "class A:\n    def f(self, x): return x\nclass B(A):\n    def f(self, x): return A\n"}
    )
    rows = cold_rows(folder)["m.py"]
    for table, made in (
        (SCIP_FINGERPRINTS, [rows.fingerprint]),
        (SCIP_OCCURRENCES, rows.occurrences),
        (SCIP_SYMBOLS, rows.symbols),
        (PY_INTERFACE, rows.interface),
    ):
        assert made
        assert {tuple(sorted(row)) for row in made} == {tuple(sorted(table.column_names))}
        keys = [tuple(row[name] for name in table.key) for row in made]
        assert len(keys) == len(set(keys))
        for column in table.columns:
            values = {row[column.name] for row in made if column.values}
            assert values <= set(column.values)
            assert column.nullable or all(row[column.name] is not None for row in made)


def test_overrides_and_bases_are_relationships(tmp_path: Path) -> None:
    source = (
        "def g(b: 'B'): ...\nclass A:\n    class In:\n        def f(self): ...\nclass B(A.In):\n    def f(self): ...\n"
    )
    symbols = {
        row["symbol"].split("/")[-1]: row for row in cold_rows(write_tree(tmp_path, {"m.py": source}))["m.py"].symbols
    }
    related = {name: [each["symbol"].split("/")[-1] for each in row["relationships"]] for name, row in symbols.items()}
    assert related["B#"] == ["A#In#"]
    assert related["B#f()."] == ["A#In#f()."]
    assert symbols["B#"]["relationships"][0]["kinds"] == ["implementation"]
    assert symbols["A#In#"]["is_defined_here"] and related["A#"] == []


def test_locals_are_numbered_by_first_position_and_belong_to_their_file(tmp_path: Path) -> None:
    body = "def f():\n    one = 1\n    two = one\n    return two\n"
    rows = cold_rows(write_tree(tmp_path, {"a.py": body, "b.py": body}))
    locals_of = {path: [row for row in rows[path].occurrences if row["symbol_kind"] == "local"] for path in rows}
    assert [row["symbol"] for row in locals_of["a.py"]] == ["local 0", "local 1", "local 0", "local 1"]
    assert not {row["symbol_id"] for row in locals_of["a.py"]} & {row["symbol_id"] for row in locals_of["b.py"]}


def test_builtins_and_imported_names_mean_one_thing_everywhere(tmp_path: Path) -> None:
    folder = write_tree(
        tmp_path, {"a.py": "thing = len('x')\n", "b.py": "from a import thing as other\nlen(str(other))\n"}
    )
    rows = cold_rows(folder)
    assert meanings(folder, rows["b.py"], "len") == meanings(folder, rows["a.py"], "len")
    assert meanings(folder, rows["b.py"], "other") == ["repository 0 a/thing."] * 2
    assert meanings(folder, rows["b.py"], "thing") == ["repository 0 a/thing."]


def test_names_called_underscore_mean_their_declaration_and_a_patterns_wildcard_nothing(tmp_path: Path) -> None:
    source = """
from gettext import gettext as _
def f(x):
    match x:
        case [_, *_]:
            return _("text")
def g(_):
    return _
"""
    folder = write_tree(tmp_path, {"m.py": source})
    gettext, parameter = "python-stdlib 3.12 gettext/gettext().", "repository 0 m/g().(_)"
    assert meanings(folder, cold_rows(folder)["m.py"], "_") == [gettext] * 2 + [parameter] * 2


def test_names_in_code_that_never_runs_mean_what_is_declared_in_code_that_does(tmp_path: Path) -> None:
    source = """
import sys
known = 1
if sys.platform == "win32":
    known
def f():
    sys.exit()
    late = known
    return late
"""
    folder = write_tree(tmp_path, {"m.py": source})
    rows = cold_rows(folder)["m.py"]
    assert meanings(folder, rows, "known") == ["repository 0 m/known."] * 3
    assert meanings(folder, rows, "late") == ["local 0"] * 2


def test_what_is_taken_from_a_module_that_is_not_there_is_one_thing_in_its_file(tmp_path: Path) -> None:
    source = """
import gone.deep, gone as alias
from lost import part
gone.deep.a(gone.deep.a, gone.b)
alias.b(alias.b)
part.c(part.c.d)
def f(unknown):
    return unknown.b
"""
    folder = write_tree(tmp_path, {"m.py": source})
    rows = cold_rows(folder)["m.py"]
    found = {name: meanings(folder, rows, name) for name in ("gone", "deep", "a", "b", "alias", "part", "c", "d")}
    assert {name: len(set(each)) for name, each in found.items()} == dict.fromkeys(found, 1) | {"gone": 2, "b": 2}
    assert {name: len(each) for name, each in found.items()} == {
        **{"gone": 4, "deep": 2, "a": 2, "b": 3, "alias": 3, "part": 3, "c": 2, "d": 1}
    }
    assert {each.split()[0] for meant in found.values() for each in meant} == {"local"}


def test_a_dotted_import_binds_its_first_name_and_each_part_is_its_own_module(tmp_path: Path) -> None:
    source = "import pkg.sub\nimport urllib.parse\npkg.sub.f()\nurllib.parse.quote(pkg.sub.f.__name__)\n"
    folder = write_tree(tmp_path, {"pkg/__init__.py": "", "pkg/sub.py": "def f(): ...\n", "m.py": source})
    rows = cold_rows(folder)["m.py"]
    assert meanings(folder, rows, "pkg") == ["repository 0 pkg/__init__:"] * 2
    assert meanings(folder, rows, "sub") == ["repository 0 `pkg.sub`/__init__:"] * 2
    assert meanings(folder, rows, "parse") == ["python-stdlib 3.12 `urllib.parse`/__init__:"]
    assert meanings(folder, rows, "quote") == ["python-stdlib 3.12 `urllib.parse`/quote()."]
    assert meanings(folder, rows, "__name__") == ["python-stdlib 3.12 builtins/function#__name__."]


def test_a_name_that_a_builtin_has_too_means_its_own_declaration(tmp_path: Path) -> None:
    source = """
import errors, sys
class A:
    def __init__(self): self.id = 1
    def list(self): return self.id
def f(a: A):
    sys.exit(a.list(), a.id)
    raise errors.TimeoutError("".format(list()))
"""
    folder = write_tree(tmp_path, {"errors.py": "class TimeoutError(OSError): ...\n", "m.py": source})
    rows = cold_rows(folder)["m.py"]
    assert meanings(folder, rows, "TimeoutError") == ["repository 0 errors/TimeoutError#"]
    assert meanings(folder, rows, "exit") == ["python-stdlib 3.12 sys/exit()."]
    assert meanings(folder, rows, "format") == ["python-stdlib 3.12 builtins/str#format()."]
    assert meanings(folder, rows, "list") == ["repository 0 m/A#list()."] * 2 + ["python-stdlib 3.12 builtins/list#"]
    assert len(set(meanings(folder, rows, "id"))) == 1


def test_type_parameters_and_unbound_type_variables_keep_their_own_symbols(tmp_path: Path) -> None:
    source = """
from typing import TypeVar
T = TypeVar("T")
class A:
    def f(self: T) -> T:
        self.x = 1
        return self
class G[W]:
    def m(self, w: W) -> W: return w
type Alias = G[int]
use: Alias
"""
    folder = write_tree(tmp_path, {"m.py": source})
    rows = cold_rows(folder)["m.py"]
    assert meanings(folder, rows, "W") == ["local 0"] * 3
    assert meanings(folder, rows, "Alias") == ["repository 0 m/Alias."] * 2
    assert rows.fingerprint["failure"] is None


def test_an_equal_document_is_not_parsed_again_unless_the_source_moved(tmp_path: Path) -> None:
    folder = write_tree(tmp_path, {"m.py": "x = 1  # é\ny = x\n"})
    answer = cold_answers(folder)["m.py"]
    source = (folder / "m.py").read_bytes()
    first = file_rows(answer, "file:m", source)
    again = file_rows(answer, "file:m", source, first.fingerprint)
    assert again.is_document_unchanged and again.occurrences == () and again.fingerprint == first.fingerprint
    other = file_rows(answer, "file:m", source.replace("é".encode(), b"e"), first.fingerprint)
    assert not other.is_document_unchanged


def test_a_failure_is_a_row_with_its_reason() -> None:
    rows = file_rows(FailedFile("m.py", "TypeError: boom"), "file:m", b"")
    assert rows.fingerprint["failure"] == "TypeError: boom"
    assert rows.fingerprint["fingerprint"] is None and rows.interface == []


def test_broken_sources_still_give_documents(tmp_path: Path) -> None:
    sources = {
        "error.py": b"def f(:\n  x = (1,\nclass\ny = 1\n",
        "nul.py": b"\x00\xff\xfe = 3\ny = 1\n",
        "empty.py": b"",
        "deep.py": b"x = " + b"(" * 500 + b"1" + b")" * 500 + b"\ny = x\n",
        "tabs.py": b"if 1:\n\ty = 1\n        z = y\n",
    }
    folder = write_tree(tmp_path, dict(sources))
    with ScipIndexer(folder) as indexer:
        found = list(indexer.index(python_files(folder)))
    assert [answer.path for answer in found if isinstance(answer, IndexedFile)] == sorted(sources)
