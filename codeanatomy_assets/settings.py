"""Settings: frozen, with defaults that work, and the only place that reads the environment."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from codeanatomy_assets.errors import BadInput

PREFIX = "CODEANATOMY_"
STRATEGIES = ("symbol_closure", "import_closure", "hybrid")
RESULT_BEARING = {"result_bearing": True}
# What the pinned indexer knows.
PYTHON_VERSIONS = tuple(f"3.{minor}" for minor in range(13))
LEAST = "least"
SMALLEST_MEMORY_MB = 1024
LARGEST_MEMORY_MB = 4096


def _at_least(number: int) -> dict[str, int]:
    return {LEAST: number}


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _index_processes() -> int:
    """Half the cores: Spark has work for the others."""
    return max(1, _cores() // 2)


def _driver_memory() -> str:
    """An eighth of the machine's memory, within limits."""
    total_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1_048_576
    return f"{min(LARGEST_MEMORY_MB, max(SMALLEST_MEMORY_MB, total_mb // 8))}m"


@dataclass(frozen=True)
class Settings:
    """One state's settings. A result-bearing one is part of the fingerprints: changing it rebuilds."""

    repo: Path = Path(".")
    state: Path = Path(".codeanatomy")
    worktree: bool = False
    repo_id: str = field(default="repository", metadata=RESULT_BEARING)
    max_file_bytes: int = field(default=5_000_000, metadata=RESULT_BEARING | _at_least(1))
    python_version: str = field(default="3.12", metadata=RESULT_BEARING)
    site_packages: str = field(default="", metadata=RESULT_BEARING)
    strategy: str = "hybrid"
    impact_iterations: int = field(default=100, metadata=_at_least(1))
    index_silent_seconds: float = field(default=900.0, metadata=_at_least(1))
    index_memory_megabytes: int = field(default=4096, metadata=_at_least(256))
    index_processes: int = field(default_factory=_index_processes, metadata=_at_least(1))
    tables_uri: str = ""
    storage_options: Mapping[str, str] = field(default_factory=dict)
    spark_master: str = ""
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    driver_memory: str = field(default_factory=_driver_memory)
    cores: int = field(default_factory=_cores, metadata=_at_least(1))
    light_write_rows: int = field(default=600_000, metadata=_at_least(0))
    lock_wait_seconds: float = field(default=0.0, metadata=_at_least(0))
    retain_commits: int = field(default=50, metadata=_at_least(0))
    retain_days: float = field(default=30.0, metadata=_at_least(0))
    sensor_on: bool = False
    sensor_commits: int = field(default=20, metadata=_at_least(1))

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise BadInput(
                f"strategy {self.strategy!r} is unknown: --strategy and {PREFIX}STRATEGY take one of {known}"
            )
        if self.python_version not in PYTHON_VERSIONS:
            known = f"{PYTHON_VERSIONS[0]} to {PYTHON_VERSIONS[-1]}"
            raise BadInput(f"{PREFIX}PYTHON_VERSION={self.python_version} is not known to the indexer: name {known}")
        for setting in fields(self):
            least, given = setting.metadata.get(LEAST), getattr(self, setting.name)
            if least is not None and not given >= least:
                raise BadInput(f"{PREFIX}{setting.name.upper()}={given} is too little: {least} is the least")

    @property
    def master(self) -> str:
        return self.spark_master or f"local[{self.cores}]"

    @property
    def tables_root(self) -> str:
        return self.tables_uri.rstrip("/") or str(self.state / "tables")

    @property
    def written_folders(self) -> list[Path]:
        """Where a build writes on this machine's disks."""
        return [self.state, *([] if self.tables_uri else [Path(self.tables_root)])]

    def result_fingerprint(self) -> str:
        """Moves when a setting that can change a row does; operational settings leave it alone.

        Of the packages in `site_packages`, their names and versions: installing one is a change of the setting.
        """
        bearing = {f.name: getattr(self, f.name) for f in fields(self) if f.metadata.get("result_bearing")}
        if self.site_packages:
            bearing["installed"] = installed_packages(Path(self.site_packages))
        return hashlib.sha256(json.dumps(bearing, sort_keys=True).encode()).hexdigest()


def installed_packages(folder: Path) -> list[str]:
    """The packages in a folder of installed ones, by name and version."""
    return sorted(path.name for path in folder.glob("*.*-info"))


def from_environment(**overrides: Any) -> Settings:
    """Defaults, then `CODEANATOMY_*` variables, then what the caller says; paths made absolute."""
    told: dict[str, Any] = {}
    for setting in fields(Settings):
        text = os.environ.get(PREFIX + setting.name.upper())
        if text is not None:
            told[setting.name] = _parsed(setting.name, str(setting.type), text)
    told.update({name: value for name, value in overrides.items() if value is not None})
    settings = Settings(**told)
    return replace(
        settings,
        repo=_absolute(settings.repo),
        state=_absolute(settings.state),
        site_packages=_absolute_text(settings.site_packages),
        tables_uri=settings.tables_uri if "://" in settings.tables_uri else _absolute_text(settings.tables_uri),
    )


def to_environment(settings: Settings) -> dict[str, str]:
    """The settings as variables for a child process, beside what this one has."""
    told = {PREFIX + name.upper(): _rendered(value) for name, value in _as_dict(settings).items()}
    return {**os.environ, **told}


def _as_dict(settings: Settings) -> dict[str, Any]:
    return {f.name: getattr(settings, f.name) for f in fields(settings)}


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))


def _absolute_text(path: str) -> str:
    """Of a setting that may be left empty."""
    return os.path.abspath(path) if path else ""


def _parsed(name: str, type_name: str, text: str) -> Any:
    try:
        if type_name == "bool":
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        if type_name in ("int", "float"):
            return int(text) if type_name == "int" else float(text)
        if type_name.startswith("Mapping"):
            return {str(key): str(value) for key, value in json.loads(text).items()}
    except (ValueError, KeyError, AttributeError) as error:
        wanted = {"bool": "true or false", "int": "a whole number", "float": "a number"}.get(type_name, "a JSON object")
        raise BadInput(f"{PREFIX}{name.upper()}={text!r} is not {wanted}: correct or unset it") from error
    return Path(text) if type_name == "Path" else text


def _rendered(value: Any) -> str:
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    return str(value).lower() if isinstance(value, bool) else str(value)
