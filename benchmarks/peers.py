"""What the builds are measured beside: the indexer alone, which no build can go below, and Joern on the same sources.

`python -m benchmarks.peers FOLDER` indexes a folder's Python files and prints the indexer's own CPU seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import joern
from benchmarks.measuring import run_measured
from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.extraction.scip_index import IndexedFile, ScipIndexer, Surroundings
from codeanatomy_assets.transforms.module_roots import source_roots
from codeanatomy_assets_tests.scip_trees import python_files

INDEXER, JOERN = "indexer alone", "Joern"
JOERN_SECONDS = 3_600
# Edges that only the data flow overlay makes: a graph without them is not the work we compare with.
DATA_FLOW_EDGE = b'"REACHING_DEF"'
WORDS_KEPT = 500


def measure_indexer(root: Path) -> dict[str, Any]:
    """Our driver over all files of a folder. CPU is the indexer's alone, without the Python that reads its answers."""
    usage, said = run_measured([sys.executable, "-m", "benchmarks.peers", str(root)], Path.cwd())
    return {**usage.told(), **json.loads(said)}


def index_all(root: Path) -> dict[str, Any]:
    files = python_files(root)
    with ScipIndexer(root, Surroundings(search_roots=source_roots(files))) as indexer:
        indexed = sum(isinstance(answer, IndexedFile) for answer in indexer.index(files))
        return {"cpu_seconds": round(indexer.cpu_seconds, 2), "files": indexed}


def measure_joern(root: Path) -> dict[str, Any]:
    """A full run of Joern, or `why_not`: it could not be had, did not end, or left something out."""
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "cpg.bin"
        try:
            usage, _ = run_measured(joern.parse_command(root, output), Path(scratch), limit=JOERN_SECONDS)
        except (CodeAnatomyError, subprocess.TimeoutExpired) as error:
            return {"why_not": str(error)[-WORDS_KEPT:]}
        graph = output.read_bytes()
    if DATA_FLOW_EDGE not in graph:
        return {"why_not": "its graph has no data flow"}
    return {**usage.told(), "bytes_written": len(graph)}


if __name__ == "__main__":
    print(json.dumps(index_all(Path(sys.argv[1]))))
