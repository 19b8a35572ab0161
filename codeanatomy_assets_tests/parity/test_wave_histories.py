"""Changes that reach a file by ways which few think of: after each, the waves have what indexing everything has."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from codeanatomy_assets_tests.parity.scip_histories import Replay

KINDS = "class Ant:\n    foo = 1\n\n\nclass Bee:\n    foo = ''\n"
TAKEN = "from kinds import Ant, Bee\n"
FIRST_OF = "from b import f\n\nf(1).foo\n"
TRIED = "from b import f\n\n\ndef same(x):\n    return x\n\n\nf(same).foo\n"
CHOSEN = (
    "from {module} import halt\n{taken}\n\ndef use(x):\n"
    "    y = Ant()\n    if x:\n        y = Bee()\n        halt(1)\n    return y.foo\n"
)


class Case(NamedTuple):
    """Files before, what a commit makes of some of them (None: deleted), and packages that are installed."""

    files: dict[str, str]
    commit: dict[str, str | None]
    installed: dict[str, str] = {}  # noqa: RUF012


def edited(files: dict[str, str], path: str, old: str, new: str) -> Case:
    assert old in files[path]
    return Case(files, {path: files[path].replace(old, new)})


SAME = "\n\ndef same(x):\n    return x\n\n\n"
TWICE = TAKEN + "class C:\n    item = Ant()\n{a}class C:\n    item = Bee()\n{b}"
LEFT = "\ndef g(v: Ant | Bee):\n    if isinstance(v, K):\n        return\n    v.foo\n"
EXTLIB = "import mine\ndef call(x):\n    return x.method()\ndef made():\n    return mine.thing()\n"
EXTPROTO = (
    "from typing import Protocol, TypeVar, overload\nA = TypeVar('A')\nB = TypeVar('B')\n"
    "class Has(Protocol):\n    def method(self) -> int: ...\n"
    "@overload\ndef choose(x: Has, a: A, b: B) -> A: ...\n@overload\ndef choose(x: object, a: A, b: B) -> B: ...\n"
)

TYPING = "from typing import Any, Callable, NoReturn, TypeVar, overload\nT = TypeVar('T')\n"
OF_ANT = TAKEN + "def f(x: int) -> Ant: ...\n"
GIVEN = TAKEN + "class T:\n    def method(self):\n        return Ant()\n"
TOOLS = {
    "exttools.py": "def call(x):\n    return x.method()\nclass Base:\n    def run(self, x):\n"
    "        return x.method()\n"
}
LEADS = {"extlib.py": "import mine\ndef made():\n    return mine.thing()\n"}
PROTO = {
    "extproto.pyi": "from typing import Protocol, TypeVar, overload\nA = TypeVar('A')\nB = TypeVar('B')\n"
    "class Has(Protocol):\n    def method(self) -> int: ...\n"
    "@overload\ndef choose(x: Has, a: A, b: B) -> A: ...\n@overload\ndef choose(x: object, a: A, b: B) -> B: ...\n"
}
EITHER = "z: list[Bee] | list[Ant | Bee] = {call}(Ant())\nz[0].foo\n"
AFTER = (
    TAKEN + "from lib import C\ndef g():\n    y = Ant()\n    with C():\n        y = Bee()\n"
    "        raise ValueError\n    y.foo\n"
)


def to_bee(files: dict[str, str], path: str = "lib.py", installed: dict[str, str] | None = None) -> Case:
    """The path's Ant becomes a Bee."""
    return edited(files, path, "Ant()", "Bee()")._replace(installed=installed or {})


