"""Ways to write one thing of which other modules see another meaning, each with its users, as texts to be filled.

`{A}` to `{F}` stand for classes of which `kinds` has all; `{f}` and `{g}` for functions, `{x}` and `{y}` for variables,
`{foo}` and `{bar}` for members. In a use, `{it}` is what the definition exports, and `{y}` is exported in turn.
"""

from __future__ import annotations

from typing import NamedTuple

TAKEN = "from kinds import {A}, {B}, {C}\n"
SAME = "def same(given):\n    return given\n"
MADE = "{y} = {it}()\n{y}.{foo}"
CALLED = "{y} = {it}(1)\n{y}.{foo}"
READ = "{y} = {it}.{foo}\n{y}.{bar}"
GIVEN = SAME + "{y} = {it}(same)\n{y}.{foo}"
HELD = "def local(held: {it}):\n    held.{foo}\n    return held.{bar}"
HELD_ITEM = "def local(held: {it}):\n    return held[0].{foo}"
BASE = "class Held({it}): ...\n{y} = Held()\n{y}.{foo}"
LEFT = (
    TAKEN + "kind = {kind}\ndef local(held: {A} | {B} | {C}):\n    if isinstance(held, kind):\n"
    "        return held.{bar}\n    return held.{foo}"
)
ITEM_OF_ITEM = (
    "held = {it}()\nif isinstance(held, list):\n    {y} = held[0]\n"
    "    if not isinstance({y}, list):\n        {y}.{foo}\nelse:\n    held.{foo}"
)


class Choice(NamedTuple):
    """What a definition exports, the ways to write it, and its uses elsewhere."""

    name: str
    exports: str
    ways: tuple[str, ...]
    uses: tuple[str, ...]

    def filled(self, names: dict[str, str]) -> Choice:
        """With these names; the uses keep `{it}`."""
        names = {**names, "it": "{it}"}
        ways, uses = (tuple(each.format(**names) for each in texts) for texts in (self.ways, self.uses))
        return Choice(self.name, self.exports.format(**names), ways, uses)


def ways(text: str, *choices: str) -> tuple[str, ...]:
    """The text with each of the choices in the place of `??`."""
    return tuple(TAKEN + text.replace("??", each) for each in choices)


SELF = "class {D}:\n    def {bar}(??\n        self.{foo} = {A}()\nclass {E}({D}): ..."
MADE_BY = "{x} = {A}()\ndef {f}(): ..."
MADE_INSIDE = "def {f}():\n    global {x}\n    {x} = {A}()"
TWICE = "class {D}:\n    {foo} = {A}()\n{first}class {D}:\n    {foo} = {B}()\n{last}"
CAPTURED = "def {g}() -> {A} | {B}: ...\n{x}: {A} | {B} = ??\ndef {f}(given):\n    return given({x})"
TUPLE = "import collections, typing\ndef {f}(given):\n    P = ??\n    return given(P(1, 2))"
BOUND = (
    "class {D}:\n    def {bar}(self) -> int: ...\nclass {E}({D}):\n    {foo} = {A}()\n"
    "class {F}({D}):\n    {foo} = {B}()\n{x} = ??"
)
RECURSIVE = "type Pair[L, R] = ??: ..."
SHARED = "class {D}:\n    {foo}: {A}\nclass {E}:\n    {foo}: {B}\n"

