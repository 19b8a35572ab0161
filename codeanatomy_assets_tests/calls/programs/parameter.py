"""Calls through a parameter: of each function that some caller hands over, methods and classes among them."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "parameter_function",
        """
        --- main.py
        from parameter_function.running import apply

        def double(n):
            return n * 2

        def negate(n):
            return -n

        apply(double, 3)
        apply(value=4, function=negate)
        --- running.py
        def apply(function, value):
            return function(value)
        """,
        calls="""
        main -> running.apply
        running.apply -> main.double, main.negate
        """,
    ),
    program(
        "parameter_passed_on",
        """
        --- main.py
        from .pipeline import run

        def log(text):
            return text

        def main():
            run([1, 2], on_done=log)

        main()
        --- pipeline.py
        def silent(text):
            return None

        def run(items, on_done=silent):
            for item in items:
                step(item, on_done)

        def step(item, callback):
            if callback:
                callback(str(item))

        run([3])
        """,
        calls="""
        main -> main.main
        main.main -> pipeline.run
        pipeline -> pipeline.run
        pipeline.run -> pipeline.step
        pipeline.step -> main.log, pipeline.silent
        """,
    ),
    program(
        "parameter_method",
        """
        --- main.py
        from parameter_method.bus import Bus

        class Screen:
            def __init__(self, bus: Bus) -> None:
                bus.each(self.show)

            def show(self, text: str) -> None:
                self.last = text

            @staticmethod
            def beep(text: str) -> None: ...

        bus = Bus()
        Screen(bus)
        bus.each(Screen.beep)
        --- bus.py
        class Bus:
            def each(self, listener):
                listener("ready")
        """,
        calls="""
        main -> main.Screen.__init__, bus.Bus.each
        main.Screen.__init__ -> bus.Bus.each
        bus.Bus.each -> main.Screen.show, main.Screen.beep
        """,
        untraced="main -> bus.Bus",
    ),
    program(
        "parameter_class",
        """
        --- main.py
        from typing import Callable, Type

        from parameter_class.kinds import Circle, Shape

        def make(kind: Type[Shape]) -> Shape:
            return kind(2)

        def measured(factory: Callable[[int], Shape]) -> int:
            return factory(3).area()

        make(Circle).area()
        measured(Circle)
        --- kinds.py
        class Shape:
            def __init__(self, size: int) -> None:
                self.size = size

            def area(self) -> int:
                return 0

        class Circle(Shape):
            def __init__(self, size: int) -> None:
                self.size = size * 2

            def area(self) -> int:
                return 3 * self.size
        """,
        calls="""
        main -> main.make, main.measured, kinds.Circle.area
        main.make -> kinds.Circle.__init__
        main.measured -> kinds.Circle.__init__, kinds.Circle.area
        """,
        possible="""
        main -> kinds.Shape.area
        main.make -> kinds.Shape.__init__
        main.measured -> kinds.Shape.area
        """,
    ),
    program(
        "parameter_kept",
        """
        --- main.py
        from parameter_kept.button import Button

        def greet():
            return "hello"

        Button(greet).click()
        --- button.py
        class Button:
            def __init__(self, on_click):
                self.on_click = on_click

            def click(self):
                return self.on_click()
        """,
        calls="""
        main -> button.Button.__init__, button.Button.click
        button.Button.click -> main.greet
        """,
    ),
    program(
        "parameter_object",
        """
        --- main.py
        from parameter_object.printing import Printer, printed

        class Upper(Printer):
            def text(self, value: str) -> str:
                return value.upper()

        class Quiet:
            def show(self, value: str) -> str:
                return ""

        printed(Upper(), "a")
        printed(Printer(), "b")

        def untyped(thing):
            return thing.show("c")

        untyped(Quiet())
        --- printing.py
        class Printer:
            def show(self, value: str) -> str:
                return self.text(value)

            def text(self, value: str) -> str:
                return value

        def printed(printer: Printer, value: str) -> str:
            return printer.show(value)
        """,
        calls="""
        main -> printing.printed, main.untyped
        main.untyped -> main.Quiet.show
        printing.printed -> printing.Printer.show
        printing.Printer.show -> printing.Printer.text
        """,
        untraced="main -> main.Upper, printing.Printer, main.Quiet",
        indirect="printing.Printer.show -> main.Upper.text",
    ),
    program(
        "parameter_many",
        """
        --- main.py
        def first(n):
            return n + 1

        def second(n):
            return n + 2

        def third(n):
            return n + 3

        def pipe(value, *steps, **named):
            for step in steps:
                value = step(value)
            return named["last"](value)

        pipe(1, first, second, last=third)
        """,
        calls="""
        main -> main.pipe
        main.pipe -> main.first, main.second, main.third
        """,
    ),
)
