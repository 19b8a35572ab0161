"""Names that `from module import *` brought."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "star_plain",
        """
        --- main.py
        from star_plain.shapes import *

        def run():
            return area(2), Square(3).grow()

        run()
        --- shapes.py
        def area(side):
            return _power(side)

        def _power(side):
            return side ** 2

        class Square:
            def __init__(self, side):
                self.side = side

            def grow(self):
                return area(self.side + 1)
        """,
        calls="""
        main -> main.run
        main.run -> shapes.area, shapes.Square.__init__, shapes.Square.grow
        shapes.area -> shapes._power
        shapes.Square.grow -> shapes.area
        """,
    ),
    program(
        "star_all",
        """
        --- main.py
        from .public import *

        def hidden():
            return "own"

        shown()
        hidden()
        _special()
        --- public.py
        __all__ = ["shown", "_special"]

        def shown():
            return hidden()

        def hidden():
            return "public"

        def _special():
            return 1
        """,
        calls="""
        main -> public.shown, main.hidden, public._special
        public.shown -> public.hidden
        """,
    ),
    program(
        "star_package",
        """
        --- main.py
        from star_package import api

        api.start()
        api.Worker().work()
        --- api/__init__.py
        from .control import *
        from .workers import *
        --- api/control.py
        __all__ = ("start",)

        from .workers import Worker

        def start():
            return Worker().work()
        --- api/workers.py
        class Worker:
            def work(self):
                return 1
        """,
        calls="""
        main -> api.control.start, api.workers.Worker.work
        api.control.start -> api.workers.Worker.work
        """,
        untraced="""
        main -> api.workers.Worker
        api.control.start -> api.workers.Worker
        """,
    ),
    program(
        "star_order",
        """
        --- main.py
        from star_order.first import *
        from star_order.second import *

        one()
        both()

        def late():
            return None

        late()
        --- first.py
        def one():
            return 1

        def both():
            return "first"

        def late():
            return "first"
        --- second.py
        def both():
            return "second"
        """,
        calls="main -> first.one, second.both, main.late",
    ),
    program(
        "star_chain",
        """
        --- main.py
        from star_chain.outer import *

        def run():
            load()
            return store()

        run()
        --- outer.py
        from star_chain.middle import *

        def store():
            return load()
        --- middle.py
        from star_chain.core.files import *
        --- core/files.py
        def load():
            return read()

        def read():
            return ""
        """,
        calls="""
        main -> main.run
        main.run -> core.files.load, outer.store
        outer.store -> core.files.load
        core.files.load -> core.files.read
        """,
    ),
    program(
        "star_base_class",
        """
        --- main.py
        from star_base_class.kinds import *

        class Child(Parent):
            def speak(self):
                return super().speak() + aided(self)

        Child("c").speak()
        --- kinds/__init__.py
        from .parent import *
        from .parent import __all__ as _names

        __all__ = [*_names, "aided"]

        def aided(child):
            return child.name
        --- kinds/parent.py
        __all__ = ["Parent"]

        class Parent:
            def __init__(self, name):
                self.name = name

            def speak(self):
                return self.name
        """,
        calls="""
        main -> kinds.parent.Parent.__init__, main.Child.speak
        main.Child.speak -> kinds.parent.Parent.speak, kinds.aided
        """,
    ),
)
