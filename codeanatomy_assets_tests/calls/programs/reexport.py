"""Definitions reached through a package or module that only passes them on."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "reexport_package",
        """
        --- main.py
        from reexport_package.shop import Cart, total

        total([1])
        Cart("ada").add(2)
        --- shop/__init__.py
        from .cart import Cart
        from .prices import total

        __all__ = ["Cart", "total"]
        --- shop/cart.py
        from .prices import total

        class Cart:
            def __init__(self, owner):
                self.owner = owner

            def add(self, price):
                return total([price])
        --- shop/prices.py
        def total(prices):
            return sum(prices)
        """,
        calls="""
        main -> shop.prices.total, shop.cart.Cart.__init__, shop.cart.Cart.add
        shop.cart.Cart.add -> shop.prices.total
        """,
    ),
    program(
        "reexport_chain",
        """
        --- main.py
        import reexport_chain as api

        def run():
            return api.connect("x"), api.net.connect("y")

        run()
        --- __init__.py
        from .net import connect
        --- net/__init__.py
        from .tcp import connect
        --- net/tcp/__init__.py
        from reexport_chain.net.tcp.client import connect
        --- net/tcp/client.py
        from reexport_chain import names

        def connect(host):
            return names.resolve(host)
        --- names/__init__.py
        from ._resolve import resolve as resolve
        --- names/_resolve.py
        def resolve(host):
            return host
        """,
        calls="""
        main -> main.run
        main.run -> net.tcp.client.connect
        net.tcp.client.connect -> names._resolve.resolve
        """,
    ),
    program(
        "reexport_renamed",
        """
        --- main.py
        from reexport_renamed import codecs
        from reexport_renamed.codecs import Reader, decode

        def run(data):
            codecs.encode(data)
            decode(data)
            return Reader(data).read()

        run("a")
        --- codecs/__init__.py
        from .json_codec import dumps as encode
        from .json_codec import loads as decode
        from .streams import JsonReader as Reader
        --- codecs/json_codec.py
        def dumps(value):
            return value

        def loads(text):
            return text
        --- codecs/streams.py
        from . import json_codec as codec

        class JsonReader:
            def __init__(self, text):
                self.text = text

            def read(self):
                return codec.loads(self.text)
        """,
        calls="""
        main -> main.run
        main.run -> codecs.json_codec.dumps, codecs.json_codec.loads
        main.run -> codecs.streams.JsonReader.__init__, codecs.streams.JsonReader.read
        codecs.streams.JsonReader.read -> codecs.json_codec.loads
        """,
    ),
    program(
        "reexport_base_class",
        """
        --- main.py
        from .ui import Button, widgets

        class Big(Button):
            def draw(self):
                return super().draw() * 2

        class Wide(widgets.Widget): ...

        big = Big("ok")
        big.draw()
        big.hide()
        Wide("w").hide()
        --- ui/__init__.py
        from . import widgets
        from .widgets import Button
        --- ui/widgets/__init__.py
        from .base import Widget
        from .button import Button
        --- ui/widgets/base.py
        class Widget:
            def __init__(self, name):
                self.name = name

            def hide(self):
                return self.name
        --- ui/widgets/button.py
        from . import Widget

        class Button(Widget):
            def draw(self):
                return 1
        """,
        calls="""
        main -> ui.widgets.base.Widget.__init__, main.Big.draw, ui.widgets.base.Widget.hide
        main.Big.draw -> ui.widgets.button.Button.draw
        """,
    ),
    program(
        "reexport_plain_module",
        """
        --- main.py
        from reexport_plain_module import compat
        from reexport_plain_module.compat import joined

        joined("a", "b")
        compat.paths.split("a/b")
        compat.split("c/d")
        --- compat.py
        from . import paths
        from .paths import joined, split
        --- paths.py
        def joined(*parts):
            return "/".join(parts)

        def split(path):
            return joined(*path.split("/"))
        """,
        calls="""
        main -> paths.joined, paths.split
        paths.split -> paths.joined
        """,
    ),
    program(
        "reexport_same_name",
        """
        --- main.py
        from reexport_same_name.tools import render
        from reexport_same_name.tools import trim

        render("a")
        trim("b")
        --- tools/__init__.py
        from reexport_same_name.tools.render import render
        from reexport_same_name.tools.trim import trim

        DEFAULT = trim(" x ")
        --- tools/render.py
        from reexport_same_name.tools.trim import trim

        def render(text):
            return trim(text)
        --- tools/trim.py
        def trim(text):
            return text.strip()
        """,
        calls="""
        main -> tools.render.render, tools.trim.trim
        tools -> tools.trim.trim
        tools.render.render -> tools.trim.trim
        """,
    ),
)
