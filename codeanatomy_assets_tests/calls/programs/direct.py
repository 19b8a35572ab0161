"""Functions called by their own name in the module that defines them."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "direct_chain",
        """
        --- main.py
        def parse(line):
            return [strip(part) for part in line.split(",")]

        def strip(part):
            return part.strip()

        def report(line):
            parts = parse(line)
            return len(parts)

        report("a, b")
        parse("c")
        """,
        calls="""
        main -> main.report, main.parse
        main.report -> main.parse
        main.parse -> main.strip
        """,
    ),
    program(
        "direct_recursion",
        """
        --- main.py
        def factorial(n):
            return 1 if n < 2 else n * factorial(n - 1)

        def is_even(n):
            return n == 0 or is_odd(n - 1)

        def is_odd(n):
            return n != 0 and is_even(n - 1)

        def run():
            factorial(4)
            is_even(3)

        if __name__ == "__main__":
            run()
        """,
        calls="""
        main -> main.run
        main.run -> main.factorial, main.is_even
        main.factorial -> main.factorial
        main.is_even -> main.is_odd
        main.is_odd -> main.is_even
        """,
    ),
    program(
        "direct_everywhere",
        """
        --- main.py
        LIMIT = 3

        def limit():
            return LIMIT

        def below(n, most=limit()):
            return n < most

        def first(values):
            for value in values:
                if below(value):
                    return value
            raise LookupError(describe(values))

        def describe(values):
            return f"none of {count(values)}"

        def count(values):
            return len(values)

        try:
            first([9, 8])
        except LookupError:
            first([1])
        """,
        calls="""
        main -> main.limit, main.first
        main.first -> main.below, main.describe
        main.describe -> main.count
        """,
    ),
    program(
        "direct_comprehension",
        """
        --- main.py
        def square(n):
            return n * n

        def keep(n):
            return n % 2

        def sizes(values):
            return {square(value): [square(each) for each in range(value)] for value in values if keep(value)}

        def total(values):
            return sum(square(value) for value in values)

        ROWS = [square(n) for n in range(3)]
        sizes(ROWS)
        total(ROWS)
        """,
        calls="""
        main -> main.square, main.sizes, main.total
        main.sizes -> main.square, main.keep
        main.total -> main.square
        """,
    ),
    program(
        "direct_async",
        """
        --- main.py
        import asyncio

        async def fetch(key):
            await pause()
            return key

        async def pause():
            return None

        async def fetch_all(keys):
            return [await fetch(key) for key in keys]

        def numbers():
            yield from evens()
            yield 7

        def evens():
            yield 2

        def main():
            asyncio.run(fetch_all(["a", "b"]))
            for number in numbers():
                print(number)

        main()
        """,
        calls="""
        main -> main.main
        main.main -> main.fetch_all, main.numbers
        main.fetch_all -> main.fetch
        main.fetch -> main.pause
        main.numbers -> main.evens
        """,
    ),
    program(
        "direct_shadowed",
        """
        --- main.py
        def render(value):
            return str(value)

        def outer():
            def render(value):
                return repr(value)

            return render(1)

        def same():
            return render(2)

        def sorted(values):
            return values

        def parameter(render):
            return render

        outer()
        same()
        sorted([3])
        parameter(None)
        """,
        calls="""
        main -> main.outer, main.same, main.sorted, main.parameter
        main.outer -> main.outer.render
        main.same -> main.render
        """,
    ),
)