CHOICES = (
    Choice(
        "self",
        "{D}",
        ways(
            SELF,
            *(f"{each}):\n        print(1)" for each in ("self", "self: '{D}'", "self: '{E}'", "self: '{B}'")),
            *(f"self):\n        assert isinstance(self, {each})" for each in ("{E}", "{B}")),
        ),
        (MADE, READ.replace("{it}", "{it}()"), BASE),
    ),
    Choice(
        "global",
        "{x}",
        ways(
            "??",
            MADE_BY,
            MADE_INSIDE,
            MADE_INSIDE.replace("{A}", "{B}"),
            "{x} = {A}()\n" + MADE_INSIDE.replace("{A}", "{B}"),
            "def {f}():\n    global {x}\n    import kinds as {x}",
            "import kinds as {x}",
        ),
        (READ, "{it}.{foo}", "{it}.{A}"),
    ),
    Choice(
        "twice",
        "{x}",
        ways(
            "??",
            *(
                TWICE.replace("{first}", first).replace("{last}", last)
                for first, last in (("{x} = {D}()\n", ""), ("", "{x} = {D}()"), ("{x} = {D}()\n", "{x} = {D}()"))
            ),
        ),
        (READ, "{it}.{foo}.{bar}"),
    ),
    Choice(
        "captured",
        "{f}",
        ways(
            CAPTURED,
            "{A}()",
            "{B}()",
            "{g}()",
            "{g}()\nassert isinstance({x}, {A})",
            "{g}()\nassert isinstance({x}, {B})",
            "{g}()\nif isinstance({x}, {A}):\n    raise SystemExit",
        ),
        (GIVEN,),
    ),
    Choice(
        "tuple",
        "{f}",
        ways(
            TUPLE,
            "collections.namedtuple('P', '{foo} {bar}')",
            "collections.namedtuple('P', '{bar}')",
            "collections.namedtuple('P', ['{bar}', '{foo}'])",
            "typing.NamedTuple('P', [('{foo}', {A}), ('{bar}', {B})])",
            "typing.NamedTuple('P', [('{foo}', {B}), ('{bar}', {B})])",
        ),
        (GIVEN, SAME + READ.replace("{it}", "{it}(same)"), SAME + "{y}, two = {it}(same)\n{y}.{foo}"),
    ),
    Choice(
        "class",
        "{f}",
        ways("def {f}()??:\n    return {A}", "", " -> type[{A}]", " -> type[{A} | {B}]", " -> type[type[{A}]]"),
        (LEFT.replace("{kind}", "{it}()"), MADE.replace("{it}", "{it}()"), MADE.replace("{it}", "{it}()()")),
    ),
    Choice(
        "class of a variable",
        "{x}",
        ways("def {g}() -> type[{A}]: ...\n{x} = ??", "{A}", "{g}()", "{A} or {g}()", "({A}, {B})"),
        (LEFT.replace("{kind}", "{it}"), MADE, HELD),
    ),
    Choice(
        "alias",
        "{x}",
        ways(
            "from typing import TypeAlias\n??",
            *("{x}: TypeAlias = {A}", "{x}: TypeAlias = '{A}'", "{x}: type[{A}] = {A}", "{x} = {A}", "type {x} = {A}"),
        ),
        (HELD, MADE, LEFT.replace("{kind}", "{it}")),
    ),
    Choice(
        "union",
        "{x}",
        ways("import os\n{x} = ??", "{A} | {B}", "{B} | {A}", "{A} if os.name else {B}", "{A} or {B}"),
        (HELD, MADE, LEFT.replace("{kind}", "{it}")),
    ),
    Choice(
        "callable",
        "{x}",
        ways(
            "from typing import Callable\ndef {f}() -> Callable[[int], {A}]: ...\n{x} = ??",
            *("Callable[[int], {A}]", "Callable[[int], {B}]", "{f}()", "{f}"),
        ),
        (CALLED, "def local(held: {it}):\n    return held(1).{foo}"),
    ),
    Choice(
        "generic",
        "{x}",
        ways("def {f}() -> type[list[{A}]]: ...\n{x} = ??", "list[{A}]", "{f}()", "list[{B}]", "[{A}()]"),
        (HELD_ITEM, "{y} = {it}()\n{y}[0].{foo}"),
    ),
    Choice("bound", "{x}", ways(BOUND, "{E}().{bar}", "{F}().{bar}", "{E}.{bar}"), ("{y} = {it}.__self__\n{y}.{foo}",)),
    Choice(
        "recursive",
        "{f}",
        ways(
            RECURSIVE,
            "list[Pair[R, L]] | L\ndef {f}() -> Pair[{A}, {B}]",
            "list[Pair[R, L]] | L\ndef {f}() -> Pair[{A}, {C}]",
            "list[Pair[L, R]] | L\ndef {f}() -> Pair[{A}, {B}]",
            "list[Pair[R, L]] | R\ndef {f}() -> Pair[{A}, {B}]",
        ),
        (ITEM_OF_ITEM,),
    ),
    Choice(
        "shared",
        "{x}",
        ways("import kinds\n??", "{x} = {A}", "{x} = {B}", "{x} = kinds.{A}", "from kinds import {C} as {x}"),
        (MADE, HELD, BASE, READ.replace("{it}", "{it}()")),
    ),
    Choice(
        "shared here",
        "{x}",
        ways(SHARED + "??", "{x} = {D}", "{x} = {E}", "class {x}({D}): ...", "{x} = type('{x}', ({E},), {{}})"),
        (MADE, HELD, BASE, READ.replace("{it}", "{it}()")),
    ),
)
