"""A process that exports again and again, and tells of each export which commit it was and what it held.

    python -m codeanatomy_assets_tests.crashes.looping_reader STATE OUT [COMMIT]

One JSON object a line, until it is ended. Every second export is of COMMIT, if one is named, the others of the last.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
from contextlib import redirect_stderr
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from codeanatomy_assets.cli import main

DATASETS = ("repo_snapshot", "cst_defs", "scip_occurrences", "rel_calls", "cpg_nodes", "cpg_edges", "cpg_props")
COMMIT_READ = re.compile(r" rows at ([0-9a-f]{12})$", re.MULTILINE)


def digest(rows: pa.Table) -> str:
    """The rows as a bag, whatever their order."""
    texts = sorted(repr(list(row.values())) for row in rows.to_pylist())
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def ends_that_are_missing(nodes: pa.Table, edges: pa.Table) -> list[str]:
    known = set(nodes.column("node_id").to_pylist())
    ends = {*edges.column("src_node_id").to_pylist(), *edges.column("dst_node_id").to_pylist()}
    return sorted(ends - known)


def exported(state: str, out: Path, commit: str | None) -> dict[str, Any]:
    words = io.StringIO()
    chosen = [part for name in DATASETS for part in ("--dataset", name)]
    which = ["--commit", commit] if commit else []
    with redirect_stderr(words):
        code = main(["export", str(out), "--state", state, *chosen, *which])
    if code:
        return {"failed": words.getvalue()}
    found = {name: pq.read_table(out / f"{name}.parquet") for name in DATASETS}
    return {
        "commits": sorted(set(COMMIT_READ.findall(words.getvalue()))),
        "digests": {name: digest(rows) for name, rows in found.items()},
        "missing": ends_that_are_missing(found["cpg_nodes"], found["cpg_edges"]),
        "edges": found["cpg_edges"].num_rows,
    }


def loop(state: str, out: str, commit: str | None = None) -> None:
    for number in count():
        print(json.dumps(exported(state, Path(out), commit if number % 2 else None)), flush=True)


if __name__ == "__main__":
    loop(*sys.argv[1:])
