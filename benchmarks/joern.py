"""Joern, installed for comparison: its pinned jars out of Maven, and the launcher its command expects beside them."""

from __future__ import annotations

import shlex
from pathlib import Path

from codeanatomy_assets import toolchain
from codeanatomy_assets.toolchain_install import install_jars, install_part

JARS = Path(__file__).with_name("joern_jars.txt")
PART = "joern"
# joern-parse looks for its home by this file, from its jars upwards, and there for the frontend's launcher.
HOME_MARK = ".installation_root"
LAUNCHER = "pysrc2cpg"


def version() -> str:
    return next(jar.version for jar in toolchain.declared_jars(JARS) if jar.name == "joern-cli_3")


def parse_command(root: Path, output: Path) -> list[str]:
    """joern-parse with its default overlays, data flow among them; installs it at the first call."""
    install_part(PART, [JARS, Path(__file__)], _install)
    jars = toolchain.tools_folder() / PART / "jars" / "*"
    java = [str(toolchain.java()), "-cp", str(jars), "io.joern.joerncli.JoernParse"]
    return [*java, str(root), "--language", "pythonsrc", "--output", str(output)]


def _install(folder: Path) -> None:
    (folder / "jars").mkdir()
    install_jars(toolchain.declared_jars(JARS), folder / "jars")
    (folder / HOME_MARK).touch()
    launcher = folder / LAUNCHER
    # Its first argument is the heap, which joern-parse words as `-J-Xmx…`.
    launcher.write_text(
        "#!/bin/sh\n"
        'home=$(dirname "$0")\n'
        "heap=${1#-J}\n"
        "shift\n"
        f'exec {shlex.quote(str(toolchain.java()))} "$heap" -cp "$home/jars/*" io.joern.pysrc2cpg.NewMain "$@"\n',
        encoding="utf-8",
    )
    launcher.chmod(0o755)
