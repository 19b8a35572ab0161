"""The layers import in one direction, and the checker that says so can fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import codeanatomy_assets
from codeanatomy_assets_tests.architecture.import_direction import violations

PACKAGE_FOLDER = Path(codeanatomy_assets.__file__).parent


def test_the_layers_import_in_one_direction() -> None:
    assert violations(PACKAGE_FOLDER) == []


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("transforms/x.py", "from codeanatomy_assets.storage import lock", "transforms may not import"),
        ("rules/x.py", "def f():\n    import codeanatomy_assets.extraction.scopes", "rules may not import"),
        ("contracts/x.py", "from codeanatomy_assets import storage", "contracts may not import"),
        ("contracts/x.py", "from ..rules import compiler", "contracts may not import"),
        ("storage/x.py", "from codeanatomy_assets.orchestration.jobs import j", "storage may not import"),
        ("orchestration/x.py", "import codeanatomy_assets.definitions", "orchestration may not import"),
        ("storage/x.py", "import dagster_pyspark", "only orchestration"),
        ("cli.py", "def main():\n    import dagster as dg", "only orchestration"),
        (
            "transforms/x.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from dagster import Config",
            "only orchestration",
        ),
        ("rules/x.py", "import importlib\nimportlib.import_module('codeanatomy_assets.storage')", "rules may not"),
        ("extraction/x.py", "from pyspark.sql import DataFrame", "extraction may not import pyspark"),
        ("toolchain.py", "import codeanatomy_assets.settings", "toolchain may not import"),
        ("toolchain.py", "import os\nos.environ['HOME']", "only settings.py"),
        ("storage/spark_session.py", "import os\nprint(os.environ['HOME'])", "only settings.py"),
        ("storage/spark_session.py", "import os\nos.environ['A'] = os.environ['B']", "only settings.py"),
        ("storage/lock.py", "import os\nos.environ['A'] = 'b'", "only settings.py"),
        ("extraction/x.py", "import os\nos.getenv('HOME')", "only settings.py"),
        ("extraction/x.py", "from os import environ", "only settings.py"),
        ("helpers.py", "", "is not in MAY_IMPORT"),
    ],
)
def test_a_planted_forbidden_import_is_found(tmp_path: Path, module: str, source: str, expected: str) -> None:
    planted = tmp_path / module
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text(source, encoding="utf-8")
    found = violations(tmp_path)
    assert len(found) == 1
    assert found[0].startswith(f"{module}:")
    assert expected in found[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("storage/x.py", "from codeanatomy_assets.contracts.table import Table\nfrom codeanatomy_assets import errors"),
        ("orchestration/assets/x.py", "import dagster\nfrom codeanatomy_assets.storage import lock"),
        ("storage/x.py", "from codeanatomy_assets import __version__"),
        ("definitions.py", "from codeanatomy_assets.orchestration.jobs import jobs"),
        ("settings.py", "import os\nhome = os.environ.get('HOME')"),
        ("storage/spark_session.py", "import os\nos.environ['PYSPARK_PYTHON'] = 'x'\ndel os.environ['A']"),
        ("extraction/x.py", "from codeanatomy_assets.toolchain import node"),
    ],
)
def test_what_the_layers_allow_is_not_reported(tmp_path: Path, module: str, source: str) -> None:
    planted = tmp_path / module
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text(source, encoding="utf-8")
    assert violations(tmp_path) == []


def test_importing_the_command_line_imports_neither_dagster_nor_pyspark() -> None:
    script = (
        "import sys, codeanatomy_assets.cli\n"
        "heavy = ('dagster', 'pyspark')\n"
        "print([name for name in sys.modules if name.partition('.')[0].partition('_')[0] in heavy])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
