"""Functions and classes of other modules, named by every form of import."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "import_from",
        """
        --- main.py
        from import_from.orders.pricing import total, with_tax
        from import_from.orders.models import Order

        def checkout(order: Order):
            return with_tax(total(order.lines()))

        checkout(Order())
        --- orders/models.py
        from import_from.orders.pricing import total

        class Order:
            def lines(self):
                return [total([1]), 2]
        --- orders/pricing.py
        from import_from.settings import rate

        def total(lines):
            return sum(lines)

        def with_tax(price):
            return price * rate()
        --- settings.py
        def rate():
            return 1.2
        """,
        calls="""
        main -> main.checkout
        main.checkout -> orders.pricing.with_tax, orders.pricing.total, orders.models.Order.lines
        orders.pricing.with_tax -> settings.rate
        orders.models.Order.lines -> orders.pricing.total
        """,
        untraced="main -> orders.models.Order",
    ),
    program(
        "import_module",
        """
        --- main.py
        import import_module.data.loading
        import import_module.data.saving as saving
        from import_module import data
        from import_module.data import checks

        def run(path):
            rows = import_module.data.loading.load(path)
            checks.check(rows)
            data.saving.save(rows)
            return saving.Saver(path).close()

        run("x")
        --- data/loading.py
        import import_module.data.checks as checking

        def load(path):
            return checking.check([path])
        --- data/saving.py
        import import_module

        def save(rows):
            return import_module.data.checks.check(rows)

        class Saver:
            def __init__(self, path):
                self.path = path

            def close(self):
                return save([self.path])
        --- data/checks.py
        def check(rows):
            return rows
        """,
        calls="""
        main -> main.run
        main.run -> data.loading.load, data.checks.check, data.saving.save
        main.run -> data.saving.Saver.__init__, data.saving.Saver.close
        data.loading.load -> data.checks.check
        data.saving.save -> data.checks.check
        data.saving.Saver.close -> data.saving.save
        """,
    ),
    program(
        "import_relative",
        """
        --- app/core/main.py
        from . import near
        from .near import close_by
        from .. import middle
        from ..side import beside
        from ... import far
        from ...lib.deep import bottom as lowest

        def everything():
            near.close_by()
            close_by()
            middle.between()
            beside()
            far.away()
            lowest()

        everything()
        --- app/core/near.py
        from ..middle import between

        def close_by():
            return between()
        --- app/middle.py
        def between():
            return 1
        --- app/side/__init__.py
        from . import inner

        def beside():
            return inner.inside()
        --- app/side/inner.py
        def inside():
            return 2
        --- far.py
        from .app.middle import between

        def away():
            return between()
        --- lib/deep.py
        from .. import far

        def bottom():
            return far.away()
        """,
        entry="app.core.main",
        calls="""
        app.core.main -> app.core.main.everything
        app.core.main.everything -> app.core.near.close_by, app.middle.between, app.side.beside
        app.core.main.everything -> far.away, lib.deep.bottom
        app.core.near.close_by -> app.middle.between
        app.side.beside -> app.side.inner.inside
        far.away -> app.middle.between
        lib.deep.bottom -> far.away
        """,
    ),
    program(
        "import_package_code",
        """
        --- main.py
        import import_package_code
        from import_package_code import plugins, version

        version()
        plugins.find("a")
        import_package_code.plugins.builtin.load()
        --- __init__.py
        from import_package_code.numbers import parse

        def version():
            return parse("1")

        VERSION = version()
        --- numbers.py
        def parse(text):
            return int(text)
        --- plugins/__init__.py
        from . import builtin

        def find(name):
            return builtin.load()

        find("default")
        --- plugins/builtin.py
        from .. import version

        def load():
            return version()
        """,
        calls="""
        main -> version, plugins.find, plugins.builtin.load
        . -> version
        version -> numbers.parse
        plugins -> plugins.find
        plugins.find -> plugins.builtin.load
        plugins.builtin.load -> version
        """,
    ),
    program(
        "import_same_names",
        """
        --- main.py
        from import_same_names import a, b
        from import_same_names.a import run as run_a
        from import_same_names.b import *
        from import_same_names.b.tools import run

        def both():
            return a.run(), b.tools.run(), run_a(), run()

        both()
        --- a.py
        def run():
            return aided()

        def aided():
            return "a"
        --- b/__init__.py
        from . import tools

        __all__ = []

        def run():
            return "package b"

        def aided():
            return tools.run()

        aided()
        --- b/tools.py
        def run():
            return "b"
        """,
        calls="""
        main -> main.both
        main.both -> a.run, b.tools.run
        a.run -> a.aided
        b -> b.aided
        b.aided -> b.tools.run
        """,
    ),
    program(
        "import_circular",
        """
        --- main.py
        from import_circular import models

        user = models.User("ada")
        user.save()
        --- models.py
        from import_circular import storage

        class User:
            def __init__(self, name):
                self.name = name

            def save(self):
                return storage.write(self)
        --- storage.py
        import import_circular.models as models

        def write(user):
            return copy(user)

        def copy(user):
            return models.User(user.name)
        """,
        calls="""
        main -> models.User.__init__, models.User.save
        models.User.save -> storage.write
        storage.write -> storage.copy
        storage.copy -> models.User.__init__
        """,
    ),
    program(
        "import_library_names",
        """
        --- main.py
        import json
        import os.path as path
        from collections import OrderedDict as Ordered

        from import_library_names import json as own
        from import_library_names.path import join

        def run():
            json.dumps({})
            path.join("a", "b")
            Ordered()
            own.dumps({})
            return join("a", "b")

        run()
        --- json.py
        def dumps(value):
            return loads(str(value))

        def loads(text):
            return text
        --- path.py
        def join(*parts):
            return "/".join(parts)
        """,
        calls="""
        main -> main.run
        main.run -> json.dumps, path.join
        json.dumps -> json.loads
        """,
    ),
)
