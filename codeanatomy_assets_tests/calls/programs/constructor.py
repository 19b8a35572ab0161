"""Classes called: their own `__init__`, an inherited one, or none in the repository."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "constructor_own",
        """
        --- main.py
        from constructor_own.cart import Cart, Line

        def fill():
            cart = Cart("ada")
            cart.lines = [Line(name, 1) for name in ("pen", "ink")]
            return cart

        fill()
        CART = Cart(owner="bob")
        --- cart.py
        class Line:
            def __init__(self, name, count):
                self.name, self.count = name, count

        class Cart:
            def __init__(self, owner):
                self.owner = owner
                self.lines = [Line("free", 0)]
        """,
        calls="""
        main -> main.fill, cart.Cart.__init__
        main.fill -> cart.Cart.__init__, cart.Line.__init__
        cart.Cart.__init__ -> cart.Line.__init__
        """,
    ),
    program(
        "constructor_three_files_up",
        """
        --- main.py
        from constructor_three_files_up.leaf import Leaf

        def grow():
            return Leaf(3)

        grow()
        --- leaf.py
        from constructor_three_files_up.twig import Twig

        class Leaf(Twig):
            colour = "green"
        --- twig.py
        from constructor_three_files_up import branch

        class Twig(branch.Branch):
            def bend(self):
                return Twig(self.length - 1)
        --- branch.py
        from .trunk import Trunk as Base

        class Branch(Base): ...
        --- trunk.py
        class Trunk:
            def __init__(self, length):
                self.length = length
        """,
        calls="""
        main -> main.grow
        main.grow -> trunk.Trunk.__init__
        """,
        untraced="twig.Twig.bend -> trunk.Trunk.__init__",
    ),
    program(
        "constructor_none",
        """
        --- main.py
        from . import kinds
        from .kinds import Empty, NotFound

        def look(key):
            if key is None:
                raise NotFound("nothing")
            return Empty(), kinds.Child()

        def quiet():
            try:
                look(None)
            except NotFound:
                return look(1)

        quiet()
        kinds.Options(a=1)
        --- kinds.py
        class NotFound(LookupError):
            pass

        class Empty:
            def size(self):
                return 0

        class Child(Empty): ...

        class Options(dict): ...
        """,
        calls="""
        main -> main.quiet
        main.quiet -> main.look
        """,
        untraced="""
        main -> kinds.Options
        main.look -> kinds.NotFound, kinds.Empty, kinds.Child
        """,
    ),
    program(
        "constructor_generated",
        """
        --- main.py
        from constructor_generated.records import Colour, Pair, Point, Shifted

        def make():
            point = Point(1, 2)
            shifted = Shifted(3, 4)
            return Pair(point, shifted), Colour("red")

        make()
        --- records.py
        from dataclasses import dataclass
        from enum import Enum
        from typing import NamedTuple

        @dataclass
        class Point:
            x: int
            y: int

            def __post_init__(self) -> None:
                self.check()

            def check(self) -> None: ...

        @dataclass(frozen=True)
        class Shifted:
            x: int
            y: int = 0

        class Pair(NamedTuple):
            left: object
            right: object

        class Colour(Enum):
            RED = "red"
        """,
        calls="""
        main -> main.make
        records.Point.__post_init__ -> records.Point.check
        """,
        untraced="main.make -> records.Point, records.Shifted, records.Pair, records.Colour",
        indirect="main.make -> records.Point.__post_init__",
    ),
    program(
        "constructor_mro",
        """
        --- main.py
        class Plain: ...

        class Left:
            def __init__(self):
                self.side = "left"

        class Right:
            def __init__(self):
                self.side = "right"

        class PlainFirst(Plain, Right): ...

        class LeftFirst(Left, Right): ...

        class Own(LeftFirst):
            def __init__(self):
                Left.__init__(self)
                Right.__init__(self)

        class Below(Own, PlainFirst): ...

        def all_of_them():
            return [PlainFirst(), LeftFirst(), Own(), Below()]

        all_of_them()
        Plain()
        """,
        calls="""
        main -> main.all_of_them
        main.all_of_them -> main.Right.__init__, main.Left.__init__, main.Own.__init__
        main.Own.__init__ -> main.Left.__init__, main.Right.__init__
        """,
        untraced="main -> main.Plain",
    ),
    program(
        "constructor_new",
        """
        --- main.py
        from constructor_new.single import Both, Only
        from constructor_new.meta import Registered

        class Entry(Registered):
            def __init__(self, name):
                self.name = name

        def make():
            return Only(), Both(2), Entry("e")

        make()
        --- single.py
        class Only:
            def __new__(cls):
                return super().__new__(cls)

        class Both:
            def __new__(cls, size):
                return object.__new__(cls)

            def __init__(self, size):
                self.size = size
        --- meta.py
        KNOWN = []

        def register(kind):
            KNOWN.append(kind)

        class Registered:
            def __init_subclass__(cls):
                register(cls)
        """,
        calls="""
        main -> main.make
        main.make -> single.Both.__init__, main.Entry.__init__
        meta.Registered.__init_subclass__ -> meta.register
        """,
        untraced="main.make -> single.Only",
        indirect="""
        main -> meta.Registered.__init_subclass__
        main.make -> single.Only.__new__, single.Both.__new__
        """,
    ),
    program(
        "constructor_raised",
        """
        --- main.py
        import constructor_raised.errors as errors
        from constructor_raised.errors import BadValue as Bad

        def check(value):
            if value < 0:
                raise Bad(value)
            if value == 0:
                raise errors.Empty
            raise errors.Worse(value) from Bad(value)

        for each in (-1, 0, 1):
            try:
                check(each)
            except Exception:
                pass
        --- errors.py
        class BadValue(ValueError):
            def __init__(self, value):
                self.value = value

        class Worse(BadValue): ...

        class Empty(Exception):
            def __init__(self):
                self.value = None
        """,
        calls="""
        main -> main.check
        main.check -> errors.BadValue.__init__
        """,
        indirect="main.check -> errors.Empty.__init__",
    ),
)
