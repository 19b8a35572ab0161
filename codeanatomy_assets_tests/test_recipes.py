"""The recipes of CONTRIBUTING.md, followed to the letter on a copy of the package: what they promise comes about."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codeanatomy_assets_tests.git_repositories import GitRepo

PROJECT = Path(__file__).parents[1]
IMPORT_OF_COLLECTOR = "from codeanatomy_assets.extraction.syntax_asserts import KINDS, assert_rows\n"
FILES = {
    "app/urls.py": "def route(x):\n    assert x, 'no route'\n    return x\n",
    "app/views.py": "import os\nfrom app.urls import route\n\nassert route\n",
}


class Recipes:
    """The blocks of code under each recipe's heading, in their order."""

    def __init__(self, text: str) -> None:
        self._sections = dict(re.findall(r"^## Recipe: (.+?)\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL))

    def blocks(self, name: str) -> list[str]:
        found = re.findall(r"^( *)```python\n(.*?)^ *```", self._sections[name], re.MULTILINE | re.DOTALL)
        return [re.sub(f"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def insert(path: Path, before: str, text: str) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.count(before) == 1, f"{path.name} has no single place {before!r}"
    path.write_text(source.replace(before, text + before), encoding="utf-8")


def follow(recipes: Recipes, package: Path) -> None:
    identity, contract, collector, line = recipes.blocks("a new syntax dataset")
    with (package / "contracts" / "identity.py").open("a", encoding="utf-8") as recipe:
        recipe.write(f"\n{identity}")
    syntax = package / "contracts" / "syntax.py"
    insert(syntax, "\nTABLES = (", contract)
    syntax.write_text(syntax.read_text(encoding="utf-8").replace("PARSE_ERRORS)", "PARSE_ERRORS, ASSERTS)"))
    (package / "extraction" / "syntax_asserts.py").write_text(collector, encoding="utf-8")
    tree = package / "extraction" / "syntax_tree.py"
    insert(tree, "    Collector(syntax.PARSE_ERRORS,", f"    {line}")
    insert(tree, "from codeanatomy_assets.extraction.syntax_calls", IMPORT_OF_COLLECTOR)
    (rule,) = recipes.blocks("a new relationship")
    kind, in_rule = recipes.blocks("a new kind of edge")
    owner = "    owner=names.PY_IMPORTS_RESOLVED,\n"
    (package / "rules" / "definitions" / "rel_import_file.py").write_text(rule.replace(owner, owner + in_rule))
    insert(package / "contracts" / "graph_kinds.py", ")\nEDGE_KIND = {", kind)


def command(package: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-m", "codeanatomy_assets.cli", *words],
        env=environment,
        cwd=package.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def exported(package: Path, state: Path, *datasets: str) -> dict[str, list[dict[str, Any]]]:
    folder = state.with_name("exported")
    named = [word for dataset in datasets for word in ("--dataset", dataset)]
    command(package, "export", str(folder), "--state", str(state), "--format", "jsonl", *named)
    texts = {dataset: (folder / f"{dataset}.jsonl").read_text(encoding="utf-8") for dataset in datasets}
    return {dataset: [json.loads(line) for line in text.splitlines()] for dataset, text in texts.items()}


@pytest.mark.slow
def test_each_recipe_does_what_it_says(tmp_path: Path) -> None:
    package = tmp_path / "project" / "codeanatomy_assets"
    shutil.copytree(PROJECT / "codeanatomy_assets", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "dagster.yaml", package.parent)
    follow(Recipes((PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")), package)
    repo, state = GitRepo.create(tmp_path / "repo"), tmp_path / "state"
    repo.commit_files(FILES)
    command(package, "build", str(repo.folder), "--state", str(state))
    rows = exported(package, state, "cst_asserts", "rel_import_file", "cpg_nodes", "cpg_edges")
    assert {row["text"] for row in rows["cst_asserts"]} == {"assert x, 'no route'", "assert route"}
    assert rows["rel_import_file"]
    paths = {row["node_id"]: row["path"] for row in rows["cpg_nodes"]}
    edges = [row for row in rows["cpg_edges"] if row["edge_kind"] == "PY_IMPORTS_FILE"]
    assert {(row["path"], paths[row["dst_node_id"]]) for row in edges} == {("app/views.py", "app/urls.py")}
