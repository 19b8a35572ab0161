"""Functions handed over by name to the standard library, which calls them."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "callback_sort",
        """
        --- main.py
        from callback_sort.keys import by_size, is_long

        def ordered(words):
            return sorted(filter(is_long, words), key=by_size)

        def largest(words):
            return max(words, key=by_size)

        ordered(["abc", "de", "fghi"])
        largest(["a"] * 2)
        --- keys.py
        def by_size(word):
            return size(word)

        def size(word):
            return len(word)

        def is_long(word):
            return size(word) > 2
        """,
        calls="""
        main -> main.ordered, main.largest
        main.ordered -> keys.is_long, keys.by_size
        main.largest -> keys.by_size
        keys.by_size -> keys.size
        keys.is_long -> keys.size
        """,
    ),
    program(
        "callback_map_reduce",
        """
        --- main.py
        import functools
        import itertools

        from callback_map_reduce import steps

        def total(values):
            return functools.reduce(steps.add, map(steps.double, values), 0)

        def groups(values):
            return [key for key, _ in itertools.groupby(values, steps.parity)]

        total([1, 2])
        groups([1, 3, 2])
        list(map(total, [[1], [2]]))
        --- steps.py
        def add(left, right):
            return left + right

        def double(value):
            return add(value, value)

        def parity(value):
            return value % 2
        """,
        calls="""
        main -> main.total, main.groups
        main.total -> steps.add, steps.double
        main.groups -> steps.parity
        steps.double -> steps.add
        """,
    ),
    program(
        "callback_factory",
        """
        --- main.py
        from collections import defaultdict
        from dataclasses import dataclass, field

        class Tally:
            def __init__(self):
                self.count = 0

            def add(self):
                self.count += 1

        def names():
            return ["first"]

        @dataclass
        class Group:
            members: list[str] = field(default_factory=names)

        def count(words):
            tallies = defaultdict(Tally)
            for word in words:
                tallies[word].add()
            return tallies

        count(["a", "b"])
        Group()
        """,
        calls="""
        main -> main.count
        main.count -> main.Tally.__init__, main.Tally.add
        """,
        untraced="""
        main -> main.Group
        main.Group -> main.names
        """,
        indirect="main -> main.names",
    ),
    program(
        "callback_regular_expression",
        """
        --- main.py
        import re

        def upper(match):
            return shout(match.group())

        def shout(text):
            return text.upper()

        class Template:
            def __init__(self, values):
                self.values = values

            def fill(self, text):
                return re.sub(r"{(.)}", self.value, text)

            def value(self, match):
                return self.values[match[1]]

        re.compile("a+").sub(upper, "banana")
        Template({"x": "1"}).fill("{x}")
        """,
        calls="""
        main -> main.upper, main.Template.__init__, main.Template.fill
        main.upper -> main.shout
        main.Template.fill -> main.Template.value
        """,
    ),
    program(
        "callback_partial",
        """
        --- main.py
        from functools import partial

        from callback_partial.mail import send

        def notify(user, text):
            return send(user, text)

        greet = partial(notify, text="hello")
        greet("ada")

        def run():
            action = partial(send, "bob")
            return action("bye")

        run()
        --- mail.py
        def send(user, text):
            return user, text
        """,
        calls="""
        main -> main.notify, main.run
        main.notify -> mail.send
        main.run -> mail.send
        """,
    ),
    program(
        "callback_thread",
        """
        --- main.py
        import threading
        from concurrent.futures import ThreadPoolExecutor
        from contextlib import ExitStack

        from callback_thread.work import clean_up, fetch, listen

        def serve():
            thread = threading.Thread(target=listen)
            thread.start()
            thread.join()

        def download(keys):
            with ThreadPoolExecutor(1) as pool:
                return [*pool.map(fetch, keys)]

        def scoped():
            with ExitStack() as stack:
                stack.callback(clean_up)

        serve()
        download(["a"])
        scoped()
        --- work.py
        def listen():
            return 1

        def fetch(key):
            return key

        def clean_up():
            return None
        """,
        calls="""
        main -> main.serve, main.download, main.scoped
        main.scoped -> work.clean_up
        """,
        untraced="""
        main.serve -> work.listen
        main.download -> work.fetch
        """,
    ),
)
