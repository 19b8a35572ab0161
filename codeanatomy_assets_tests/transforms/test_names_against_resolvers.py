"""Absolute and relative imports over random folders mean the files that Python and the indexer say they mean."""

from __future__ import annotations

import json
import random
import subprocess
from collections import defaultdict
from importlib.machinery import ModuleSpec, PathFinder
from itertools import product
from pathlib import Path
from typing import Any

from codeanatomy_assets import toolchain
from codeanatomy_assets.extraction.scip_index import DRIVER
from codeanatomy_assets.transforms.module_roots import joined, module_roots, source_roots
from codeanatomy_assets.transforms.names import ModuleLookup, resolved_rows
from codeanatomy_assets_tests.scip_trees import write_tree
from codeanatomy_assets_tests.transforms.names_trees import (
    NAMES,
    STUB_BASES,
    file_id,
    import_rows,
    index_of,
    random_paths,
    resolved_of,
)

Question = dict[str, Any]

PYTHON_SEED = 20240611
INDEXER_SEED = 20240612
TREES = 80
ALL_NAMES = [".".join(parts) for length in (1, 2, 3) for parts in product(NAMES[:3], repeat=length)]

ASK_INDEXER = """
const fs = require('fs');
const [driver, bundleDir] = process.argv.slice(1);
const bundle = require(driver + '/bundle.js').loadBundle(bundleDir);
const { surroundings } = require(driver + '/surroundings.js');
const answers = JSON.parse(fs.readFileSync(0, 'utf8')).map(({ settings, questions }) => {
  const around = surroundings(bundle, settings);
  return questions.map(({ importer, dots, parts, symbols }) => {
    const resolver = new bundle.importResolver.ImportResolver(around.fileSystem, around.options, around.host);
    const environment = around.options.findExecEnvironment(around.root + '/' + importer);
    const asked = { leadingDots: dots, nameParts: parts, importedSymbols: symbols || undefined };
    const result = resolver.resolveImport(around.root + '/' + importer, environment, asked);
    const relative = (path) => path.startsWith(around.root + '/') ? path.slice(around.root.length + 1) : path;
    return {
      found: result.isImportFound,
      paths: result.resolvedPaths.map(relative),
      submodules: Object.fromEntries(result.filteredImplicitImports.map((found) => [found.name, relative(found.path)])),
    };
  });
});
process.stdout.write(JSON.stringify(answers));
"""


def found_by_python(roots: list[str], module: str) -> ModuleSpec | None:
    """What an import of the module would load, its parents found but never run."""
    path, spec = roots, None
    for part in module.split("."):
        # Each part as if it were a top one: a nested namespace would ask sys.modules for its parent.
        spec = PathFinder.find_spec(part, path)
        if spec is None:
            return None
        locations = spec.submodule_search_locations
        path = list(getattr(locations, "_path", locations) or ())
    return spec


def is_below_a_package_that_another_root_has_too(module: str, paths: list[str], roots: tuple[str, ...]) -> bool:
    """There Python looks in the package alone, while the indexer goes on to the other root."""
    parts = module.split(".")
    for length in range(1, len(parts)):
        folders = [joined(root, *parts[:length]) for root in roots]
        held = [folder for folder in folders if any(path.startswith(f"{folder}/") for path in paths)]
        if len(held) > 1 and any(f"{folder}/__init__.py" in paths for folder in held):
            return True
    return False


def test_where_python_finds_a_file_the_index_names_the_same(tmp_path: Path) -> None:
    print(f"seed {PYTHON_SEED}")
    rng = random.Random(PYTHON_SEED)
    files_found = namespaces_found = 0
    for number in range(TREES):
        paths = random_paths(rng)
        folder = write_tree(tmp_path / str(number), dict.fromkeys(paths, ""))
        roots = module_roots(paths)
        on_path = [str(folder / root) for root in roots]
        modules = [m for m in ALL_NAMES if not is_below_a_package_that_another_root_has_too(m, paths, roots)]
        tree = dict.fromkeys(paths, "") | {"my-dir/importer.py": "".join(f"import {name}\n" for name in modules)}
        ours = {
            row["module"]: row for row in resolved_of(tree, ["my-dir/importer.py"]) if row["target_kind"] == "module"
        }
        for module in modules:
            spec = found_by_python(on_path, module)
            row = ours[module]
            if spec is not None and spec.origin is not None:
                expected = Path(spec.origin).relative_to(folder).as_posix()
                assert (row["resolution"], row["target_file_id"]) == ("internal", file_id(expected)), (module, paths)
                files_found += 1
            elif spec is not None:
                assert (row["resolution"], row["target_file_id"]) == ("namespace", None), (module, paths)
                namespaces_found += 1
    print(f"files {files_found}, namespaces {namespaces_found}")
    assert files_found > TREES and namespaces_found > TREES


