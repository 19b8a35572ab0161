"""Repositories of any number of files, made by rule: the same edit in a small and in a large one."""

from __future__ import annotations

MODULES_PER_PACKAGE = 30
# The last module of its package: nothing imports it.
LEAF = "package_0/module_29.py"


def sources(files: int) -> dict[str, str]:
    """Packages of thirty modules: each calls the one before it and a class of the package before."""
    made = {}
    for number in range(files):
        package, place = divmod(number, MODULES_PER_PACKAGE)
        lines = [f"class Thing{place}:\n    def act(self, given=None):\n        return given\n"]
        body = f"    return Thing{place}().act()"
        if place:
            lines.insert(0, f"from package_{package}.module_{place - 1} import run_{place - 1}\n")
            body = f"    run_{place - 1}()\n{body}"
        elif package:
            lines.insert(0, f"from package_{package - 1}.module_3 import Thing3\n")
            body = f"    Thing3().act()\n{body}"
        made[f"package_{package}/module_{place}.py"] = "\n".join([*lines, f"\ndef run_{place}():\n{body}\n"])
    return made