CASES = {
    "the order of a union": edited(
        {"b.py": f"{TAKEN}def f(x: int) -> Ant | Bee: ...\n", "a.py": FIRST_OF}, "b.py", "Ant | Bee", "Bee | Ant"
    ),
    "the order of returns": Case(
        {"b.py": f"{TAKEN}def f(x: int):\n    if x: return Ant()\n    return Bee()\n", "a.py": FIRST_OF},
        {"b.py": f"{TAKEN}def f(x: int):\n    if x: return Bee()\n    return Ant()\n"},
    ),
    "a declared NoReturn behind a re-export": edited(
        {
            "b.py": "from typing import NoReturn\ndef halt(x: int):\n    raise SystemExit\n",
            "c.py": "from b import halt\n",
            "a.py": CHOSEN.format(module="c", taken=TAKEN),
        },
        "b.py",
        "(x: int):",
        "(x: int) -> NoReturn:",
    ),
    "a soft keyword as a member": edited(
        {
            "d.py": f"{TAKEN}class Dog:\n    type = Ant()\n",
            "b.py": "def f(x):\n    return x.type\n",
            "a.py": "from b import f\nfrom d import Dog\n\nf(Dog()).foo\n",
        },
        "d.py",
        "Ant()",
        "Bee()",
    ),
    "an import inside a body that arguments are tried on": edited(
        {
            "d.py": f"{TAKEN}def g():\n    return Ant()\n",
            "b.py": "def f(x):\n    from d import g\n    return x(g())\n",
            "a.py": TRIED,
        },
        "d.py",
        "Ant()",
        "Bee()",
    ),
    "a local of the function around such a body": edited(
        {
            "b.py": f"{TAKEN}def f(n: int):\n    y = Ant()\n    def inner(x):\n        return x(y)\n    return inner\n",
            "a.py": "from b import f\n\n\ndef same(x):\n    return x\n\n\nf(1)(same).foo\n",
        },
        "b.py",
        "Ant()",
        "Bee()",
    ),
    "a class pattern in such a body": edited(
        {
            "d.py": f"{TAKEN}class Dog:\n    __match_args__ = ('pos',)\n    pos = Ant()\n",
            "b.py": "import d\ndef f(x):\n    match d.Dog():\n        case d.Dog(left):\n            return x(left)\n",
            "a.py": f"import d\n{TRIED}",
        },
        "d.py",
        "Ant()",
        "Bee()",
    ),
    "a comment that says how such a body's file is read": edited(
        {
            "b.py": f"# said\n{TAKEN}def f(x):\n    return x([Ant(), Bee()])\n",
            "a.py": TRIED.replace("f(same)", "f(same)[0]"),
        },
        "b.py",
        "# said",
        "# pyright: strict",
    ),
    "a constant behind two aliases": edited(
        {
            "b.py": "x = 1\nz = 1\n",
            "c.py": "from b import x as y\n",
            "e.py": "from c import y\n",
            "a.py": "from e import y\n\nprint(y)\n",
        },
        "c.py",
        "import x",
        "import z",
    ),
    "the order of an alias's parameters": edited(
        {
            "b.py": "type A[T, S] = dict[T, S]\n",
            "a.py": f"from b import A\n{TAKEN}\ndef g(x: A[Ant, Bee]):\n    for k in x:\n        k.foo\n",
        },
        "b.py",
        "A[T, S]",
        "A[S, T]",
    ),
    "a folder that hides the package which an import was on its way to": Case(
        {"src/pkg/__init__.py": "v = 1\n", "src/pkg/a.py": "", "app.py": "import pkg.missing\npkg.missing\npkg.v\n"},
        {"pkg/x.py": ""},
    ),
    "a module beside the importer, of what is not found in it": Case(
        {"tests/unit/test_a.py": "import helpers.gone\nhelpers.v\n"}, {"tests/helpers.py": "v = 1\n"}
    ),
    "such a module that goes": Case(
        {"tests/unit/test_a.py": "import helpers.gone\nhelpers.v\n", "tests/helpers.py": "v = 1\n"},
        {"tests/helpers.py": None},
    ),
    "such a module whose content changes": Case(
        {
            "tests/unit/test_a.py": f"{TAKEN}import helpers.gone\nhelpers.v.foo\n",
            "tests/helpers.py": f"{TAKEN}v = Ant()\n",
        },
        {"tests/helpers.py": f"{TAKEN}v = Bee()\n"},
    ),
    "a folder beside the module of its name": Case(
        {"pkg.py": "v = 1\n", "app.py": "import pkg.sub\npkg.v\npkg.sub\n"}, {"pkg/other.py": ""}
    ),
    "a module that hides the folder which an import went through": Case(
        {"src/z.py": "", "r/m.py": f"{TAKEN}v = Ant()\n", "app.py": "from r.m import v\nv.foo\n"},
        {"src/r.py": "v = 1\n"},
    ),
    "a package that becomes a plain folder": Case(
        {"scripts/run.py": "import util.gone\nutil.v\n", "scripts/util/__init__.py": "v = 1\n"},
        {"scripts/util/__init__.py": None, "scripts/util/x.py": ""},
    ),
    "self with an annotation": edited(
        {"lib.py": "class C:\n    def setup(self):\n        self.x = 1\n", "user.py": "from lib import C\nC().x\n"},
        "lib.py",
        "(self)",
        "(self: 'C')",
    ),
    "self narrowed": edited(
        {
            "lib.py": "class C:\n    def setup(self):\n        print(1)\n        self.x = 1\nclass D(C): ...\n",
            "user.py": "from lib import C\nC().x\n",
        },
        "lib.py",
        "print(1)",
        "assert isinstance(self, D)",
    ),
    "a name that only a function's global statement makes": Case(
        {"lib.py": "X = 1\ndef init(): ...\n", "user.py": "import lib\nlib.X\n"},
        {"lib.py": "def init():\n    global X\n    X = 1\n"},
    ),
    "a name made inside a comprehension": Case(
        {"lib.py": "def g() -> list[int]: ...\ny = g()\nz = [x for x in y]\n", "user.py": "import lib\nlib.y\n"},
        {"lib.py": "def g() -> list[int]: ...\nz = [x for x in (y := g())]\n"},
    ),
    "a namedtuple made inside a lambda": Case(
        {
            "lib.py": "import collections\nP = collections.namedtuple('P', 'foo bar')\n",
            "user.py": "from lib import P\nP(1, 2).foo\n",
        },
        {"lib.py": "import collections\nP = (lambda: collections.namedtuple('P', 'foo bar'))()\n"},
    ),
    "keys of a TypedDict by name or by string": Case(
        {
            "lib.py": "from typing import TypedDict\nT = TypedDict('T', {'foo': int})\n",
            "user.py": "from lib import T\nT(foo=1)\n",
        },
        {"lib.py": "from typing import TypedDict\nT = TypedDict('T', foo=int)\n"},
    ),
    "an import that only a function's global statement makes": Case(
        {"lib.py": "import json as j\ndef load(): ...\n", "user.py": "import lib\nlib.j\n"},
        {"lib.py": "def load():\n    global j\n    import json as j\n"},
    ),
    "which of two classes of one name": Case(
        {"lib.py": TWICE.format(a="x = C()\n", b=""), "user.py": "from lib import x\nx.item.foo\n"},
        {"lib.py": TWICE.format(a="", b="x = C()\n")},
    ),
    "a module variable as it was assigned before an open body": edited(
        {
            "lib.py": f"{TAKEN}y: Ant | Bee = Ant()\ndef f(x):\n    return x(y)\n",
            "user.py": f"from lib import f{SAME}f(same).foo\n",
        },
        "lib.py",
        "= Ant()",
        "= Bee()",
    ),
    "a module variable narrowed before an open body": edited(
        {
            "lib.py": f"{TAKEN}def g() -> Ant | Bee: ...\ny: Ant | Bee = g()\nassert isinstance(y, Ant)\n"
            "def f(x):\n    return x(y)\n",
            "user.py": f"from lib import f{SAME}f(same).foo\n",
        },
        "lib.py",
        "(y, Ant)",
        "(y, Bee)",
    ),
    "a namedtuple made in an open body": edited(
        {
            "lib.py": "import collections\ndef f(x):\n"
            "    P = collections.namedtuple('P', 'foo bar')\n    return x(P(1, 2))\n",
            "mid.py": f"from lib import f{SAME}v = f(same)\n",
            "user.py": "from mid import v\nv.foo\n",
        },
        "lib.py",
        "'foo bar'",
        "'bar'",
    ),
    "a class or its subclasses, behind a re-export": edited(
        {
            "lib.py": f"{TAKEN}def f():\n    return Ant\n",
            "mid.py": "from lib import f\n",
            "user.py": f"from mid import f\n{TAKEN}K = f(){LEFT}",
        },
        "lib.py",
        "def f():",
        "def f() -> type[Ant]:",
    ),
    "a class or its subclasses, of a variable": edited(
        {"lib.py": f"{TAKEN}def get() -> type[Ant]: ...\nK = Ant\n", "user.py": f"from lib import K\n{TAKEN}{LEFT}"},
        "lib.py",
        "K = Ant",
        "K = get()",
    ),
    "a union as a form": edited(
        {"lib.py": f"{TAKEN}import os\nX = Ant | Bee\n", "user.py": "from lib import X\nX().foo\n"},
        "lib.py",
        "Ant | Bee",
        "Ant if os.name else Bee",
    ),
    "the class of a class": edited(
        {"lib.py": f"{TAKEN}def f() -> type[Ant]: ...\n", "user.py": "from lib import f\nf()()().foo\n"},
        "lib.py",
        "type[Ant]",
        "type[type[Ant]]",
    ),
    "the arguments of a recursive alias": edited(
        {
            "lib.py": f"{TAKEN}class Cat:\n    foo = 2\ntype Pair[A, B] = list[Pair[B, A]] | A\n"
            "def f() -> Pair[Ant, Bee]: ...\n",
            "user.py": "from lib import f\nx = f()\nif isinstance(x, list):\n    y = x[0]\n"
            "    if not isinstance(y, list):\n        y.foo\n",
        },
        "lib.py",
        "Pair[Ant, Bee]:",
        "Pair[Ant, Cat]:",
    ),
    "an explicit alias or a variable": edited(
        {
            "lib.py": f"{TAKEN}from typing import TypeAlias\nX: TypeAlias = Ant\n",
            "user.py": "from lib import X\ndef g(x: X):\n    x.foo\n",
        },
        "lib.py",
        "X: TypeAlias",
        "X: type[Ant]",
    ),
    "what a method is bound to": edited(
        {
            "k.py": f"{TAKEN}class P:\n    def m(self) -> int: ...\n"
            "class Q(P):\n    bar = Ant()\nclass R(P):\n    bar = Bee()\n",
            "lib.py": "from k import Q, R\nx = Q().m\n",
            "user.py": "from lib import x\nx.__self__.bar\n",
        },
        "lib.py",
        "Q().m",
        "R().m",
    ),
    "a callable as a form": edited(
        {
            "lib.py": f"{TAKEN}from typing import Callable\ndef get() -> Callable[[int], Ant]: ...\n"
            "X = Callable[[int], Ant]\n",
            "user.py": "from lib import X\nX(1).foo\n",
        },
        "lib.py",
        "X = Callable[[int], Ant]",
        "X = get()",
    ),
    "an alias of a generic class or a value": edited(
        {
            "lib.py": f"{TAKEN}def k() -> type[list[Ant]]: ...\nX = list[Ant]\n",
            "user.py": "from lib import X\ndef g(x: X):\n    x[0].foo\n",
        },
        "lib.py",
        "X = list[Ant]",
        "X = k()",
    ),
    "a module as a standard protocol": edited(
        {
            "lib.py": "def write(s): ...\n",
            "choose.py": f"{TAKEN}from typing import overload\nfrom _typeshed import SupportsWrite\n@overload\n"
            "def choose(x: SupportsWrite[str]) -> Ant: ...\n@overload\ndef choose(x: object) -> Bee: ...\n"
            "def choose(x): ...\n",
            "user.py": "import lib\nfrom choose import choose\nchoose(lib).foo\n",
        },
        "lib.py",
        "def write",
        "def wrote",
    ),
    "a bundled stub imports a module of the repository": edited(
        {
            "requests/__init__.py": f"{TAKEN}class Response:\n    z = Ant()\nclass Session: ...\n",
            "user.py": "from slumber import Resource\ndef g(r: Resource):\n    r.get().z.foo\n",
        },
        "requests/__init__.py",
        "z = Ant()",
        "z = Bee()",
    ),
    "a module of the repository comes that a bundled stub imports": Case(
        {"user.py": "from slumber import Resource\ndef g(r: Resource):\n    r.get().status_code\n"},
        {"requests/__init__.py": "class Response: ...\nclass Session: ...\n"},
    ),
    "an installed package imports a module of the repository": edited(
        {"mine.py": f"{TAKEN}def thing():\n    return Ant()\n", "user.py": "from extlib import made\nmade().foo\n"},
        "mine.py",
        "Ant()",
        "Bee()",
    )._replace(installed={"extlib.py": EXTLIB}),
    "an installed open body asks for a name": edited(
        {
            "lib.py": f"{TAKEN}class T:\n    def method(self):\n        return Ant()\n",
            "user.py": "from extlib import call\nfrom lib import T\ncall(T()).foo\n",
        },
        "lib.py",
        "Ant()",
        "Bee()",
    )._replace(installed={"extlib.py": EXTLIB}),
    "an installed protocol asks for a name": edited(
        {
            "lib.py": f"{TAKEN}class T:\n    def method(self) -> int: ...\n",
            "user.py": f"from extproto import choose\nfrom lib import T\n{TAKEN}choose(T(), Ant(), Bee()).foo\n",
        },
        "lib.py",
        "-> int",
        "-> str",
    )._replace(installed={"extproto.pyi": EXTPROTO}),
    "an unrelated commit beside a TypedDict with a dotted key": to_bee(
        {
            "keys.py": "from typing import TypedDict\nT = TypedDict('T', {'user.name': int})\n",
            "lib.py": f"{TAKEN}v = Ant()\n",
            "user.py": "from lib import v\nv.foo\n",
        }
    ),
    "a dotted key itself": edited(
        {
            "lib.py": f"{TAKEN}from typing import TypedDict\nT = TypedDict('T', {{'user.name': Ant}})\n",
            "user.py": "from lib import T\ndef g(t: T):\n    t['user.name'].foo\n",
        },
        "lib.py",
        "Ant})",
        "Bee})",
    ),
    "a dotted member of an Enum": to_bee(
        {
            "lib.py": f"{TAKEN}from enum import Enum\nE = Enum('E', 'a.b c')\nv = Ant()\n",
            "user.py": "from lib import E, v\nE.c\nv.foo\n",
        }
    ),
    "an installed open body, re-exported": to_bee(
        {
            "lib.py": GIVEN,
            "compat.py": "from exttools import call\n",
            "user.py": "from compat import call\nfrom lib import T\ncall(T()).foo\n",
        },
        installed=TOOLS,
    ),
    "an installed open body, inherited": to_bee(
        {
            "lib.py": GIVEN,
            "compat.py": "from exttools import Base\nclass M(Base): ...\n",
            "user.py": "from compat import M\nfrom lib import T\nM().run(T()).foo\n",
        },
        installed=TOOLS,
    ),
    "an installed module, re-exported": to_bee(
        {
            "lib.py": GIVEN,
            "compat.py": "import exttools\n",
            "user.py": "import compat\nfrom lib import T\ncompat.exttools.call(T()).foo\n",
        },
        installed=TOOLS,
    ),
    "an installed protocol, re-exported": edited(
        {
            "lib.py": f"{TAKEN}class T:\n    def method(self) -> int: ...\n",
            "compat.py": "from extproto import choose\n",
            "user.py": f"{TAKEN}from compat import choose\nfrom lib import T\nchoose(T(), Ant(), Bee()).foo\n",
        },
        "lib.py",
        "-> int",
        "-> str",
    )._replace(installed=PROTO),
    "an installed package that leads back, re-exported": to_bee(
        {
            "mine.py": f"{TAKEN}def thing():\n    return Ant()\n",
            "compat.py": "from extlib import made\n",
            "user.py": "from compat import made\nmade().foo\n",
        },
        "mine.py",
        LEADS,
    ),
    "a bundled stub that leads back, re-exported": to_bee(
        {
            "requests/__init__.py": f"{TAKEN}class Response:\n    z = Ant()\nclass Session: ...\n",
            "compat.py": "from slumber import Resource\n",
            "user.py": "from compat import Resource\ndef g(r: Resource):\n    r.get().z.foo\n",
        },
        "requests/__init__.py",
    ),
    "a typed installed package asks the repository for a name": Case(
        {"mine.py": "from kinds import Ant as Thing\n", "user.py": "from extlib import made\nmade().foo\n"},
        {"mine.py": "from kinds import Bee as Thing\n"},
        {"extlib/__init__.py": "from mine import Thing\ndef made() -> Thing: ...\n", "extlib/py.typed": ""},
    ),
    "the wrapper of a decorator": edited(
        {
            "lib.py": f"{TAKEN}{TYPING}def deco(fn: Callable[..., Any]):\n    def wrapper(*args, **kwargs):\n"
            "        return Bee()\n    return wrapper\n",
            "user.py": f"{TAKEN}from lib import deco\n@deco\ndef make(x: int) -> Ant: ...\nmake(1).foo\n",
        },
        "lib.py",
        "**kwargs)",
        "**kwargs) -> Bee",
    ),
    "the wrapper in a decorator's factory": edited(
        {
            "lib.py": f"{TAKEN}{TYPING}def retry(times: int):\n    def deco(fn: Callable[..., Any]):\n"
            "        def wrapper(*args, **kwargs):\n"
            "            return Bee()\n        return wrapper\n    return deco\n",
            "user.py": f"{TAKEN}from lib import retry\n@retry(3)\ndef make(x: int) -> Ant: ...\nmake(1).foo\n",
        },
        "lib.py",
        "**kwargs)",
        "**kwargs) -> Bee",
    ),
    "a generic function behind a re-export": edited(
        {
            "b.py": f"{TYPING}def f(x: T) :\n    return [x]\n",
            "c.py": "from b import f\n",
            "user.py": f"{TAKEN}from c import f\n{EITHER.format(call='f')}",
        },
        "b.py",
        "(x: T) ",
        "(x: T) -> list[T]",
    ),
    "a bound generic method": edited(
        {
            "b.py": f"{TYPING}class R:\n    def f(self, x: T) :\n        return [x]\n",
            "c.py": "from b import R\npick = R().f\n",
            "user.py": f"{TAKEN}from c import pick\n{EITHER.format(call='pick')}",
        },
        "b.py",
        "x: T) ",
        "x: T) -> list[T]",
    ),
    "a coroutine that never returns, behind a re-export": edited(
        {
            "b.py": f"{TYPING}async def halt(x: int) :\n    raise SystemExit\n",
            "c.py": "from b import halt\n",
            "user.py": f"{TAKEN}from c import halt\nasync def h(c):\n    y = Ant()\n    if c:\n"
            "        y = Bee()\n        await halt(1)\n"
            "    return y.foo\n",
        },
        "b.py",
        "(x: int) ",
        "(x: int) -> NoReturn",
    ),
    "an __exit__ from elsewhere": edited(
        {
            "h.py": "def leave(self, *a: object) :\n    return len(a) == 1\n",
            "lib.py": "from h import leave\nclass C:\n    def __enter__(self): ...\n    __exit__ = leave\n",
            "user.py": AFTER,
        },
        "h.py",
        "object) ",
        "object) -> bool",
    ),
    "the order of a protocol's members": edited(
        {
            "lib.py": "from typing import Protocol, TypeVar\nT = TypeVar('T', covariant=True)\n"
            "class Source(Protocol[T]):\n    def first(self) -> T: ...\n    def last(self) -> T: ...\n",
            "c.py": f"{TAKEN}class C:\n    def first(self): return Ant()\n    def last(self): return Bee()\n",
            "mid.py": "from lib import Source, T\ndef f(x: Source[T]) -> T: ...\n",
            "user.py": "from mid import f\nfrom c import C\nf(C()).foo\n",
        },
        "lib.py",
        "first(self) -> T: ...\n    def last",
        "last(self) -> T: ...\n    def first",
    ),
    "a part of the package is installed, and leads back": to_bee(
        {
            "mine/__init__.py": "",
            "mine/a.py": f"{TAKEN}def thing():\n    return Ant()\n",
            "user.py": "from mine.ext import made\nmade().foo\n",
        },
        "mine/a.py",
        {"mine/__init__.py": "", "mine/ext.py": "from mine.a import thing\ndef made():\n    return thing()\n"},
    ),
    "a part of the package is installed, with an open body": to_bee(
        {
            "mine/__init__.py": "",
            "lib.py": GIVEN,
            "user.py": "from mine.ext import call\nfrom lib import T\ncall(T()).foo\n",
        },
        "lib.py",
        {"mine/__init__.py": "", "mine/ext.py": "def call(x):\n    return x.method()\n"},
    ),
    "a decomposed letter": edited(
        {"lib.py": f"{TAKEN}def fe\u0301(x: int) -> Ant: ...\n", "user.py": "import lib\nlib.fe\u0301(1).foo\n"},
        "lib.py",
        "-> Ant",
        "-> Bee",
    ),
    "a compatible letter": edited(
        {"lib.py": f"{TAKEN}def file(x: int) -> Ant: ...\n", "user.py": "import lib\nlib.\ufb01le(1).foo\n"},
        "lib.py",
        "-> Ant",
        "-> Bee",
    ),
    "a module's name": edited(
        {"lib\u00e9.py": OF_ANT, "user.py": "import libe\u0301\nlibe\u0301.f(1).foo\n"},
        "lib\u00e9.py",
        "-> Ant",
        "-> Bee",
    ),
    "a submodule's name": edited(
        {"p/__init__.py": "", "p/\u00e9.py": OF_ANT, "user.py": "from p import e\u0301\ne\u0301.f(1).foo\n"},
        "p/\u00e9.py",
        "-> Ant",
        "-> Bee",
    ),
    "in an open body": to_bee(
        {
            "lib.py": f"{TAKEN}class K:\n    \u00e9 = Ant()\n",
            "o.py": "def f(x):\n    return x.e\u0301\n",
            "user.py": "from o import f\nfrom lib import K\nf(K()).foo\n",
        }
    ),
    "a letter that is none for a regular expression, in an open body": to_bee(
        {
            "lib.py": f"{TAKEN}class K:\n    l\u00b7l = Ant()\n",
            "o.py": "def f(x):\n    return x.l\u00b7l\n",
            "user.py": "from o import f\nfrom lib import K\nf(K()).foo\n",
        }
    ),
    "a class by type() in an open body": edited(
        {
            "lib.py": f"{TAKEN}def f(x):\n    K = type('K', (Ant,), {{}})\n    return x(K())\n",
            "mid.py": f"from lib import f{SAME}v = f(same)\n",
            "user.py": "from mid import v\nv.foo\n",
        },
        "lib.py",
        "(Ant,)",
        "(Bee,)",
    ),
    "the parameters' order of a recursive alias": edited(
        {
            "lib.py": f"{TAKEN}type P[A, B] = list[P[A, B]] | A\ndef f() -> P[Ant, Bee]: ...\n",
            "user.py": "from lib import f\nx = f()\nif isinstance(x, list):\n    y = x[0]\n"
            "    if not isinstance(y, list):\n        y.foo\n",
        },
        "lib.py",
        "P[A, B] = list[P[A, B]] | A\ndef f() -> P[Ant, Bee]",
        "P[B, A] = list[P[A, B]] | A\ndef f() -> P[Bee, Ant]",
    ),
    "type or typing.Type": edited(
        {"lib.py": "from typing import Type\nX = type\n", "user.py": f"{TAKEN}from lib import X\nX(Ant()).foo\n"},
        "lib.py",
        "X = type",
        "X = Type",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_followed(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    before = {path: text.encode() for path, text in {"kinds.py": KINDS, **case.files}.items()}
    site_packages = tmp_path / "site-packages" if case.installed else None
    for path, text in case.installed.items():
        place = tmp_path / "site-packages" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    replay = Replay(tmp_path / "tree", before, site_packages=site_packages)
    try:
        after = {**before, **{path: text.encode() for path, text in case.commit.items() if text is not None}}
        for path in (path for path, text in case.commit.items() if text is None):
            del after[path]
        step = replay.step(after)
        assert step.missed == []
        assert step.moved - case.commit.keys(), "it reaches another file"
    finally:
        replay.close()
