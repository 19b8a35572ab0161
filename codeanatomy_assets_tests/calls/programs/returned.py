"""Functions, methods and classes that a call returns, called in turn."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "returned_inner",
        """
        --- main.py
        from returned_inner.scaling import scaler

        def run():
            double = scaler(2)
            return double(3) + scaler(3)(1)

        run()
        --- scaling.py
        def scaler(factor):
            def scale(value):
                return value * factor

            return scale
        """,
        calls="""
        main -> main.run
        main.run -> scaling.scaler, scaling.scaler.scale
        """,
    ),
    program(
        "returned_choice",
        """
        --- main.py
        from .formats import as_json, as_text

        def chosen(kind):
            if kind == "json":
                return as_json
            return as_text

        def write(kind, value):
            return chosen(kind)(value)

        write("json", 1)
        write("text", 2)
        --- formats.py
        def as_json(value):
            return {"value": value}

        def as_text(value):
            return str(value)
        """,
        calls="""
        main -> main.write
        main.write -> main.chosen, formats.as_json, formats.as_text
        """,
    ),
    program(
        "returned_class",
        """
        --- main.py
        from returned_class.factory import kind_of, local_kind

        def make(name):
            return kind_of(name)(name).label()

        make("a")
        local_kind()().label()
        --- factory.py
        class Known:
            def __init__(self, name):
                self.name = name

            def label(self):
                return self.name

        def kind_of(name):
            return Known

        def local_kind():
            class Local:
                def label(self):
                    return "local"

            return Local
        """,
        calls="""
        main -> main.make, factory.local_kind, factory.local_kind.Local.label
        main.make -> factory.kind_of, factory.Known.__init__, factory.Known.label
        """,
        untraced="main -> factory.local_kind.Local",
    ),
    program(
        "returned_method",
        """
        --- main.py
        from returned_method.queueing import Queue

        def run():
            put, get = Queue().ends()
            put(1)
            return get()

        run()
        Queue().writer()(2)
        --- queueing.py
        class Queue:
            def __init__(self):
                self.items = []

            def ends(self):
                return self.put, self.get

            def writer(self):
                return self.put

            def put(self, item):
                self.items.append(item)

            def get(self):
                return self.items.pop()
        """,
        calls="""
        main -> main.run, queueing.Queue.__init__, queueing.Queue.writer, queueing.Queue.put
        main.run -> queueing.Queue.__init__, queueing.Queue.ends, queueing.Queue.put, queueing.Queue.get
        """,
    ),
    program(
        "returned_through",
        """
        --- main.py
        from returned_through.outer import finder

        def run():
            find = finder("x")
            return find("y")

        run()
        --- outer.py
        from .inner import make

        def finder(name):
            found = make(name)
            return found
        --- inner.py
        def make(name):
            return lambda key: matches(name, key)

        def matches(name, key):
            return name == key
        """,
        calls="""
        main -> main.run
        main.run -> outer.finder, inner.make.<lambda1>
        outer.finder -> inner.make
        inner.make.<lambda1> -> inner.matches
        """,
    ),
    program(
        "returned_object",
        """
        --- main.py
        from returned_object.builder import builder

        def page():
            return builder().title("a").body("b").done()

        page()
        --- builder.py
        from __future__ import annotations

        class Builder:
            def __init__(self) -> None:
                self.parts: list[str] = []

            def title(self, text: str) -> Builder:
                self.parts.append(text)
                return self

            def body(self, text: str):
                return self.title(text)

            def done(self) -> str:
                return "".join(self.parts)

        def builder():
            return Builder()
        """,
        calls="""
        main -> main.page
        main.page -> builder.builder, builder.Builder.title, builder.Builder.body, builder.Builder.done
        builder.builder -> builder.Builder.__init__
        builder.Builder.body -> builder.Builder.title
        """,
    ),
)
