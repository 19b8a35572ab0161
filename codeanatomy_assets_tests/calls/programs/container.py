"""Functions and classes that a dict, list, tuple or attribute table holds, called from there."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "container_dict",
        """
        --- main.py
        from container_dict.commands import start, stop

        COMMANDS = {"start": start, "stop": stop}

        def run(name):
            return COMMANDS[name]()

        run("start")
        run("stop")
        --- commands.py
        def start():
            return 1

        def stop():
            return 0
        """,
        calls="""
        main -> main.run
        main.run -> commands.start, commands.stop
        """,
    ),
    program(
        "container_list",
        """
        --- main.py
        from container_list.steps import clean, fold

        STEPS = [str.strip, clean]
        STEPS.append(fold)

        def normal(text):
            for step in STEPS:
                text = step(text)
            return text

        def pairs(text):
            return [check(text) for check in (clean, fold)]

        normal(" A-b ")
        pairs("c")
        STEPS[1]("d")
        --- steps.py
        def clean(text):
            return text.replace("-", "")

        def fold(text):
            return text.lower()
        """,
        calls="""
        main -> main.normal, main.pairs, steps.clean
        main.normal -> steps.clean, steps.fold
        main.pairs -> steps.clean, steps.fold
        """,
        possible="main -> steps.fold",
    ),
    program(
        "container_classes",
        """
        --- main.py
        from container_classes import readers

        READERS = {"csv": readers.CsvReader, "json": readers.JsonReader}

        def read(path):
            reader = READERS[path.rpartition(".")[2]](path)
            return reader.read()

        read("a.csv")
        read("b.json")
        --- readers.py
        class Reader:
            def __init__(self, path):
                self.path = path

        class CsvReader(Reader):
            def read(self):
                return [self.path]

        class JsonReader(Reader):
            def __init__(self, path):
                super().__init__(path)
                self.depth = 0

            def read(self):
                return {self.path: self.depth}
        """,
        calls="""
        main -> main.read
        main.read -> readers.Reader.__init__, readers.JsonReader.__init__
        main.read -> readers.CsvReader.read, readers.JsonReader.read
        readers.JsonReader.__init__ -> readers.Reader.__init__
        """,
    ),
    program(
        "container_registry",
        """
        --- main.py
        from container_registry.handlers import on_login
        from container_registry.registry import emit, on

        on("login", on_login)
        emit("login")
        --- registry.py
        HANDLERS = {}

        def on(event, handler):
            HANDLERS.setdefault(event, []).append(handler)

        def emit(event):
            for handler in HANDLERS.get(event, ()):
                handler(event)
        --- handlers.py
        def on_login(event):
            return event
        """,
        calls="""
        main -> registry.on, registry.emit
        registry.emit -> handlers.on_login
        """,
    ),
    program(
        "container_methods",
        """
        --- main.py
        class Machine:
            def __init__(self):
                self.actions = {"go": self.go, "halt": self.halt}

            def go(self):
                return self.act("halt")

            def halt(self):
                return None

            def act(self, name):
                return self.actions[name]()

        machine = Machine()
        machine.act("go")
        machine.actions["halt"]()
        """,
        calls="""
        main -> main.Machine.__init__, main.Machine.act, main.Machine.halt
        main.Machine.act -> main.Machine.go, main.Machine.halt
        main.Machine.go -> main.Machine.act
        """,
        possible="main -> main.Machine.go",
    ),
    program(
        "container_objects",
        """
        --- main.py
        from container_objects.animals import Cat, Dog

        PETS = [Cat("tom"), Dog()]
        BY_NAME: dict[str, Cat] = {"tom": Cat("tom")}

        def noise():
            return [pet.speak() for pet in PETS]

        def named(name):
            return BY_NAME[name].purr()

        noise()
        named("tom")
        for key, cat in BY_NAME.items():
            cat.speak()
        --- animals.py
        class Cat:
            def __init__(self, name):
                self.name = name

            def speak(self):
                return self.purr()

            def purr(self):
                return self.name

        class Dog:
            def speak(self):
                return "wau"
        """,
        calls="""
        main -> animals.Cat.__init__, main.noise, main.named, animals.Cat.speak
        main.noise -> animals.Cat.speak, animals.Dog.speak
        main.named -> animals.Cat.purr
        animals.Cat.speak -> animals.Cat.purr
        """,
        untraced="main -> animals.Dog",
    ),
)
