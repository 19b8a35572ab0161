"""`explain` and `impact`: chains, tables and the picture, over states that are written without a JVM."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from codeanatomy_assets import cli
from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.impact import IMPACTED_FILES, REASON_KINDS
from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.orchestration.explain import CommitImpact, Reason, impacts_as_table
from codeanatomy_assets.orchestration.impact_picture import COLOURS, MOST_IN_LAYER, page
from codeanatomy_assets.storage.delta_store import Attempt, Scope
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets.storage.table_state import TableState
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.storage.light_states import LightState
from codeanatomy_assets_tests.storage.odd_rows import Row, arrow

# path, kind, ref, path it comes through, distance
Told = tuple[str, str, str, str | None, int]

FILES = ("README.md", "app/__init__.py", "app/alone.py", "app/site.py", "app/urls.py", "app/views.py", "urls.py")
SECOND: list[Told] = [
    ("app/urls.py", "changed_file", "", None, 0),
    ("app/gone.py", "deleted_file", "", None, 0),
    ("app/__init__.py", "import_name", "app.urls.Router", "app/urls.py", 1),
    ("app/views.py", "import_name", "app.urls.Router", "app/urls.py", 1),
    ("app/views.py", "caller_symbol", "app.urls.Router.resolve", "app/urls.py", 1),
    ("app/site.py", "reexport", "app.Router", "app/__init__.py", 2),
]
THIRD: list[Told] = [("app/views.py", "changed_file", "", None, 0)]


def id_of(path: str) -> str:
    return identity.FILE.of("repository", path)


def reason(told: Told) -> Reason:
    path, kind, ref, via, distance = told
    return Reason(id_of(path), path, kind, ref, None if via is None else id_of(via), distance)


def impact(rows: Sequence[Told], sequence: int = 2, known: Sequence[str] = ()) -> CommitImpact:
    reasons = tuple(reason(told) for told in rows)
    row = LedgerRow("c" * 40, "", "incremental", 1, TableState({}, 1), sequence=sequence)
    return CommitImpact(reasons, {id_of(path): path for path in (*known, *(told[0] for told in rows))}, row)


def chains(path: str, rows: Sequence[Told], **of: Any) -> list[str]:
    found = impact(rows, **of)
    return [found.chain_text(reason) for reason in found.by_file[id_of(path)]]


@dataclass
class Commits:
    """A repository, and a state in which its commits count as built."""

    repo: GitRepo
    state: Path
    light: LightState
    ids: list[str] = field(default_factory=list)

    @classmethod
    def create(cls, folder: Path) -> Commits:
        repo, state = GitRepo.create(folder / "repo"), folder / "state"
        StateFolder(state).claim(str(repo.folder), "git", "test")
        return cls(repo, state, LightState(state / "tables", (REPO_SNAPSHOT, IMPACTED_FILES)))

    def build(self, rows: Sequence[Told], commit: str | None = None) -> str:
        built = commit or self.repo.commit_files({"app/urls.py": f"x = {len(self.ids)}\n"})
        attempt = Attempt(len(self.ids) + 1, built)
        self._write(REPO_SNAPSHOT, [_tracked(path) for path in FILES], map(id_of, FILES), attempt)
        touched = [(built, *astuple(reason(told))) for told in rows]
        named = [dict(zip(IMPACTED_FILES.column_names, values, strict=True)) for values in touched]
        self._write(IMPACTED_FILES, named, [built], attempt)
        self.light.finish(built, attempt)
        self.ids.append(built)
        return built

    def _write(self, table: Table, rows: list[Row], owners: Iterable[str], attempt: Attempt) -> None:
        data = arrow(table, rows)
        written = self.light.store.replace_files(self.light.state, table, data, Scope.of(owners), attempt)
        self.light.state = self.light.state.advanced(written.ref)

    def run(self, *arguments: str | Path) -> int:
        return cli.main([str(each) for each in (*arguments, "--state", self.state)])


def _tracked(path: str) -> Row:
    known = {"file_id": id_of(path), "path": path, "git_mode": "100644", "blob_id": "b", "size": 1}
    return {**dict.fromkeys(REPO_SNAPSHOT.column_names), **known, "is_python": path.endswith(".py")}


@pytest.fixture(scope="module")
def commits(tmp_path_factory: pytest.TempPathFactory) -> Commits:
    """Three of them."""
    made = Commits.create(tmp_path_factory.mktemp("commits"))
    made.build([(path, "full_refresh", "this was the first build", None, 0) for path in FILES if path.endswith(".py")])
    made.build(SECOND)
    made.build(THIRD)
    return made


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_reason_reads_as_a_chain_down_to_the_change() -> None:
    assert chains("app/site.py", SECOND) == [
        "app/site.py ← reaches app.Router through a re-export"
        " ← app/__init__.py ← imports name Router from app.urls ← app/urls.py changed"
    ]
    assert chains("app/views.py", SECOND) == [
        "app/views.py ← names app.urls.Router.resolve ← app/urls.py changed",
        "app/views.py ← imports name Router from app.urls ← app/urls.py changed",
    ]


@pytest.mark.parametrize(
    ("kind", "ref", "via", "said"),
    [
        ("changed_file", "", None, "a.py changed"),
        ("added_file", "", None, "a.py was added"),
        ("deleted_file", "", None, "a.py was deleted"),
        ("scip_changed", "f", "b.py", "a.py ← means something else: f of b.py ← b.py changed"),
        ("scip_changed", "", None, "a.py means something else"),
        ("caller_symbol", "b.f", "b.py", "a.py ← names b.f ← b.py changed"),
        ("caller_qname", "b.f", "b.py", "a.py ← may call b.f ← b.py changed"),
        (
            "override",
            "b.C",
            "b.py",
            "a.py ← defines or names a subclass whose base changed: b.C ← b.py changed",
        ),
        ("import_name", "b.f", "b.py", "a.py ← imports name f from b ← b.py changed"),
        ("import_star", "b", "b.py", "a.py ← star-imports b ← b.py changed"),
        ("import_module", "b.f", "b.py", "a.py ← imports b.f ← b.py changed"),
        ("import_module", "module name", None, "a.py has another module name"),
        ("import_module", "import resolution", None, "a.py has imports that lead elsewhere"),
        ("reexport", "b.f", "b.py", "a.py ← reaches b.f through a re-export ← b.py changed"),
        ("reexport", "", None, "a.py reaches something through a re-export"),
        ("full_refresh", "syntax.code moved", None, "a.py ← everything was rebuilt: syntax.code moved"),
        ("full_refresh", "more than 9 imports", None, "a.py ← everything was rebuilt: more than 9 imports"),
    ],
)
def test_each_kind_of_reason_is_said_in_words(kind: str, ref: str, via: str | None, said: str) -> None:
    rows: list[Told] = [("a.py", kind, ref, via, 0 if via is None else 1), ("b.py", "changed_file", "", None, 0)]
    assert chains("a.py", rows) == [said]


def test_every_kind_of_reason_has_words_and_a_colour() -> None:
    found = impact([("a.py", kind, "m.n", None, 1) for kind in REASON_KINDS])
    assert len({found.phrase(each) for each in found.reasons}) == len(REASON_KINDS) == len(set(COLOURS.values()))
    assert set(COLOURS) == set(REASON_KINDS)


def test_files_that_are_touched_through_each_other_end_the_chain() -> None:
    rows: list[Told] = [("a.py", "scip_changed", "f", "b.py", 1), ("b.py", "scip_changed", "g", "a.py", 1)]
    assert chains("a.py", rows) == [
        "a.py ← means something else: f of b.py ← b.py ← means something else: g of a.py ← a.py (see before)"
    ]


def test_a_chain_goes_round_a_loop_to_the_change() -> None:
    rows: list[Told] = [
        ("a.py", "scip_changed", "f", "b.py", 2),
        ("b.py", "scip_changed", "g", "a.py", 3),
        ("b.py", "import_name", "c.g", "c.py", 1),
        ("c.py", "changed_file", "", None, 0),
    ]
    assert chains("a.py", rows) == [
        "a.py ← means something else: f of b.py ← b.py ← imports name g from c ← c.py changed"
    ]


def test_a_chain_may_end_at_a_file_that_was_not_rebuilt() -> None:
    rows: list[Told] = [("a.py", "caller_symbol", "b.f", "b.py", 1)]
    assert chains("a.py", rows, known=("b.py",)) == ["a.py ← names b.f ← b.py (not rebuilt itself)"]


def test_explain_takes_a_path_from_here_or_from_the_top(
    commits: Commits, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def explained(path: str | Path) -> str:
        assert commits.run("explain", path, "--commit", commits.ids[1]) == 0
        return capsys.readouterr().out.splitlines()[0]

    assert explained("app/urls.py").startswith("app/urls.py was rebuilt at")
    assert explained(commits.repo.folder / "app" / "urls.py").startswith("app/urls.py was rebuilt at")
    assert explained("urls.py").startswith("urls.py was not rebuilt at")
    monkeypatch.chdir(commits.repo.folder / "app")
    assert explained("urls.py").startswith("app/urls.py was rebuilt at")
    assert explained("./../app/urls.py").startswith("app/urls.py was rebuilt at")
    assert explained("app/urls.py").startswith("app/urls.py was rebuilt at")


def test_explain_says_why_a_file_was_not_rebuilt(commits: Commits, capsys: pytest.CaptureFixture[str]) -> None:
    assert commits.run("explain", "app/alone.py") == 0
    first, second = capsys.readouterr().out.splitlines()
    last = commits.ids[2][:12]
    assert first == f"app/alone.py was not rebuilt at {last}: nothing that it depends on changed"
    assert second.startswith(f"it was rebuilt last at {commits.ids[0][:12]}")
    assert commits.run("explain", "README.md") == 0
    assert "not a Python file" in capsys.readouterr().out


def test_explain_knows_a_deleted_file_and_the_first_build(commits: Commits, capsys: pytest.CaptureFixture[str]) -> None:
    assert commits.run("explain", "app/gone.py", "--commit", commits.ids[1][:8]) == 0
    assert capsys.readouterr().out.endswith("  app/gone.py was deleted\n")
    assert commits.run("explain", "app/site.py", "--commit", "HEAD~2") == 0
    assert "app/site.py ← everything was rebuilt: this was the first build" in capsys.readouterr().out


def test_explain_tells_chains_as_json(commits: Commits, capsys: pytest.CaptureFixture[str]) -> None:
    assert commits.run("explain", "app/site.py", "--commit", "main~1", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["commit"], told["path"], told["rebuilt"]) == (commits.ids[1], "app/site.py", True)
    (only,) = told["reasons"]
    assert (only["reason_kind"], only["via"], only["distance"]) == ("reexport", "app/__init__.py", 2)
    assert [step["path"] for step in only["chain"]] == ["app/site.py", "app/__init__.py", "app/urls.py"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("explain", "app/vews.py"), "did you mean app/views.py"),
        (("explain", "src/site.py"), "did you mean app/site.py"),
        (("explain", "app/gone.py"), "no file app/gone.py in"),
        (("explain", "zzz"), "name it by its path in"),
        (("explain", "app/urls.py", "--commit", "feedbeef"), "commit feedbeef is not built: built are"),
        (("impact", "HEAD...HEAD"), "three dots"),
        (("impact", "HEAD..HEAD~1"), "HEAD was built after HEAD~1"),
        (("impact", "HEAD..HEAD"), "nothing was built in HEAD..HEAD"),
        (("impact", "--html", "."), "is a folder"),
        (("impact", "--html", "no/such/page.html"), "does not exist"),
    ],
)
def test_what_can_t_be_told_is_refused_with_the_remedy(
    commits: Commits, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert commits.run(*arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err and len(captured.err.splitlines()) == 1
    assert captured.out == ""


def test_a_commit_of_the_repository_that_is_not_built_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Commits.create(tmp_path)
    built = made.build(THIRD)
    unbuilt = made.repo.commit_files({"a.py": ""})
    assert made.run("impact", "--commit", "main") == 2
    assert f"main is {unbuilt[:12]}, which is not built: built are {built[:12]}" in capsys.readouterr().err


def test_a_state_without_a_build_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (("explain", "a.py"), ("impact",), ("impact", "a..b"), ("impact", "--commit", "HEAD")):
        assert cli.main([*command, "--state", str(tmp_path / "state")]) == 2
        assert "run `codeanatomy build REPO` first" in capsys.readouterr().err
    assert not (tmp_path / "state").exists()


def test_impact_is_a_table_sorted_by_distance_and_path(commits: Commits, capsys: pytest.CaptureFixture[str]) -> None:
    assert commits.run("impact", "--commit", commits.ids[1][:10]) == 0
    head, *table = capsys.readouterr().out.splitlines()
    assert head == f"{commits.ids[1][:12]} (full): 5 files rebuilt"
    assert [re.split(r"  +", line) for line in table] == [
        ["path", "distance", "reasons"],
        ["app/gone.py", "0", "was deleted"],
        ["app/urls.py", "0", "changed"],
        ["app/__init__.py", "1", "imports name Router from app.urls"],
        ["app/views.py", "1", "names app.urls.Router.resolve; imports name Router from app.urls"],
        ["app/site.py", "2", "reaches app.Router through a re-export"],
    ]


def test_a_range_is_what_was_built_after_a_up_to_b(commits: Commits, capsys: pytest.CaptureFixture[str]) -> None:
    def told(which: str) -> list[str]:
        assert commits.run("impact", which, "--json") == 0
        return [each["commit"] for each in json.loads(capsys.readouterr().out)["commits"]]

    first, second, third = commits.ids
    assert told(f"{first[:8]}..{third[:8]}") == [second, third]
    assert told("HEAD~1..") == [third]
    assert told(f"..{second}") == [first, second]
    assert told("..") == commits.ids
    assert told("HEAD") == [third]
    assert commits.run("impact", "HEAD~2..HEAD") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["commit", "path", "distance", "reasons"]
    assert lines[-1].split() == [third[:12], "app/views.py", "0", "changed"]


def test_a_commit_that_was_built_again_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Commits.create(tmp_path)
    first, second = made.build(SECOND), made.build(SECOND)
    made.build(THIRD, second)
    assert made.run("impact", f"{first}..{second}", "--json") == 0
    (only,) = json.loads(capsys.readouterr().out)["commits"]
    assert (only["commit"], only["sequence"], len(only["files"])) == (second, 3, 1)


def test_names_that_could_steer_a_terminal_are_escaped() -> None:
    shown = impacts_as_table([impact([("a\n\x1b[31m.py", "changed_file", "", None, 0)])])
    assert "a\\n\\x1b[31m.py" in shown and "\x1b" not in shown


class Page(HTMLParser):
    """What a page holds: tags with their attributes, titles' texts, and ids that links lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def attributes(self, tag: str, name: str) -> list[str]:
        return [value for found, attributes in self.tags if found == tag and (value := attributes.get(name))]


