"""Decorators: called by the scope around the definition; what they decorate keeps its name."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "decorator_plain",
        """
        --- main.py
        from decorator_plain.registry import register

        @register
        def start():
            return "started"

        @register
        def stop():
            return start()

        start()
        stop()
        --- registry.py
        KNOWN = {}

        def register(function):
            KNOWN[function.__name__] = function
            return function
        """,
        calls="""
        main -> registry.register, main.start, main.stop
        main.stop -> main.start
        """,
    ),
    program(
        "decorator_wrapping",
        """
        --- main.py
        from decorator_wrapping.timing import timed

        @timed
        def load():
            return parse("x")

        def parse(text):
            return text

        def run():
            return load()

        run()
        --- timing.py
        import functools

        def timed(function):
            @functools.wraps(function)
            def wrapper(*args):
                note(function.__name__)
                return function(*args)

            return wrapper

        def note(name):
            return name
        """,
        calls="""
        main -> timing.timed, main.run
        main.load -> main.parse
        timing.timed.wrapper -> timing.note
        """,
        untraced="main.run -> main.load",
        indirect="""
        main.run -> timing.timed.wrapper
        timing.timed.wrapper -> main.load
        """,
    ),
    program(
        "decorator_arguments",
        """
        --- main.py
        from .retrying import policies
        from .retrying.policies import retry

        def default():
            return 2

        @retry(times=default())
        def fetch(key):
            return key

        @policies.retry(3)
        @policies.logged
        def send(key):
            return fetch(key)

        send("a")
        --- retrying/policies.py
        def retry(times):
            def decorate(function):
                def attempt(*args):
                    for _ in range(times):
                        return function(*args)

                return attempt

            return decorate

        def logged(function):
            return function
        """,
        calls="main -> main.default, retrying.policies.retry, retrying.policies.logged",
        untraced="""
        main -> main.send
        main.send -> main.fetch
        """,
        indirect="""
        main -> retrying.policies.retry.decorate, retrying.policies.retry.decorate.attempt
        main.send -> retrying.policies.retry.decorate.attempt
        retrying.policies.retry.decorate.attempt -> main.fetch, main.send
        """,
    ),
    program(
        "decorator_of_class",
        """
        --- main.py
        from decorator_of_class.marks import comparable, tagged

        @comparable
        class Version:
            def __init__(self, number):
                self.number = number

            def key(self):
                return self.number

        @tagged("old")
        class Legacy(Version): ...

        Version(1).older_than(Version(2))
        Legacy(0).key()
        --- marks.py
        def comparable(cls):
            def older_than(self, other):
                return self.key() < other.key()

            cls.older_than = older_than
            return cls

        def tagged(tag):
            def mark(cls):
                cls.tag = tag
                return cls

            return mark
        """,
        calls="""
        main -> marks.comparable, marks.tagged, main.Version.__init__, main.Version.key
        """,
        indirect="""
        main -> marks.tagged.mark, marks.comparable.older_than
        marks.comparable.older_than -> main.Version.key
        """,
    ),
    program(
        "decorator_class",
        """
        --- main.py
        from decorator_class.memo import Memo

        @Memo
        def square(n):
            return n * n

        def run():
            square(2)
            square.clear()

        run()
        --- memo.py
        class Memo:
            def __init__(self, function):
                self.function, self.known = function, {}

            def __call__(self, key):
                if key not in self.known:
                    self.known[key] = self.function(key)
                return self.known[key]

            def clear(self):
                self.known.clear()
        """,
        calls="""
        main -> memo.Memo.__init__, main.run
        main.run -> memo.Memo.clear
        """,
        untraced="main.run -> main.square",
        indirect="""
        main.run -> memo.Memo.__call__
        memo.Memo.__call__ -> main.square
        """,
    ),
    program(
        "decorator_of_method",
        """
        --- main.py
        from decorator_of_method import guard

        class Door:
            @guard.locked
            def open(self):
                return self.swing()

            @staticmethod
            @guard.marked
            def kind():
                return "door"

            def swing(self):
                return 1

        def make():
            @guard.marked
            def inner():
                return Door.kind()

            return inner()

        Door().open()
        make()
        --- guard.py
        def locked(method):
            def checked(self):
                return method(self)

            return checked

        def marked(function):
            function.marked = True
            return function
        """,
        calls="""
        main -> main.make
        main.Door -> guard.locked, guard.marked
        main.make -> guard.marked, main.make.inner
        main.make.inner -> main.Door.kind
        main.Door.open -> main.Door.swing
        """,
        untraced="main -> main.Door, main.Door.open",
        indirect="""
        main -> guard.locked.checked
        guard.locked.checked -> main.Door.open
        """,
    ),
    program(
        "decorator_library",
        """
        --- main.py
        import contextlib
        import functools

        @functools.lru_cache(maxsize=None)
        def slow(n):
            return n

        @contextlib.contextmanager
        def opened(name):
            enter(name)
            yield name

        def enter(name):
            return name

        @functools.singledispatch
        def show(value):
            return str(value)

        @show.register
        def show_number(value: int):
            return hex(value)

        def run():
            with opened("x") as name:
                slow(len(name))
            show(None)

        run()
        """,
        calls="""
        main -> main.run
        main.run -> main.opened, main.slow, main.show
        main.opened -> main.enter
        """,
    ),
)
