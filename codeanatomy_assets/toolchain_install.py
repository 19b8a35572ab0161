"""Installs the tools that pip can't: the Delta jars through Spark's Ivy, scip-python through npm."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import quoteattr

from codeanatomy_assets import toolchain
from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.toolchain_network import java_network_options

SCIP_DRIVER = Path(__file__).parent / "extraction" / "scip_driver"
STAMP = "installed.sha256"


def main() -> int:
    try:
        install_part("jars", [toolchain.JAR_LIST], install_delta_jars)
        install_part("scip", [SCIP_DRIVER / "package.json", SCIP_DRIVER / "package-lock.json"], install_scip_python)
    except CodeAnatomyError as error:
        print(f"set-up failed: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def install_delta_jars(folder: Path) -> None:
    install_jars(toolchain.declared_jars(), folder)


def install_jars(jars: Sequence[toolchain.Jar], folder: Path) -> None:
    """The declared jars and no others, each checked against its pinned hash."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch_name:
        scratch = Path(scratch_name)
        (scratch / "ivy.xml").write_text(_ivy_module(jars), encoding="utf-8")
        _run_ivy(scratch)
        for jar in jars:
            place_checked(scratch / "jars" / jar.file_name, folder / jar.file_name, jar.sha256)


def install_scip_python(folder: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(SCIP_DRIVER / name, folder / name)
    # --use-system-ca: Node brings its own certificates and would not see the machine's.
    npm = [str(toolchain.node()), "--use-system-ca", str(toolchain.npm_script())]
    # --ignore-scripts: nothing that is downloaded runs during the set-up. The lock file's hashes make a cached
    # package as good as a fresh one, and without network npm's own waits would be minutes of silence.
    options = ["--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline"]
    waits = ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
    _run("npm", [*npm, "ci", *options, *waits], folder)


def place_checked(source: Path, target: Path, sha256: str) -> None:
    """Moves a downloaded file to its place when its content is the pinned one."""
    if not source.is_file():
        raise CodeAnatomyError(f"{target.name} was not downloaded: check the network, then run make setup")
    found = hashlib.sha256(source.read_bytes()).hexdigest()
    if found != sha256:
        raise CodeAnatomyError(
            f"{target.name} has sha256 {found}, pinned is {sha256}: the registry served something else; "
            "check its origin, and run make setup again"
        )
    os.replace(source, target)


def install_part(name: str, inputs: Sequence[Path], install: Callable[[Path], None]) -> None:
    """Fills the tools folder's part `name`, or leaves it when its inputs are those of the last time."""
    target = toolchain.tools_folder() / name
    wanted = hashlib.sha256(b"".join(_content(path) for path in inputs)).hexdigest()
    stamp = target / STAMP
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        print(f"set-up: {name}: as it was", flush=True)
        return
    print(f"set-up: {name}: installing", flush=True)
    with _replacement_of(target) as fresh:
        install(fresh)
        (fresh / STAMP).write_text(wanted, encoding="utf-8")


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise CodeAnatomyError(f"{path} is missing: restore it from git, then run make setup")
    return path.read_bytes()


@contextmanager
def _replacement_of(target: Path) -> Iterator[Path]:
    """An empty folder that takes the target's place when the block ends well: no half-installed tool is ever seen."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.name}.partial-") as scratch_name:
        scratch = Path(scratch_name)
        fresh = scratch / "new"
        fresh.mkdir()
        yield fresh
        if target.exists():
            os.replace(target, scratch / "old")
        os.replace(fresh, target)


def _ivy_module(jars: Sequence[toolchain.Jar]) -> str:
    """Not transitive: of Delta's dependencies Spark brings the rest, in the versions it is built with."""
    dependencies = "".join(
        f"<dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.name)} rev={quoteattr(jar.version)}"
        ' transitive="false" conf="default-&gt;master"/>'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0"><info organisation="codeanatomy" module="toolchain"/>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )


def _run_ivy(scratch: Path) -> None:
    """Ivy's own main class out of Spark's jars; its built-in settings know the public Maven repository."""
    network = java_network_options(scratch / "certificates.jks")
    class_path = str(toolchain.pyspark_jars_folder() / "*")
    java = [str(toolchain.java()), *network, f"-Divy.default.ivy.user.dir={scratch / 'ivy'}", "-cp", class_path]
    ivy = ["-warn", "-cache", "cache", "-ivy", "ivy.xml", "-retrieve", "jars/[artifact]-[revision].[ext]"]
    _run("Ivy", [*java, "org.apache.ivy.Main", *ivy], scratch)


def _run(tool: str, command: Sequence[str], folder: Path) -> None:
    """Quiet when it works; what the tool said when it does not."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-25:])
        raise CodeAnatomyError(
            f"{tool} could not download what the set-up needs:\n{said}\n"
            "check the network, proxy and certificates of this machine, then run make setup again"
        )


if __name__ == "__main__":
    sys.exit(main())
