"""The indexer's process: what it refuses, survives and says when it dies."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from codeanatomy_assets import toolchain
from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.extraction import scip_index
from codeanatomy_assets.extraction.scip_index import (
    FailedFile,
    IndexedFile,
    Limits,
    ScipIndexer,
    Surroundings,
    write_compatible_index,
)
from codeanatomy_assets_tests.scip_trees import TANGLE, cold_answers, cold_rows, meanings, python_files, write_tree

# A driver in a few lines: says it is ready, answers `open`, then does what the test wants of it.
FAKE_DRIVER = """
const fs = require('fs');
const say = (header) => {
  const head = Buffer.from(JSON.stringify(header));
  const length = (n) => { const b = Buffer.alloc(4); b.writeUInt32BE(n); return b; };
  fs.writeSync(1, Buffer.concat([length(head.length), head, length(0)]));
};
const done = (op) => say({ kind: 'done', op, cpu_seconds: 0, rss_bytes: 0 });
say({ kind: 'ready', version: 'fake' });
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line);
  if (request.op === 'open') { done('open'); return; }
  const files = request.files;
  %s
});
"""


def fake_driver(folder: Path, on_index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    (folder / "main.js").write_text(FAKE_DRIVER % on_index)
    monkeypatch.setattr(scip_index, "DRIVER", folder)


def test_an_unknown_bundle_is_refused_by_its_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "scip-python"
    (package / "dist").mkdir(parents=True)
    known = toolchain.scip_python_bundle().parent.parent
    shutil.copyfile(known / "package.json", package / "package.json")
    for name in ("scip-python.js", "pyright-internal.js", "vendor.js"):
        shutil.copyfile(known / "dist" / name, package / "dist" / name)
    with (package / "dist" / "scip-python.js").open("ab") as bundle:
        bundle.write(b"\n")
    monkeypatch.setattr(scip_index, "_package", lambda: package)
    with pytest.raises(
        CodeAnatomyError, match=r"scip-python\.js is not the file of scip-python 0\.6\.6: its sha256 is"
    ):
        ScipIndexer(tmp_path)


def test_an_unknown_version_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "package.json").write_text('{"version": "0.7.0"}')
    monkeypatch.setattr(scip_index, "_package", lambda: tmp_path)
    with pytest.raises(
        CodeAnatomyError, match=r"scip-python 0\.7\.0 at .* is not known to this driver: it knows 0\.6\.6"
    ):
        ScipIndexer(tmp_path)


def test_an_unknown_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CodeAnatomyError, match=r"Python 3\.99 is not known"):
        ScipIndexer(tmp_path, Surroundings(python_version="3.99"))


def test_a_file_outside_the_program_is_refused(tmp_path: Path) -> None:
    with (
        ScipIndexer(tmp_path) as indexer,
        pytest.raises(CodeAnatomyError, match=r"ghost\.py is not a file of the program"),
    ):
        list(indexer.index(["ghost.py"]))


def test_the_index_is_the_stock_commands_in_compatible_mode(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", TANGLE)
    surroundings = Surroundings()
    (tmp_path / "venvs" / "none" / "lib" / "python3.12" / "site-packages").mkdir(parents=True)
    (tmp_path / "environment.json").write_text("[]")
    write_tree(
        tree,
        {
            "scip-pyrightconfig.json": (
                '{"pythonVersion": "3.12", "pythonPlatform": "Linux", "venvPath": "%s", "venv": "none"}'
                % (tmp_path / "venvs")
            )
        },
    )
    names = ["--project-name", surroundings.project_name, "--project-version", surroundings.project_version]
    files = ["--environment", str(tmp_path / "environment.json"), "--output", str(tmp_path / "stock.scip")]
    command = [
        str(toolchain.node()),
        str(toolchain.scip_python_bundle().parent.parent / "index.js"),
        "index",
        "--quiet",
    ]
    subprocess.run([*command, *names, *files], cwd=tree, check=True, capture_output=True)
    write_compatible_index(tree, surroundings, tmp_path / "ours.scip")
    assert (tmp_path / "ours.scip").read_bytes() == (tmp_path / "stock.scip").read_bytes()
    assert (tmp_path / "stock.scip").stat().st_size > 2000


def test_the_repositorys_own_settings_play_no_part(tmp_path: Path) -> None:
    plain = cold_answers(write_tree(tmp_path / "plain", TANGLE))
    settings: dict[str, str | bytes] = {
        "pyrightconfig.json": '{"pythonVersion": "3.3", "exclude": ["app"], "stubPath": "app"}',
        "scip-pyrightconfig.json": '{"include": ["tools"], "typeshedPath": "tools"}',
        "pyproject.toml": '[project]\nname = "evil"\nversion = "6"\n[tool.pyright]\npythonPlatform = "Windows"\n',
    }
    configured = write_tree(tmp_path / "configured", {**TANGLE, **settings})
    assert cold_answers(configured, python_files(tmp_path / "plain")) == plain


def test_indexing_starts_no_process_and_reads_no_environment(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", {"m.py": "import os, sys\nprint(sys.platform, os.path)\n"})
    with ScipIndexer(tree) as indexer:
        pid = indexer._process._process.pid
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        list(indexer.index(["m.py"]))
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    assert [part.split(b"=")[0] for part in environment.split(b"\0") if part] == [b"TMPDIR"]
    assert children == ""


def test_a_src_layout_resolves_through_its_root_and_a_version_decides_branches(tmp_path: Path) -> None:
    files = {
        "src/lib/__init__.py": "import sys\nif sys.version_info >= (3, 10):\n    def new(): ...\n",
        "tests/test_lib.py": "from lib import new\nnew()\n",
    }
    tree = write_tree(tmp_path, files)
    rows = cold_rows(tree, Surroundings(search_roots=("src",)))
    assert meanings(tree, rows["tests/test_lib.py"], "new") == ["repository 0 lib/new()."] * 2
    unrooted = cold_rows(tree)
    assert all("lib/new()" not in meaning for meaning in meanings(tree, unrooted["tests/test_lib.py"], "new"))


def test_a_named_environment_resolves_dependencies_with_their_versions(tmp_path: Path) -> None:
    site = write_tree(
        tmp_path / "tree-env" / "site-packages",
        {
            "depend/__init__.py": "def helper(): ...\n",
            "Depend-1.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: Depend\nVersion: 1.2\n\nVersion: text\n",
            "Depend-1.2.dist-info/RECORD": "depend/__init__.py,,\nDepend-1.2.dist-info/RECORD,,\n",
        },
    )
    tree = write_tree(tmp_path / "tree", {"m.py": "from depend import helper\nhelper()\n"})
    rows = cold_rows(tree, Surroundings(site_packages=site))
    assert meanings(tree, rows["m.py"], "helper") == ["Depend 1.2 depend/helper()."] * 2
    alone = cold_rows(tree)
    assert all(meaning.startswith("local") for meaning in meanings(tree, alone["m.py"], "helper"))


def test_a_document_that_fails_twice_alike_is_an_answer_and_the_others_go_on(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, {"a.py": "x = 1\n", "big.py": b"#" * (50 * 1024 * 1024 + 1), "z.py": "y = 2\n"})
    seen: list[tuple[int, int]] = []
    with ScipIndexer(tree) as indexer:
        found = list(
            indexer.index(["a.py", "big.py", "z.py"], on_progress=lambda done, asked: seen.append((done, asked)))
        )
    assert [type(answer) for answer in found] == [IndexedFile, IndexedFile, FailedFile]
    assert isinstance(found[2], FailedFile)
    assert found[2].path == "big.py" and 'File length of "big.py" is 52428801' in found[2].reason
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_nesting_past_the_stack_is_an_answer_wherever_it_strikes_and_the_others_go_on(tmp_path: Path) -> None:
    deep = {
        "brackets.py": b"x = " + b"[" * 100_000 + b"]" * 100_000,
        "calls.py": b"f(" * 100_000,
        "chained.py": b"a = " * 100_000 + b"b",
        "elifs.py": b"if x: pass\n" + b"elif x: pass\n" * 100_000,
        "lambdas.py": b"lambda: " * 100_000 + b"x",
    }
    tree = write_tree(tmp_path, {"a.py": "x = 1\n", **deep, "z.py": "y = 2\n"})
    with ScipIndexer(tree) as indexer:
        found = list(indexer.index(["a.py", *deep, "z.py"]))
    assert [answer.path for answer in found if isinstance(answer, IndexedFile)] == ["a.py", "z.py"]
    reason = "nested too deeply: RangeError: Maximum call stack size exceeded"
    reasons = {answer.path: answer.reason for answer in found if isinstance(answer, FailedFile)}
    assert reasons == dict.fromkeys(deep, reason)


def test_a_document_that_fails_once_only_is_taken_from_the_fresh_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_only = (
        f"const mark = '{tmp_path}/mark';"
        "if (fs.existsSync(mark)) { say({ kind: 'document', path: files[0], interface: [] }) }"
        "else { fs.writeFileSync(mark, ''); say({ kind: 'failure', path: files[0], reason: 'once' }) } done('index');"
    )
    fake_driver(tmp_path / "driver", first_only, monkeypatch)
    with ScipIndexer(tmp_path) as indexer:
        assert list(indexer.index(["m.py"])) == [IndexedFile("m.py", b"", ())]


def test_a_document_that_fails_in_two_ways_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_driver(
        tmp_path / "driver",
        "say({ kind: 'failure', path: 'm.py', reason: `${process.pid}` }); done('index');",
        monkeypatch,
    )
    with ScipIndexer(tmp_path) as indexer, pytest.raises(CodeAnatomyError, match=r"failed on m\.py in two ways"):
        list(indexer.index(["m.py"]))


def test_a_silent_indexer_is_ended_and_reported_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_driver(tmp_path / "driver", "fs.writeSync(2, 'thinking hard'); for (;;);", monkeypatch)
    with ScipIndexer(tmp_path, limits=Limits(silent_seconds=2)) as indexer:
        with pytest.raises(CodeAnatomyError, match=r"silent for 2 seconds and was ended.*at m\.py.*thinking hard"):
            list(indexer.index(["m.py"]))
        assert indexer._process._process.wait(5) != 0


def test_an_indexer_can_be_ended_by_who_does_not_wait_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_driver(tmp_path / "driver", "for (;;);", monkeypatch)
    with ScipIndexer(tmp_path) as indexer:
        ending = threading.Timer(1.0, indexer.interrupt)
        ending.start()
        with pytest.raises(CodeAnatomyError, match="before it answered"):
            list(indexer.index(["m.py"]))
        ending.join()


def test_a_dying_indexer_is_reported_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_driver(tmp_path / "driver", "fs.writeSync(2, 'farewell'); process.exit(7);", monkeypatch)
    with ScipIndexer(tmp_path) as indexer:
        with pytest.raises(CodeAnatomyError, match=r"ended with code 7 before it answered.*farewell"):
            list(indexer.index(["m.py"]))
        with pytest.raises(CodeAnatomyError, match="ended with code 7"):
            list(indexer.index(["m.py"]))


def test_running_out_of_memory_fails_and_is_no_data(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, {"m.py": "import asyncio, typing, unittest, tkinter\n"})
    with (
        pytest.raises(CodeAnatomyError, match=r"(?s)INDEX_MEMORY_MEGABYTES, is 24\).*heap out of memory"),
        ScipIndexer(tree, limits=Limits(memory_megabytes=24)) as indexer,
    ):
        list(indexer.index(["m.py"]))


def test_the_indexer_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", {"m.py": "x = 1\n"})
    program = (
        "import sys, time; from pathlib import Path; from codeanatomy_assets.extraction.scip_index import ScipIndexer\n"
        f"indexer = ScipIndexer(Path({str(tree)!r})); print(indexer._process._process.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists()
