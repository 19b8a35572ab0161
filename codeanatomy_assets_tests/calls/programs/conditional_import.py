"""Imports under a condition: a fallback, a version, a type checker, or a function's body."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "conditional_fallback",
        """
        --- main.py
        try:
            from conditional_fallback.fast import checksum
        except ImportError:
            from conditional_fallback.slow import checksum

        def run(data):
            return checksum(data)

        run(b"a")
        --- fast.py
        import a_module_that_no_one_has

        def checksum(data):
            return a_module_that_no_one_has.crc(data)
        --- slow.py
        def checksum(data):
            return add(data)

        def add(data):
            return sum(data)
        """,
        calls="""
        main -> main.run
        main.run -> slow.checksum
        slow.checksum -> slow.add
        """,
        possible="main.run -> fast.checksum",
    ),
    program(
        "conditional_version",
        """
        --- main.py
        import sys

        if sys.version_info >= (3, 8):
            from .modern import load
        else:
            from .legacy import load

        if sys.platform == "a platform of no one":
            from .legacy import store
        else:
            from .modern import store

        load("a")
        store("b")
        --- modern.py
        def load(key):
            return key

        def store(key):
            return load(key)
        --- legacy.py
        def load(key):
            return key

        def store(key):
            return key
        """,
        calls="""
        main -> modern.load, modern.store
        modern.store -> modern.load
        """,
        possible="main -> legacy.load, legacy.store",
    ),
    program(
        "conditional_in_function",
        """
        --- main.py
        def export(kind):
            if kind == "json":
                from conditional_in_function.formats import json_format as chosen
            else:
                from conditional_in_function.formats import text_format as chosen
            return chosen.dump()

        def direct():
            from conditional_in_function.formats.text_format import dump

            return dump()

        def lazy():
            import conditional_in_function.formats.json_format

            return conditional_in_function.formats.json_format.dump()

        export("json")
        export("text")
        direct()
        lazy()
        --- formats/json_format.py
        def dump():
            return "{}"
        --- formats/text_format.py
        def dump():
            return ""
        """,
        calls="""
        main -> main.export, main.direct, main.lazy
        main.export -> formats.json_format.dump, formats.text_format.dump
        main.direct -> formats.text_format.dump
        main.lazy -> formats.json_format.dump
        """,
    ),
    program(
        "conditional_type_checking",
        """
        --- main.py
        from __future__ import annotations

        from typing import TYPE_CHECKING

        from conditional_type_checking.orders import new_order

        if TYPE_CHECKING:
            from conditional_type_checking.orders import Order

        def ship(order: Order) -> str:
            order.check()
            return order.customer().name()

        ship(new_order())
        --- orders.py
        from __future__ import annotations

        import typing

        if typing.TYPE_CHECKING:
            from .people import Customer

        class Order:
            def check(self) -> None: ...

            def customer(self) -> Customer:
                from . import people

                return people.Customer()

        def new_order() -> Order:
            return Order()
        --- people.py
        class Customer:
            def name(self) -> str:
                return "ada"
        """,
        calls="""
        main -> main.ship, orders.new_order
        main.ship -> orders.Order.check, orders.Order.customer, people.Customer.name
        """,
        untraced="""
        orders.new_order -> orders.Order
        orders.Order.customer -> people.Customer
        """,
    ),
    program(
        "conditional_own_fallback",
        """
        --- main.py
        from conditional_own_fallback.compat import cached, parse

        @cached
        def load(text):
            return parse(text)

        load("1")
        --- compat.py
        try:
            from a_module_that_no_one_has import cached
        except ImportError:
            def cached(function):
                return function

        try:
            from .native import parse
        except ImportError:
            parse = None

        if parse is None:
            def parse(text):
                return int(text)
        --- native.py
        def parse(text):
            return float(text)
        """,
        calls="""
        main -> compat.cached, main.load
        main.load -> native.parse
        """,
        possible="main.load -> compat.parse",
    ),
    program(
        "conditional_circular",
        """
        --- main.py
        from conditional_circular.left import Left

        Left().meet()
        --- left.py
        class Left:
            def meet(self):
                from conditional_circular.right import Right

                return Right().greet(self)

            def name(self):
                return "left"
        --- right.py
        from conditional_circular import left

        class Right:
            def greet(self, other: "left.Left"):
                if isinstance(other, left.Left):
                    return other.name()
                return left.Left().name()
        """,
        calls="""
        main -> left.Left.meet
        left.Left.meet -> right.Right.greet
        right.Right.greet -> left.Left.name
        """,
        untraced="""
        main -> left.Left
        left.Left.meet -> right.Right
        right.Right.greet -> left.Left
        """,
    ),
)
