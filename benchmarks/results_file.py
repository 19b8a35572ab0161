"""Writing a benchmark's result where it is committed: what was measured, on which revision, by which command."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def write_result(name: str, command: str, figures: dict[str, Any]) -> Path:
    """One JSON file per benchmark, replaced by each run."""
    FOLDER.mkdir(exist_ok=True)
    revision = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=FOLDER, check=True)
    told = {
        "benchmark": name,
        "command": command,
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "revision": revision.stdout.strip(),
        "cores": len(os.sched_getaffinity(0)),
        "load_before": round(os.getloadavg()[0], 2),
        **figures,
    }
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(told, indent=1) + "\n")
    return path


def known_results() -> dict[str, dict[str, Any]]:
    """The results that are there, by benchmark."""
    told = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
    return {each["benchmark"]: each for each in told if "benchmark" in each}
