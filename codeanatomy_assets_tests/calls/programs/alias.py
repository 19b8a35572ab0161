"""Functions, classes, modules and methods called by another name that an assignment or import gave them."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "alias_assigned",
        """
        --- main.py
        def compute(n):
            return n

        calculate = compute
        work = calculate

        def run():
            local = work
            return local(1)

        calculate(2)
        run()
        """,
        calls="""
        main -> main.compute, main.run
        main.run -> main.compute
        """,
    ),
    program(
        "alias_import",
        """
        --- main.py
        import alias_import.parsing.numbers as nums
        from alias_import.parsing import text as txt
        from alias_import.parsing.text import fold as lower

        def run(raw):
            return nums.whole(raw), txt.fold(raw), lower(raw)

        run("3")
        --- parsing/numbers.py
        from .text import fold as _fold

        def whole(raw):
            return int(_fold(raw))
        --- parsing/text.py
        def fold(raw):
            return raw.lower()
        """,
        calls="""
        main -> main.run
        main.run -> parsing.numbers.whole, parsing.text.fold
        parsing.numbers.whole -> parsing.text.fold
        """,
    ),
    program(
        "alias_class",
        """
        --- main.py
        from alias_class.nodes import Tree

        Root = Tree
        root = Root(1)
        root.depth()

        class Forest:
            Kind = Tree

            def plant(self):
                return self.Kind(2).depth()

        Forest().plant()
        --- nodes.py
        class Node:
            def __init__(self, value):
                self.value = value

            def depth(self):
                return 1

        Tree = Node
        """,
        calls="""
        main -> nodes.Node.__init__, nodes.Node.depth, main.Forest.plant
        main.Forest.plant -> nodes.Node.__init__, nodes.Node.depth
        """,
        untraced="main -> main.Forest",
    ),
    program(
        "alias_method",
        """
        --- main.py
        class Stack:
            def __init__(self):
                self.items = []

            def push(self, item):
                self.items.append(item)

            append = push

            def pop(self):
                return self.items.pop()

            take = pop

        stack = Stack()
        stack.append(1)
        add = stack.push
        add(2)
        stack.take()
        drop = Stack.pop
        drop(stack)
        """,
        calls="main -> main.Stack.__init__, main.Stack.push, main.Stack.pop",
    ),
    program(
        "alias_module",
        """
        --- main.py
        from alias_module import backends

        engine = backends.memory
        store = engine.store

        def save():
            backend = backends.disk
            backend.store("a")
            return engine.clear()

        store("b")
        save()
        --- backends/__init__.py
        from . import disk, memory
        --- backends/disk.py
        def store(key):
            return key
        --- backends/memory.py
        from . import disk

        write = disk.store

        def store(key):
            return write(key)

        def clear():
            return None
        """,
        calls="""
        main -> backends.memory.store, main.save
        main.save -> backends.disk.store, backends.memory.clear
        backends.memory.store -> backends.disk.store
        """,
    ),
    program(
        "alias_chosen",
        """
        --- main.py
        import sys

        from .steps import fast, slow

        run = fast if sys.maxsize > 10 else slow

        def go():
            first, second = fast, slow
            first()
            return second()

        def pick(careful):
            if careful:
                step = slow
            else:
                step = fast
            return step()

        run()
        go()
        pick(True)
        pick(False)
        --- steps.py
        def fast():
            return 1

        def slow():
            return 2
        """,
        calls="""
        main -> steps.fast, main.go, main.pick
        main.go -> steps.fast, steps.slow
        main.pick -> steps.fast, steps.slow
        """,
        possible="main -> steps.slow",
    ),
)
