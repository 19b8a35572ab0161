"""What long proofs write down: steps done by one code, so that a run goes on where it stopped and stale ones show."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES, normalised, stage_fingerprints
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.toolchain import tools_folder
from codeanatomy_assets_tests import corpora

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
LEFT_OUT = frozenset({"django"})
Record = dict[str, Any]


class Progress:
    """The steps done by this very code, as JSON lines; `shown` are the figures told of each.

    Those that `results` has were done by the same code before, perhaps on another machine: they count too.
    """

    def __init__(self, name: str, code: Iterable[Path], shown: Sequence[str], results: Path | None = None) -> None:
        self.code = code_digest(code)
        self.shown = shown
        self.file = tools_folder() / "soak" / f"{name}-{self.code}.jsonl"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.is_file() else []
        done = [*written(results, self.code), *map(json.loads, lines)]
        self.records: dict[str, Record] = {record["key"]: record for record in done}

    def add(self, record: Record) -> None:
        self.records[record["key"]] = record
        with self.file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(record) + "\n")
        counts = " ".join(f"{name} {record[name]}" for name in self.shown)
        missed = f" missed {record['missed'] or 0}" if "missed" in record else ""
        print(f"{record['key']}: {counts}{missed}", flush=True)


def written(results: Path | None, code: str) -> list[Record]:
    """The steps of a file of results, if this code did them."""
    if results is None or not results.is_file():
        return []
    found = json.loads(results.read_text(encoding="utf-8"))
    return list(found.get("steps") or found.get("measurements", ())) if found["code"] == code else []


def stale(name: str, code: Iterable[Path]) -> str | None:
    """That a file of results is of other code than this, if it is."""
    result = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    if result["code"] == code_digest(code):
        return None
    return f"stale: {name}.json is of code {result['code']}, {result['date']}; `make soak` brings it up to date"


def code_digest(code: Iterable[Path]) -> str:
    """Figures of other code are no figures of this code; comments and docstrings are none."""
    fingerprints = stage_fingerprints(Settings())
    digest = hashlib.sha256(json.dumps([fingerprints[stage] for stage in BUILT_STAGES]).encode())
    for path in code:
        text = path.read_bytes()
        digest.update(normalised(ast.parse(text)).encode() if path.suffix == ".py" else text)
    return digest.hexdigest()[:16]


def releases() -> dict[str, list[str]]:
    """Package → its versions, oldest first."""
    versions: dict[str, list[str]] = defaultdict(list)
    for corpus in corpora.declared():
        if corpus.name not in LEFT_OUT:
            versions[corpus.name].append(corpus.version)
    return {name: sorted(found, key=lambda v: [int(part) for part in v.split(".")]) for name, found in versions.items()}


def revision() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