def test_the_picture_is_one_page_that_loads_nothing_and_leads_to_the_table(
    commits: Commits, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert commits.run("impact", "..", "--html", tmp_path / "impact.html") == 0
    assert "impact.html" in capsys.readouterr().err
    text = (tmp_path / "impact.html").read_text()
    found = Page(text)
    assert not {tag for tag, _ in found.tags} & {"script", "link", "img", "iframe", "object", "foreignobject"}
    assert set(found.attributes("a", "href")) == {f"#{row}" for row in found.attributes("tr", "id")}
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert [tag for tag, _ in found.tags].count("svg") == 3
    assert "app/views.py ← imports name Router from app.urls ← app/urls.py changed" in text


def test_the_picture_has_a_column_per_distance_and_an_edge_per_way() -> None:
    found = Page(page([impact(SECOND)]))
    columns = [int(x) for x in found.attributes("rect", "x")]
    assert [columns.count(x) for x in sorted(set(columns))] == [2, 2, 1]
    assert [value for value in found.attributes("path", "class") if value.startswith("edge")] == ["edge"] * 3


def test_text_in_the_picture_is_escaped() -> None:
    nasty = '<script>alert("1")</script>&.py'
    text = page([impact([(nasty, "changed_file", "", None, 0), ("b.py", "caller_symbol", "<b>'\"", nasty, 1)])])
    assert "<script" not in text and "<b>" not in text
    assert "&lt;script&gt;" in text


def test_two_thousand_files_make_a_picture_of_some_and_a_table_of_all() -> None:
    rows: list[Told] = [("root.py", "changed_file", "", None, 0)]
    rows += [(f"m{number}.py", "import_name", "root.f", "root.py", 1) for number in range(1, 1000)]
    rows += [(f"n{number}.py", "import_module", "m7.py", "m7.py", 2) for number in range(1000)]
    text = page([impact(rows)])
    found = Page(text)
    assert len(found.attributes("tr", "id")) == 2000
    assert len(found.attributes("rect", "x")) == 1 + 2 * (MOST_IN_LAYER + 1)
    assert f"+{999 - MOST_IN_LAYER} more" in text and f"+{1000 - MOST_IN_LAYER} more" in text
    assert ">m7.py</text>" in text, "a file that others are touched through is drawn"


def test_a_commit_that_touched_nothing_says_so() -> None:
    assert impacts_as_table([impact([])]) == "cccccccccccc (incremental): nothing was rebuilt"
    assert "nothing was rebuilt" in page([impact([])]) and "<svg" not in page([impact([])])


def test_neither_command_imports_dagster_or_pyspark(commits: Commits, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom codeanatomy_assets.cli import main\nat, page = ['--state', sys.argv[1]], sys.argv[2]\n"
        "codes = [main(['explain', 'app/site.py', *at]), main(['impact', '--html', page, *at])]\n"
        "heavy = [name for name in ('dagster', 'pyspark') if name in sys.modules]\n"
        "sys.exit(f'{codes} {heavy}' if any(codes) or heavy else 0)"
    )
    command = (sys.executable, "-c", script, str(commits.state), str(tmp_path / "impact.html"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["explain", "impact"])
def test_help_shows_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main([command, "--help"])
    assert f"codeanatomy {command} " in capsys.readouterr().out.partition("examples:")[2]


def test_a_commit_and_a_range_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["impact", "a..b", "--commit", "c"])
    assert "not allowed with" in capsys.readouterr().err
