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

# Files at the top whose text the second commit changes.
EDITED = (*(path for path in TRAPS if "/" not in path), "fine.py", "reaches_out.py", *NAMES)

Listing = dict[str, tuple[int, int, int]]
Entry = tuple[str, bytes, str]


@dataclass
class Hostile:
    """The repository, the places around it, and how its first build and an update went."""

    folder: Path
    repo: GitRepo
    said: str = ""
    codes: list[int] = field(default_factory=list)
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
        """Build its last but one commit and then its last with the command, from inside, as one who has cloned it."""
        self.before = {name: listing(place) for name, place in self.places.items()}
        for commit in self.repo.commits[-2:]:
            done = subprocess.run(
                [COMMAND, "build", ".", "--commit", commit, "--state", self.state],
                cwd=self.repo.folder,
                env={**os.environ, "HOME": str(self.folder / "home"), "TMPDIR": str(self.folder / "tmp")},
                capture_output=True,
                text=True,
                timeout=BUILD_SECONDS,
                check=False,
            )
            self.codes.append(done.returncode)
            self.said += done.stdout + done.stderr
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
    first = _entries(hostile.repo)
    _commit_escaping_tree(hostile.repo, first)
    _commit_escaping_tree(hostile.repo, _edited(hostile, first))
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


def _entries(repo: GitRepo) -> list[Entry]:
    """The top of HEAD's tree."""
    lines = repo.run("ls-tree", "-z", "HEAD").split(b"\0")
    return [_entry(line) for line in lines if line]


def _entry(line: bytes) -> Entry:
    about, _, name = line.partition(b"\t")
    mode, _, object_id = about.decode().split()
    return mode.lstrip("0"), name, object_id


def _edited(hostile: Hostile, entries: list[Entry]) -> list[Entry]:
    """The same traps, edited: an update meets each kind again, and git has filters and links to think of."""
    repo = hostile.repo
    texts = {path: (hostile.repo.folder / path).read_bytes() + b"\n\ndef sprung(): ...\n" for path in EDITED}
    blobs = {path.encode(): repo.blob(text) for path, text in texts.items()}
    blobs[b"climbing.py"] = repo.blob(b"../outside/secret_package.py")
    blobs[b"nul.py"] = repo.blob(b"x = 2\x00\n")
    return [(mode, name, blobs.get(name, object_id)) for mode, name, object_id in entries]


def _commit_escaping_tree(repo: GitRepo, present: list[Entry]) -> None:
    """A tree with paths that no git would make: through `..`, into `.git`, and a submodule at `..`."""
    blob = repo.blob(f"escaped = {len(repo.commits)}\n".encode())
    inner = repo.raw_tree(("100644", b"escaped.py", blob))
    repo.commit_raw_tree(
        ("40000", b"..", inner),
        ("40000", b".git", repo.raw_tree(("40000", b"hooks", repo.raw_tree(("100755", b"post-checkout.py", blob))))),
        ("40000", b"deps", repo.raw_tree(("160000", b"..", "1" * 40), ("160000", b"vendored", "2" * 40))),
        *present,
    )
