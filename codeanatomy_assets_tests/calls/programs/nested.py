"""Functions and classes defined in functions and classes, called where only their scope knows them."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "nested_levels",
        """
        --- main.py
        def outer(n):
            def middle(m):
                def inner(k):
                    return k + 1

                return inner(m) * 2

            return middle(n)

        outer(3)
        """,
        calls="""
        main -> main.outer
        main.outer -> main.outer.middle
        main.outer.middle -> main.outer.middle.inner
        """,
    ),
    program(
        "nested_recursion",
        """
        --- main.py
        def flatten(tree):
            found = []

            def visit(node):
                if isinstance(node, list):
                    for child in node:
                        visit(child)
                else:
                    keep(node)

            def keep(leaf):
                found.append(leaf)

            visit(tree)
            return found

        flatten([1, [2, [3]]])
        """,
        calls="""
        main -> main.flatten
        main.flatten -> main.flatten.visit
        main.flatten.visit -> main.flatten.visit, main.flatten.keep
        """,
    ),
    program(
        "nested_same_names",
        """
        --- main.py
        from nested_same_names.text import shout

        def load(path):
            def check(value):
                return bool(value)

            return check(path)

        def store(path):
            def check(value):
                return value is not None

            return check(path) and shout(path)

        load("a")
        store("b")
        --- text.py
        def shout(value):
            def check(text):
                return text.upper()

            return check(value)
        """,
        calls="""
        main -> main.load, main.store
        main.load -> main.load.check
        main.store -> main.store.check, text.shout
        text.shout -> text.shout.check
        """,
    ),
    program(
        "nested_class",
        """
        --- main.py
        class Tree:
            class Node:
                def __init__(self, value):
                    self.value = value

                def double(self):
                    return self.value * 2

            def add(self, value):
                return self.Node(value)

        def build():
            class Local:
                def __init__(self):
                    self.node = Tree.Node(1)

                def run(self):
                    return self.node.double()

            return Local().run()

        build()
        Tree().add(2)
        """,
        calls="""
        main -> main.build, main.Tree.add
        main.Tree.add -> main.Tree.Node.__init__
        main.build -> main.build.Local.__init__, main.build.Local.run
        main.build.Local.__init__ -> main.Tree.Node.__init__
        main.build.Local.run -> main.Tree.Node.double
        """,
        untraced="main -> main.Tree",
    ),
    program(
        "nested_in_method",
        """
        --- main.py
        class Report:
            def __init__(self, rows):
                self.rows = rows

            def lines(self):
                def line(row):
                    return self.cell(row) + tail()

                def tail():
                    return "."

                return [line(row) for row in self.rows]

            def cell(self, value):
                return str(value)

        Report([1, 2]).lines()
        """,
        calls="""
        main -> main.Report.__init__, main.Report.lines
        main.Report.lines -> main.Report.lines.line
        main.Report.lines.line -> main.Report.cell, main.Report.lines.tail
        """,
    ),
    program(
        "nested_class_body",
        """
        --- main.py
        from nested_class_body.fields import text

        def width():
            return 80

        class Form:
            size = width()
            title = text("title")

            def wide(self):
                return width() * 2

            class Meta:
                size = width() + 1

            def local():
                return 3

            count = local()

        Form().wide()
        --- fields.py
        def text(name):
            return name
        """,
        calls="""
        main -> main.Form.wide
        main.Form -> main.width, fields.text, main.Form.local
        main.Form.Meta -> main.width
        main.Form.wide -> main.width
        """,
        untraced="main -> main.Form",
    ),
)