def indexer_questions(rng: random.Random, paths: list[str]) -> list[Question]:
    """`import a.b` and `from ..a import b`, from random files of the tree."""
    questions: list[Question] = []
    for module in rng.sample(ALL_NAMES, 12):
        questions.append({"importer": rng.choice(paths), "dots": 0, "parts": module.split("."), "symbols": None})
        dots, symbol = rng.choice((0, 0, 1, 2)), rng.choice(NAMES)
        parts = module.split(".")[: rng.choice((0, 1, 2))] if dots else module.split(".")
        questions.append({"importer": rng.choice(paths), "dots": dots, "parts": parts, "symbols": [symbol]})
    # Dots that lead above the repository would ask about the machine's folders.
    return [each for each in questions if each["dots"] <= each["importer"].count("/") + 1]


def statement(question: Question) -> str:
    module = "." * question["dots"] + ".".join(question["parts"])
    return f"from {module} import {question['symbols'][0]}\n" if question["symbols"] else f"import {module}\n"


def answers_of_the_indexer(asked: list[Question]) -> list[list[Question]]:
    bundle = toolchain.scip_python_bundle().parents[1]
    command = [str(toolchain.node()), "-e", ASK_INDEXER, str(DRIVER), str(bundle)]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=300)
    answers: list[list[Question]] = json.loads(done.stdout)
    return answers


def files_of_the_indexer(question: Question, answer: Question) -> list[str | None]:
    """The files of an import: parents of `import a.b`, the module, and the submodule of `from a import b`."""
    if not answer["found"]:
        return []
    if not question["symbols"]:
        return [path or None for path in answer["paths"]]
    return [answer["paths"][-1] or None, answer["submodules"].get(question["symbols"][0])]


def files_of_the_index(lookup: ModuleLookup, question: Question) -> list[str | None]:
    paths = {file.file_id: file.path for file in lookup.files.values()}
    imports = import_rows(question["importer"], statement(question))
    module, *others = resolved_rows(imports, lookup)
    if module["resolution"] in ("external", "unresolved"):
        return []
    target = paths.get(module["target_file_id"])
    other_targets = [paths.get(row["target_file_id"]) for row in others]
    return [target, *(other_targets or [None])] if module["kind"] == "from" else [*other_targets, target]


def is_a_namespace_in_one_of_several_roots(question: Question, paths: list[str]) -> bool:
    tops = [joined(root, question["parts"][0]) for root in module_roots(paths)]
    folders = [folder for top in tops for folder in (top, f"{top}-stubs")]
    held = [folder for folder in folders if any(path.startswith(f"{folder}/") for path in paths)]
    return len(held) > 1 and any(not {f"{f}/__init__.py", f"{f}/__init__.pyi"} & {*paths} for f in held)


def has_all_of(ours: list[str | None], theirs: list[str | None]) -> bool:
    return (
        not any(theirs) or len(ours) == len(theirs) and all(b in (a, None) for a, b in zip(ours, theirs, strict=True))
    )


def is_shared_by_roots(question: Question, paths: list[str]) -> bool:
    """Whether several roots hold the name or a part of it, or stubs of it lie beside: see the test."""
    roots = module_roots(paths)
    top = question["parts"][0]
    held = [root for root in roots if any(path.startswith(joined(root, top)) for path in paths)]
    return len(held) > 1 or any(f"{top}-stubs/" in path for path in paths)


def test_an_import_means_the_file_that_the_indexer_takes(tmp_path: Path) -> None:
    """Where several roots or a stubs folder share a name the index may find more than the indexer, never less.

    The indexer takes a namespace of an earlier root before a file below a namespace of a later one, and a
    stubs folder hides what it lacks; Python finds those files, and so does the index. Some cases are left
    open, few enough: names below a namespace that several roots hold, where the indexer's choice hangs on the
    kind of statement and the order of the roots, and the index follows Python.
    """
    print(f"seed {INDEXER_SEED}")
    rng = random.Random(INDEXER_SEED)
    trees = [random_paths(rng, STUB_BASES, stubs=True) for _ in range(TREES)]
    asked: list[Question] = []
    for number, paths in enumerate(trees):
        folder = write_tree(tmp_path / str(number), dict.fromkeys(paths, ""))
        settings = {"root": str(folder), "python_version": "3.12", "search_roots": list(source_roots(paths))}
        asked.append({"settings": settings, "questions": indexer_questions(rng, paths)})
    compared: dict[str, list[str]] = defaultdict(list)
    for paths, tree, answers in zip(trees, asked, answers_of_the_indexer(asked), strict=True):
        lookup = ModuleLookup(index_of(paths))
        for question, answer in zip(tree["questions"], answers, strict=True):
            theirs, ours = files_of_the_indexer(question, answer), files_of_the_index(lookup, question)
            if not (any(theirs) or any(ours)):
                continue
            verdict = "alike" if ours == theirs else "different"
            if verdict == "different" and has_all_of(ours, theirs) and is_shared_by_roots(question, paths):
                verdict = "found here alone"
            elif (
                verdict == "different" and question["parts"] and is_a_namespace_in_one_of_several_roots(question, paths)
            ):
                verdict = "open"
            compared[verdict].append(
                f"{statement(question)!r} in {question['importer']} of {paths}: {theirs} not {ours}"
            )
    print({verdict: len(cases) for verdict, cases in compared.items()})
    assert not compared["different"], "\n".join(compared["different"])
    assert len(compared["alike"]) > 2 * TREES
    assert len(compared["open"]) < 0.03 * len(compared["alike"]), "\n".join(compared["open"])
