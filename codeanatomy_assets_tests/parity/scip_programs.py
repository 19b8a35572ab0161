"""Random Python programs, and random edits of them: names from small pools, so that everything touches everything."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from codeanatomy_assets_tests.parity.scip_choices import CHOICES, Choice

CLASSES = ("Ant", "Bee", "Cat", "Dog", "Elk", "Fox")
FUNCTIONS = ("make", "pick", "find", "wrap", "halt", "turn")
VARIABLES = ("one", "two", "tri")
MEMBERS = ("foo", "bar", "baz", "size", "match")
PACKAGES = ("app", "app/core", "lib")
MODULES = ("alpha", "beta", "gamma", "delta", "eps")
EDITS = (
    *("replace", "replace", "replace", "replace", "insert", "insert", "remove", "swap", "imports", "imports"),
    *("comment", "rename", "delete", "add", "move", "turn", "stub", "shadow", "revert"),
    *("choose", "choose", "choose", "choose", "choose", "choose"),
)
FIRST_CHOICES = 4
# Beside those of all programs: a name that is bound twice in a module is no alias and has no one type.
OWN_VARIABLES = ("ace", "bay", "cue", "den")


@dataclass
class Module:
    """A module as its imports and blocks."""

    imports: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)

    def source(self) -> bytes:
        return "".join(f"{each}\n" for each in (*self.imports, *self.blocks)).encode()


class Programs:
    """One history: `modules` is the present, `edit` makes the next."""

    packages: tuple[str, ...] = PACKAGES
    module_names: tuple[str, ...] = MODULES

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.modules: dict[str, Module] = {}
        self.past: list[dict[str, bytes]] = []
        self.done: list[str] = []
        self.most_imports = self.chance.choice((2, 4, 7))
        for package in self.packages:
            for name in ("__init__", *self.module_names):
                self.modules[f"{package}/{name}.py"] = Module()
        for name in ("main.py", "tools.py"):
            self.modules[name] = Module()
        for path, module in self.modules.items():
            self.fill(path, module)
        self.chosen: dict[str, Choice] = {}
        for choice in self.chance.sample(CHOICES, FIRST_CHOICES):
            self.place(choice)

    def fill(self, path: str, module: Module) -> None:
        is_package = path.endswith("__init__.py")
        module.imports = [self.an_import() for _ in range(self.chance.randint(1, self.most_imports))]
        module.blocks = [
            self.block() for _ in range(self.chance.randint(0, 2) if is_package else self.chance.randint(3, 8))
        ]

    def tree(self) -> dict[str, bytes]:
        return {path: module.source() for path, module in self.modules.items()}

    def one(self, *pool: str) -> str:
        return self.chance.choice(pool)

    def module_name(self) -> str:
        return self.name_of(self.chance.choice(sorted(self.modules)))

    def name_of(self, path: str) -> str:
        return path.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")

    def an_import(self) -> str:
        module, name = self.module_name(), self.one(*CLASSES, *FUNCTIONS, *VARIABLES)
        package, _, last = module.rpartition(".")
        forms = [f"from {module} import {name}"] * 4
        forms += [f"from {module} import {self.one(*CLASSES)}, {self.one(*FUNCTIONS)}"] * 3
        forms += [f"from {module} import *"] * 2
        forms += [
            f"import {module}",
            f"import {module} as {last}",
            f"from {module} import {name} as {self.one(*VARIABLES)}",
        ]
        forms += [f"from . import {self.one(*self.module_names)}"]
        forms += [f"from .{self.one(*self.module_names)} import {name}"]
        forms += [f"from {package} import {last}"] if package else []
        forms += [f"try:\n    from {module} import {name}\nexcept ImportError:\n    {name} = None"]
        return self.chance.choice(forms)

    def expression(self, depth: int = 2) -> str:
        leaf = [f"{self.one(*CLASSES)}()", f"{self.one(*FUNCTIONS)}()", self.one(*VARIABLES, *CLASSES)]
        if depth == 0:
            return self.chance.choice(leaf)
        inner, other = self.expression(depth - 1), self.expression(depth - 1)
        member = self.one(*MEMBERS)
        forms = [*leaf, f"{inner}.{member}", f"{inner}.{member}()", f"{inner}.{member}()", f"{inner}.{member}({other})"]
        forms += [
            f"{self.one(*FUNCTIONS)}({inner})",
            f"{self.one(*FUNCTIONS)}({inner}, {other})",
            f"({inner} + {other})",
        ]
        forms += [f"{inner}[0]", f"(-{inner})", f"({inner} < {other})", f"({inner} or {other})", f"{inner}()"]
        forms += [f"[each.{member} for each in {inner}]", f"(lambda given: given.{member})({inner})"]
        forms += [
            f"getattr({inner}, '{member}')",
            f"{self.one(*self.module_names)}.{self.one(*CLASSES)}()",
            f"next(iter({inner}))",
        ]
        return self.chance.choice(forms)

    def block(self) -> str:
        made = self.chance.choices(
            (self.a_class, self.a_function, self.a_variable, self.a_use, self.a_rarity), (5, 4, 2, 4, 1)
        )[0]
        return made()

    def a_class(self) -> str:
        base = self.one(
            "", "", "(object)", *(f"({each})" for each in CLASSES), f"({self.one(*CLASSES)}, {self.one(*CLASSES)})"
        )
        body = [self.member() for _ in range(self.chance.randint(1, 4))]
        name = self.one(*CLASSES)
        special = self.chance.random()
        if special < 0.08:
            return f"import dataclasses\n@dataclasses.dataclass\nclass {name}{base}:\n" + self.fields()
        if special < 0.12:
            return f"import typing\nclass {name}(typing.NamedTuple):\n" + self.fields()
        if special < 0.16:
            return f"import enum\nclass {name}(enum.Enum):\n" + "".join(
                f"    {each} = {self.chance.randint(0, 2)}\n" for each in self.some()
            )
        if special < 0.2:
            return f"import typing\nclass {name}(typing.Protocol):\n" + "".join(body)
        if special < 0.24:
            return f"import typing\nclass {name}(typing.TypedDict, total=False):\n" + self.fields()
        if special < 0.28:
            return f"class {name}(metaclass={self.one(*CLASSES)}):\n" + "".join(body)
        if special < 0.32:
            return f"class {name}(type):\n" + "".join(body)
        if special < 0.35:
            return f"import collections\n{name} = {self.named_tuple(self.one(*CLASSES))}"
        return f"class {name}{base}:\n" + "".join(body)

    def named_tuple(self, name: str) -> str:
        return f"collections.namedtuple('{name}', '{' '.join(self.some())}')"

    def some(self) -> list[str]:
        return sorted(self.chance.sample(MEMBERS, self.chance.randint(1, 3)))

    def fields(self) -> str:
        return "".join(f"    {each}: '{self.annotation()}'\n" for each in self.some())

    def annotation(self) -> str:
        name = self.one(*CLASSES)
        other = self.one(*CLASSES)
        more = (f"{name} | {other}", f"{other} | {name}")
        return self.one(name, name, name, f"list[{name}]", "int", f"{name} | None", f"dict[str, {name}]", *more)

    def member(self) -> str:
        name, result = self.one(*MEMBERS), self.expression(1)
        dunder = self.one(
            "__add__", "__getitem__", "__lt__", "__call__", "__getattr__", "__or__", "__get__", "__radd__"
        )
        forms = [f"    def {name}(self, given=None):\n        return {result}\n"] * 4
        forms += [f"    def {name}(self) -> '{self.annotation()}': ...\n"] * 2
        forms += [f"    {name} = {result}\n", f"    {name}: '{self.annotation()}'\n"]
        forms += [f"    @property\n    def {name}(self):\n        return {result}\n"] * 2
        forms += [f"    def __init__(self, given=None):\n        self.{name} = {result}\n"] * 2
        forms += [f"    def {dunder}(self, other):\n        return {result}\n"] * 2
        forms += [f"    def {dunder}(self, other) -> '{self.annotation()}': ...\n"]
        forms += [
            f"    def __iter__(self):\n        yield {result}\n",
            f"    def __enter__(self):\n        return {result}\n",
        ]
        forms += [
            f"    def __exit__(self, *rest) -> {self.one('bool', 'None')}: ...\n",
            "    __slots__ = ('foo', 'bar')\n",
        ]
        forms += [f"    def {name}(self, given):\n        return given.{self.one(*MEMBERS)}\n"]
        forms += [f"    def {name}(self):\n        return self.{self.one(*MEMBERS)}()\n"] * 2
        forms += [
            f"    @classmethod\n    def {name}(cls):\n        return cls()\n",
            f"    def __neg__(self):\n        return {result}\n",
        ]
        forms += [f"    def {name}(self):\n        raise SystemExit\n", "    __match_args__ = ('foo', 'bar')\n"]
        forms += [f"    class {self.one(*CLASSES)}:\n        {self.one(*MEMBERS)} = {result}\n"]
        return self.chance.choice(forms)

    def a_function(self) -> str:
        name, result, member = self.one(*FUNCTIONS), self.expression(), self.one(*MEMBERS)
        forms = [f"def {name}(given=None, other=None):\n    return {result}"] * 4
        forms += [f"def {name}(given, other=None):\n    return given.{member}"] * 2
        forms += [f"def {name}(given, other=None):\n    return {self.one(*FUNCTIONS)}(given)"] * 2
        forms += [f"def {name}(given=None) -> '{self.annotation()}': ..."] * 2
        forms += [f"def {name}(given: '{self.annotation()}'):\n    return given.{member}"]
        forms += [
            f"def {name}(*given):\n    raise SystemExit",
            f"def {name}(given=None):\n    {self.one(*FUNCTIONS)}()",
        ]
        forms += [f"def {name}(given):\n    def inner(*more):\n        return given({result}, *more)\n    return inner"]
        forms += [
            f"def {name}(given=None):\n    class {self.one(*CLASSES)}({self.one(*CLASSES)}):\n"
            f"        {member} = {result}\n    return {self.one(*CLASSES)}()"
        ]
        forms += [
            f"def {name}(given):\n    {self.an_import()}\n    return given({result})",
            f"def {name}(other: int):\n    one = {result}\n    def inner(given):\n"
            "        return given(one)\n    return inner",
            f"import typing\ndef {name}(*given) -> 'typing.NoReturn':\n    raise SystemExit",
        ]
        forms += [f"@{self.one(*FUNCTIONS)}\ndef {name}(given):\n    return {result}"] * 2
        forms += [f"def {name}(given=None):\n    if given:\n        return {result}\n    return {self.expression(1)}"]
        forms += [
            self.overloads(name),
            f"def {name}(given=None):\n    yield {result}",
            f"async def {name}(given=None):\n    return {result}",
        ]
        forms += [f"import collections\ndef {name}(given=None):\n    return {self.named_tuple('P')}(1, 2)"]
        return self.chance.choice(forms)

    def overloads(self, name: str) -> str:
        first, second = self.one(*CLASSES), self.one(*CLASSES)
        return (
            f"import typing\n@typing.overload\ndef {name}(given: '{first}') -> '{self.annotation()}': ...\n"
            f"@typing.overload\ndef {name}(given: '{second}') -> '{self.annotation()}': ...\ndef {name}(given): ..."
        )

    def a_variable(self) -> str:
        name = self.one(*VARIABLES)
        return self.one(f"{name} = {self.expression()}", f"{name}: '{self.annotation()}' = {self.expression(1)}")

    def a_use(self) -> str:
        value, member, other = self.expression(), self.one(*MEMBERS), self.one(*MEMBERS)
        forms = [f"{value}.{member}"] * 4
        forms += [
            f"with {value} as held:\n    held.{member}\nheld.{other}",
            f"for each in {value}:\n    each.{member}.{other}",
        ]
        forms += [
            f"held = {value}\nif isinstance(held, {self.one(*CLASSES)}):\n    held.{member}\nelse:\n    held.{other}"
        ]
        forms += [f"def local():\n    {self.one(*FUNCTIONS)}()\n    unseen = {value}\n    return unseen.{member}"]
        forms += [
            f"match {value}:\n    case {self.one(*CLASSES)}(left, right):\n"
            f"        left.{member}\n    case rest:\n        rest.{other}"
        ]
        forms += [
            f"typed: '{self.annotation()}' = {value}\ntyped.{member}",
            f"({value} + {self.expression(1)}).{member}",
        ]
        forms += [
            f"def local(held: '{self.annotation()}'):\n    return held.{member}.{other}",
            f"left, right = {value}\nleft.{member}",
        ]
        forms += [
            f"def local():\n    with {value}:\n"
            f"        raise SystemExit\n    after = {self.expression(1)}\n    after.{member}"
        ]
        forms += [
            f"def local(held: {self.one(*CLASSES)}):\n    if held is {self.one(*CLASSES)}.{member}:\n"
            f"        return 1\n    held.{other}\n    return held.{member}"
        ]
        return self.chance.choice(forms)

    def a_rarity(self) -> str:
        names = ", ".join(f"'{each}'" for each in self.chance.sample((*CLASSES, *FUNCTIONS, *self.module_names), 4))
        return self.one(
            f"__all__ = [{names}]",
            f"def __getattr__(name):\n    return {self.expression(1)}",
            f"import functools as f\n{self.one(*VARIABLES)} = f.partial({self.one(*FUNCTIONS)}, {self.one(*CLASSES)})",
            f"{self.one(*CLASSES)} = {self.one(*CLASSES)}",
            f"import typing\n{self.one(*VARIABLES)} = typing.NewType('Made', {self.one(*CLASSES)})",
            f"if {self.expression(1)}:\n    {self.one(*VARIABLES)} = {self.expression(1)}",
        )

    def choose(self) -> str:
        """A definition is written in another of its ways, or one comes with its uses; its name and path."""
        found = [
            (path, place)
            for path, module in sorted(self.modules.items())
            for place, block in enumerate(module.blocks)
            if block in self.chosen
        ]
        if not found or self.chance.random() < 0.3:
            return self.place(self.chance.choice(CHOICES))
        path, place = self.chance.choice(found)
        blocks = self.modules[path].blocks
        choice = self.chosen[blocks[place]]
        blocks[place] = self.one(*(way for way in choice.ways if way != blocks[place]))
        return f"{choice.name} in {path}"

    def place(self, choice: Choice) -> str:
        """The definition in one module, its uses in others, which may see it through a third one."""
        names = self.names()
        choice = choice.filled(names)
        self.chosen |= dict.fromkeys(choice.ways, choice)
        if "kinds.py" not in self.modules:
            self.modules["kinds.py"] = Module([], [self.a_kind(each) for each in CLASSES])
        path, middle, user, far = self.chance.sample(sorted(self.modules.keys() - {"kinds.py"}), 4)
        self.modules[path].blocks.append(self.one(*choice.ways))
        near = path
        if self.chance.random() < 0.4:
            near = middle
            self.modules[middle].imports.append(f"from {self.name_of(path)} import {choice.exports}")
        self.modules[user].blocks.append(self.a_far_use(near, choice.exports, self.one(*choice.uses)))
        self.modules[far].blocks.append(self.a_far_use(user, names["y"], f"{{it}}.{names['foo']}.{names['bar']}"))
        return f"{choice.name} new in {path}"

    def names(self) -> dict[str, str]:
        """One of its pool for each place of a choice."""
        pools = (
            ("A B C D E F", CLASSES),
            ("f g", FUNCTIONS),
            ("x y", (*VARIABLES, *OWN_VARIABLES)),
            ("foo bar", MEMBERS),
        )
        return {
            place: name
            for places, pool in pools
            for place, name in zip(places.split(), self.chance.sample(pool, len(places.split())), strict=True)
        }

    def a_kind(self, name: str) -> str:
        """A class that has every member."""
        base = self.one("", "", f"({self.one(*CLASSES)})")
        members = (
            self.one(f"    {each}: '{self.annotation()}'\n", f"    def {each}(self) -> '{self.annotation()}': ...\n")
            for each in MEMBERS
        )
        return f"class {name}{base}:\n" + "".join(members)

    def a_far_use(self, path: str, name: str, use: str) -> str:
        """The use with its own import of what it uses."""
        module = self.name_of(path)
        if self.chance.random() < 0.3:
            return f"import {module} as near\n" + use.replace("{it}", f"near.{name}")
        return f"from {module} import {name}\n" + use.replace("{it}", name)

    def edit(self) -> str:
        """One random edit; its description."""
        self.past.append(self.tree())
        kind = self.one(*EDITS)
        self.done.append(kind)
        return f"{kind} {self.choose() if kind == 'choose' else self.edit_of(kind)}"

    def edit_of(self, kind: str) -> str:
        """An edit of this kind anywhere; its path."""
        path = self.chance.choice(sorted(self.modules))
        module = self.modules[path]
        place = self.chance.randint(0, max(len(module.blocks) - 1, 0))
        if kind in ("delete", "move", "turn") and len(self.modules) > 12:
            self.file_edit(kind, path)
        elif kind in ("add", "stub", "shadow"):
            self.new_file(kind, path)
        elif kind == "imports":
            self.import_edit(module)
        elif kind == "revert" and len(self.past) > 3:
            source = self.chance.choice(self.past[-4:]).get(path, b"")
            self.modules[path] = Module([], [source.decode().rstrip("\n")])
        elif kind == "insert" or not module.blocks:
            module.blocks.insert(place, self.block())
        elif kind == "remove":
            del module.blocks[place]
        elif kind == "swap":
            self.chance.shuffle(module.blocks)
        elif kind == "comment":
            module.blocks.insert(place, self.one("# Ant make foo", "", "'''Bee'''"))
        elif kind == "rename":
            old, new = self.one(*CLASSES, *FUNCTIONS, *MEMBERS), self.one(*CLASSES, *FUNCTIONS, *MEMBERS)
            module.blocks = [block.replace(old, new) for block in module.blocks]
        else:
            module.blocks[place] = self.block()
        return path

    def import_edit(self, module: Module) -> None:
        if module.imports and self.chance.random() < 0.5:
            module.imports[self.chance.randrange(len(module.imports))] = self.an_import()
        else:
            module.imports.append(self.an_import())

    def file_edit(self, kind: str, path: str) -> None:
        module = self.modules.pop(path)
        if kind == "move":
            self.modules[f"{self.one(*self.packages)}/{self.one(*self.module_names)}.py"] = module
        elif kind == "turn":
            stem = path.rpartition(".")[0]
            is_package = stem.endswith("/__init__")
            self.modules[f"{stem.removesuffix('/__init__')}.py" if is_package else f"{stem}/__init__.py"] = module

    def new_file(self, kind: str, path: str) -> None:
        target = {
            "add": f"{self.one(*self.packages)}/{self.one(*self.module_names)}.py",
            "stub": f"{path.rpartition('.')[0]}.pyi",
            "shadow": self.one("app/app.py", "lib/lib.py", "app/core/lib.py", "alpha.py", "lib/app/__init__.py"),
        }[kind]
        self.modules[target] = Module()
        self.fill(target, self.modules[target])
