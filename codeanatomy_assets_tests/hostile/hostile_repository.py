"""One repository with everything hostile in it, and what was where before and after it was built."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.hostile.armed_git import arm

COMMAND = Path(sys.prefix) / "bin" / "codeanatomy"
BUILD_SECONDS = 900
DEPTH = 100_000
# Python files that tools, interpreters and our own processes would run if they looked for them here.
TRAPS = (
    "conftest.py",
    "tests/conftest.py",
    "setup.py",
    "noxfile.py",
    "sitecustomize.py",
    "usercustomize.py",
    "random.py",
    "json.py",
    "typing.py",
    "pyspark.py",
    "dagster.py",
    "codeanatomy_assets/__init__.py",
    "__main__.py",
)
NAMES = (
    "-rf.py",
    "--output=canary.py",
    "$(touch canary).py",
    "`touch canary`.py",
    "; touch canary;.py",
    "| touch canary.py",
    "a\nb.py",
    "\x1b[31mred.py",
    "%s%n.py",
    "{path}.py",
    "' OR 1=1; --.py",
    "<img src=x onerror=alert(1)>.py",
    "~.py",
    "...py",
)
# Few names in them: the graph of 100,000 nested calls takes minutes, and is as right as that of ten.
TOO_DEEP = {
    "deep/parentheses.py": "x = " + "(" * DEPTH + "1" + ")" * DEPTH,
    "deep/brackets.py": "x = " + "[" * DEPTH + "]" * DEPTH,
    "deep/unclosed.py": "(" * DEPTH,
    "deep/lambdas.py": "x = " + "lambda: " * DEPTH + "1",
}
LONG_LINE = "longest = [" + "1, " * 1_633_000 + "]\n"
TOO_LONG_LINE = "x = '" + "a" * 50_000_000 + "'\n"
NEVER_NAMED_INSIDE = "only_outside_is_this_defined"

Listing = dict[str, tuple[int, int, int]]


@dataclass
class Hostile:
    """The repository, the places around it, and how a build of it went."""

    folder: Path
    repo: GitRepo
    said: str = ""
    code: int | None = None
    before: dict[str, Listing] = field(default_factory=dict)
    after: dict[str, Listing] = field(default_factory=dict)

    @property
    def canaries(self) -> Path:
        return self.folder / "canaries"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def places(self) -> dict[str, Path]:
        """Where nothing may be written: the repository is the current folder too."""
        return {
            "repository and current folder": self.repo.folder,
            "home": self.folder / "home",
            "outside": self.folder / "outside",
            "canaries": self.canaries,
            "temporary folder": self.folder / "tmp",
        }

    def canary_of(self, path: str) -> Path:
        return self.canaries / path.replace("/", "-")

    def build(self) -> None:
        """Build it with the command, from inside, as a person would who has just cloned it."""
        self.before = {name: listing(place) for name, place in self.places.items()}
        done = subprocess.run(
            [COMMAND, "build", ".", "--state", self.state],
            cwd=self.repo.folder,
            env={**os.environ, "HOME": str(self.folder / "home"), "TMPDIR": str(self.folder / "tmp")},
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
            check=False,
        )
        self.code, self.said = done.returncode, done.stdout + done.stderr
        self.after = {name: listing(place) for name, place in self.places.items()}


def listing(folder: Path) -> Listing:
    """Everything below a folder: mode, size and time of change."""
    found = ((path, path.lstat()) for path in folder.rglob("*"))
    return {str(path): (stat.st_mode, stat.st_size, stat.st_mtime_ns) for path, stat in found}


def create(folder: Path) -> Hostile:
    for name in ("home", "outside/venv", "canaries", "tmp"):
        (folder / name).mkdir(parents=True)
    hostile = Hostile(folder, GitRepo.create(folder / "repo"))
    _write_outside(folder / "outside")
    _write_code(hostile)
    _write_configuration(hostile)
    _write_odd_files(hostile.repo)
    _link(hostile.repo, folder / "outside")
    hostile.repo.commit("hostile")
    _commit_escaping_tree(hostile.repo)
    arm(hostile.repo, hostile.canaries / "git")
    return hostile


def _write_outside(outside: Path) -> None:
    (outside / "secret_package.py").write_text(f"def {NEVER_NAMED_INSIDE}(): ...\n")
    (outside / "secret.py").write_text(f"def {NEVER_NAMED_INSIDE}(): ...\n")


def _write_code(hostile: Hostile) -> None:
    for path in TRAPS:
        code = f"open({str(hostile.canary_of(path))!r}, 'w').close()\n\n\ndef trap(): ...\n"
        hostile.repo.write(path, code)
    hostile.repo.write("evil.pth", f"import os; os.system('touch {hostile.canary_of('evil.pth')}')\n")
    hostile.repo.write("fine.py", "def fine(): ...\n\n\nfine()\n")


def _write_configuration(hostile: Hostile) -> None:
    repo, outside = hostile.repo, hostile.folder / "outside"
    paths = f'"extraPaths": ["{outside}"], "stubPath": "{outside}", "typeshedPath": "{outside}"'
    venv = f'"venvPath": "{outside}", "venv": "venv"'
    repo.write("pyrightconfig.json", f'{{{paths}, {venv}, "plugins": ["./plugin.js"]}}')
    repo.write("plugin.js", f"require('fs').writeFileSync('{hostile.canary_of('plugin.js')}', '')\n")
    repo.write("package.json", '{"main": "plugin.js", "scripts": {"preinstall": "node plugin.js"}}')
    repo.write("pyproject.toml", f'[tool.pyright]\nextraPaths = ["{outside}"]\n[tool.mypy]\nplugins = ["setup.py"]\n')
    repo.write("reaches_out.py", "from secret_package import *\nimport secret\n\n\nsecret.anything()\n")
    repo.write("__builtins__.pyi", "def planted_builtin() -> int: ...\n")
    repo.write("typings/requests/__init__.pyi", "def planted_stub() -> int: ...\n")
    repo.write("uses_planted.py", "import requests\n\nplanted_builtin()\nrequests.planted_stub()\n")
    repo.write(".gitattributes", "*.py filter=evil diff=evil ident text eol=crlf\n")
    canary = hostile.canary_of("submodule")
    repo.write(
        ".gitmodules",
        f'[submodule "a"]\n\tpath = ../a\n\turl = ext::sh -c touch% {canary}\n\tupdate = !touch {canary}\n'
        '[submodule "../../b"]\n\tpath = deps/..\n\turl = --upload-pack=touch\n',
    )


def _write_odd_files(repo: GitRepo) -> None:
    for name in NAMES:
        repo.write(name, "def here(): ...\n")
    for path, text in TOO_DEEP.items():
        repo.write(path, f"{text}\n")
    repo.write("long_line.py", LONG_LINE)
    repo.write("too_long_line.py", TOO_LONG_LINE)
    repo.write("nul.py", b"x = 1\x00\n")


def _link(repo: GitRepo, outside: Path) -> None:
    repo.symlink("linked_file.py", str(outside / "secret.py"))
    repo.symlink("linked_folder", str(outside))
    repo.symlink("climbing.py", "../outside/secret.py")
    repo.symlink("itself.py", "itself.py")


def _commit_escaping_tree(repo: GitRepo) -> None:
    """The same tree with paths that no git would make: through `..`, into `.git`, and a submodule at `..`."""
    blob = repo.blob(b"escaped = 1\n")
    inner = repo.raw_tree(("100644", b"escaped.py", blob))
    present = [
        (mode.lstrip("0"), name, object_id)
        for mode, name, object_id in (_entry(line) for line in repo.run("ls-tree", "-z", "HEAD").split(b"\0") if line)
    ]
    repo.commit_raw_tree(
        ("40000", b"..", inner),
        ("40000", b".git", repo.raw_tree(("40000", b"hooks", repo.raw_tree(("100755", b"post-checkout.py", blob))))),
        ("40000", b"deps", repo.raw_tree(("160000", b"..", "1" * 40), ("160000", b"vendored", "2" * 40))),
        *present,
    )


def _entry(line: bytes) -> tuple[str, bytes, str]:
    about, _, name = line.partition(b"\t")
    mode, _, object_id = about.decode().split()
    return mode, name, object_id
