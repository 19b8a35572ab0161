"""Class methods and static methods, called on the class, an instance, `cls` or a subclass."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "classmethod_factory",
        """
        --- main.py
        from classmethod_factory.money import Money

        Money.parse("3 EUR")
        Money.zero()
        --- money.py
        class Money:
            def __init__(self, amount, currency):
                self.amount, self.currency = amount, currency

            @classmethod
            def parse(cls, text):
                amount, currency = cls.split(text)
                return cls(int(amount), currency)

            @classmethod
            def zero(cls):
                return cls(0, "EUR")

            @staticmethod
            def split(text):
                return text.split()
        """,
        calls="""
        main -> money.Money.parse, money.Money.zero
        money.Money.parse -> money.Money.split, money.Money.__init__
        money.Money.zero -> money.Money.__init__
        """,
    ),
    program(
        "staticmethod_places",
        """
        --- main.py
        from . import text
        from .text import Text as T

        class Page:
            def title(self, raw):
                return self.clean(raw) + Page.clean(raw) + T.fold(raw)

            @staticmethod
            def clean(raw):
                return text.Text.fold(raw).strip()

        Page().title(" A ")
        Page.clean(" B ")
        T().fold("C")
        --- text.py
        class Text:
            @staticmethod
            def fold(raw):
                return raw.lower()
        """,
        calls="""
        main -> main.Page.title, main.Page.clean, text.Text.fold
        main.Page.title -> main.Page.clean, text.Text.fold
        main.Page.clean -> text.Text.fold
        """,
        untraced="main -> main.Page, text.Text",
    ),
    program(
        "classmethod_inherited",
        """
        --- main.py
        from classmethod_inherited.plugins import Json, Plugin, Yaml

        Json.load("x")
        Yaml.load("y")
        Plugin.load("z")
        Yaml.kind()
        --- plugins.py
        from .loading import Loads

        class Plugin(Loads):
            def __init__(self, source):
                self.source = source

        class Json(Plugin): ...

        class Yaml(Plugin):
            @classmethod
            def suffix(cls):
                return cls.kind()
        --- loading.py
        class Loads:
            def __init__(self, source): ...

            @classmethod
            def load(cls, source):
                return cls(source + cls.suffix())

            @classmethod
            def suffix(cls):
                return ""

            @staticmethod
            def kind():
                return "file"
        """,
        calls="""
        main -> loading.Loads.load, loading.Loads.kind
        loading.Loads.load -> loading.Loads.suffix
        plugins.Yaml.suffix -> loading.Loads.kind
        """,
        untraced="loading.Loads.load -> loading.Loads.__init__",
        indirect="loading.Loads.load -> plugins.Plugin.__init__, plugins.Yaml.suffix",
    ),
    program(
        "classmethod_chain",
        """
        --- main.py
        from classmethod_chain.registry import Registry

        class Events(Registry):
            pass

        Events.register("start")
        Registry.register("stop").names()
        --- registry.py
        class Registry:
            known = []

            @classmethod
            def register(cls, name):
                cls._check(name)
                cls.known.append(name)
                return cls()

            @classmethod
            def _check(cls, name):
                return Registry._normal(name)

            @staticmethod
            def _normal(name):
                return name.lower()

            def names(self):
                return [self._normal(each) for each in self.known if type(self)._check(each)]
        """,
        calls="""
        main -> registry.Registry.register, registry.Registry.names
        registry.Registry.register -> registry.Registry._check
        registry.Registry._check -> registry.Registry._normal
        registry.Registry.names -> registry.Registry._normal, registry.Registry._check
        """,
        untraced="registry.Registry.register -> registry.Registry",
        possible="registry.Registry.register -> main.Events",
    ),
    program(
        "staticmethod_wrapped",
        """
        --- main.py
        from staticmethod_wrapped.rules import positive

        def parse(text):
            return int(text)

        class Field:
            parse = staticmethod(parse)
            check = staticmethod(positive)

            def read(self, text):
                return self.check(self.parse(text))

            def _made(cls):
                return cls()

            made = classmethod(_made)

        Field().read("3")
        Field.made()
        --- rules.py
        def positive(value):
            return value > 0
        """,
        calls="""
        main -> main.Field.read, main.Field._made
        main.Field.read -> main.parse, rules.positive
        """,
        untraced="""
        main -> main.Field
        main.Field._made -> main.Field
        """,
    ),
    program(
        "classmethod_on_metaclass",
        """
        --- main.py
        from classmethod_on_metaclass.meta import Named

        class Thing(metaclass=Named):
            @classmethod
            def label(cls):
                return cls.title()

        Thing.label()
        Thing.title()
        --- meta.py
        class Named(type):
            def title(cls):
                return cls.__name__.title()
        """,
        calls="""
        main -> main.Thing.label, meta.Named.title
        main.Thing.label -> meta.Named.title
        """,
    ),
)
