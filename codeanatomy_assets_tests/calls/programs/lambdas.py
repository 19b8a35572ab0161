"""Lambdas: what they call, and who calls them."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "lambda_named",
        """
        --- main.py
        def square(n):
            return n * n

        twice = lambda n: square(n) + square(n)
        twice(3)

        def run():
            half = lambda n: n / 2
            return half(twice(1))

        run()
        """,
        calls="""
        main -> main.<lambda1>, main.run
        main.<lambda1> -> main.square
        main.run -> main.run.<lambda1>, main.<lambda1>
        """,
    ),
    program(
        "lambda_key",
        """
        --- main.py
        from lambda_key.scores import score

        def ranked(names):
            return sorted(names, key=lambda name: score(name))

        def longest(names):
            return max(names, key=lambda name: len(name)), min(names, key=lambda name: -score(name))

        ranked(["a", "bb"])
        longest(["a", "bb"])
        --- scores.py
        def score(name):
            return len(name)
        """,
        calls="""
        main -> main.ranked, main.longest
        main.ranked -> main.ranked.<lambda1>
        main.ranked.<lambda1> -> scores.score
        main.longest -> main.longest.<lambda1>, main.longest.<lambda2>
        main.longest.<lambda2> -> scores.score
        """,
    ),
    program(
        "lambda_nested",
        """
        --- main.py
        def add(a, b):
            return a + b

        adder = lambda a: lambda b: add(a, b)
        adder(1)(2)

        pairs = [(lambda x: add(x, 1))(n) for n in range(2)]
        (lambda: add(0, 0))()
        """,
        calls="""
        main -> main.<lambda1>, main.<lambda1>.<lambda1>, main.<lambda2>, main.<lambda3>
        main.<lambda1>.<lambda1> -> main.add
        main.<lambda2> -> main.add
        main.<lambda3> -> main.add
        """,
    ),
    program(
        "lambda_in_class",
        """
        --- main.py
        from lambda_in_class.shapes import area

        class Shape:
            size = lambda self: area(self.side)
            label = property(lambda self: self.name())

            def __init__(self, side):
                self.side = side
                self.scale = lambda by: self.grown(by)

            def name(self):
                return "shape"

            def grown(self, by):
                return self.side * by

        shape = Shape(2)
        shape.size()
        shape.label
        shape.scale(3)
        --- shapes.py
        def area(side):
            return side * side
        """,
        calls="""
        main -> main.Shape.__init__, main.Shape.<lambda1>, main.Shape.<lambda2>, main.Shape.__init__.<lambda1>
        main.Shape.<lambda1> -> shapes.area
        main.Shape.<lambda2> -> main.Shape.name
        main.Shape.__init__.<lambda1> -> main.Shape.grown
        """,
    ),
    program(
        "lambda_default",
        """
        --- main.py
        def plain(value):
            return value

        def show(value, form=lambda value: plain(value)):
            return form(value)

        def later(action=lambda: show(1)):
            return action()

        def listed(values):
            return [*map(lambda value: [plain(each) for each in value], values)]

        show(2)
        later()
        listed([[1], [2]])
        """,
        calls="""
        main -> main.show, main.later, main.listed
        main.show -> main.<lambda1>
        main.<lambda1> -> main.plain
        main.later -> main.<lambda2>
        main.<lambda2> -> main.show
        main.listed -> main.listed.<lambda1>
        main.listed.<lambda1> -> main.plain
        """,
    ),
    program(
        "lambda_imported",
        """
        --- main.py
        from lambda_imported.rules import is_even, rules
        from lambda_imported import rules as module

        is_even(2)
        module.is_odd(3)
        rules["short"]("ab")
        --- rules.py
        is_even = lambda n: n % 2 == 0
        is_odd = lambda n: not is_even(n)
        rules = {"short": lambda text: len(text) < 3, "long": lambda text: len(text) > 9}
        """,
        calls="""
        main -> rules.<lambda1>, rules.<lambda2>, rules.<lambda3>
        rules.<lambda2> -> rules.<lambda1>
        """,
        possible="main -> rules.<lambda4>",
    ),
)
