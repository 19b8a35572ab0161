"""Calls through `super()`: the next class in the MRO of the class that the call stands in."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "super_init",
        """
        --- main.py
        from super_init.models import Admin

        Admin("root", 3)
        --- models.py
        from .base import Model

        class User(Model):
            def __init__(self, name):
                super().__init__(name)
                self.name = name

        class Admin(User):
            def __init__(self, name, level):
                super().__init__(name)
                self.level = level
        --- base.py
        class Model:
            def __init__(self, key):
                super().__init__()
                self.key = key
        """,
        calls="""
        main -> models.Admin.__init__
        models.Admin.__init__ -> models.User.__init__
        models.User.__init__ -> base.Model.__init__
        """,
    ),
    program(
        "super_skips",
        """
        --- main.py
        from .layers import Top

        top = Top("x")
        top.close()
        top.open()
        --- layers.py
        from .ground import Ground

        class Lower(Ground):
            def open(self):
                return "lower"

        class Middle(Lower): ...

        class Top(Middle):
            def __init__(self, name):
                super().__init__(name)

            def open(self):
                return super().open()

            def close(self):
                super().close()
                return super().open()
        --- ground.py
        class Ground:
            def __init__(self, name):
                self.name = name

            def open(self):
                return "ground"

            def close(self):
                return "closed"
        """,
        calls="""
        main -> layers.Top.__init__, layers.Top.close, layers.Top.open
        layers.Top.__init__ -> ground.Ground.__init__
        layers.Top.open -> layers.Lower.open
        layers.Top.close -> ground.Ground.close, layers.Lower.open
        """,
    ),
    program(
        "super_diamond",
        """
        --- main.py
        class Base:
            def setup(self):
                return ["base"]

        class Left(Base):
            def setup(self):
                return ["left", *super().setup()]

        class Right(Base):
            def setup(self):
                return ["right", *super().setup()]

        class Both(Left, Right):
            def setup(self):
                return ["both", *super().setup()]

        Both().setup()
        Left().setup()
        """,
        calls="""
        main -> main.Both.setup, main.Left.setup
        main.Both.setup -> main.Left.setup
        main.Left.setup -> main.Base.setup
        main.Right.setup -> main.Base.setup
        """,
        untraced="main -> main.Both, main.Left",
        indirect="main.Left.setup -> main.Right.setup",
    ),
    program(
        "super_classmethod",
        """
        --- main.py
        from super_classmethod import kinds

        kinds.Special.create(1)
        kinds.Special.about()
        --- kinds.py
        from .plain import Plain as Parent

        class Special(Parent):
            @classmethod
            def create(cls, value):
                made = super().create(value)
                made.special = True
                return made

            @staticmethod
            def about():
                return super(Special, Special).about()
        --- plain.py
        class Plain:
            def __init__(self, value):
                self.value = value

            @classmethod
            def create(cls, value):
                return cls(value)

            @staticmethod
            def about():
                return "plain"
        """,
        calls="""
        main -> kinds.Special.create, kinds.Special.about
        kinds.Special.create -> plain.Plain.create
        kinds.Special.about -> plain.Plain.about
        plain.Plain.create -> plain.Plain.__init__
        """,
    ),
    program(
        "super_spelled_out",
        """
        --- main.py
        from super_spelled_out.shapes import Circle, Disc

        Disc(2).describe()
        Circle(1).describe()
        --- shapes.py
        import super_spelled_out.base as base

        class Circle(base.Shape):
            def __init__(self, radius):
                super(Circle, self).__init__("circle")
                self.radius = radius

            def describe(self):
                return super(Circle, self).describe() + str(self.radius)

        class Disc(Circle):
            def describe(self):
                text = super().describe()
                return [super(Disc, self).describe(), text]
        --- base.py
        class Shape:
            def __init__(self, name):
                self.name = name

            def describe(self):
                return self.name
        """,
        calls="""
        main -> shapes.Circle.__init__, shapes.Disc.describe, shapes.Circle.describe
        shapes.Circle.__init__ -> base.Shape.__init__
        shapes.Circle.describe -> base.Shape.describe
        shapes.Disc.describe -> shapes.Circle.describe
        """,
    ),
    program(
        "super_foreign_base",
        """
        --- main.py
        from .errors import Missing

        def find(key):
            try:
                raise Missing(key)
            except Missing as error:
                return error.text()

        find("k")
        --- errors.py
        class Failure(Exception):
            def __init__(self, message):
                super().__init__(message)

            def text(self):
                return super().__str__()

        class Missing(Failure, KeyError):
            def __init__(self, key):
                self.key = key
                super().__init__(f"no {key}")

            def text(self):
                return super().text().upper()
        """,
        calls="""
        main -> main.find
        main.find -> errors.Missing.__init__, errors.Missing.text
        errors.Missing.__init__ -> errors.Failure.__init__
        errors.Missing.text -> errors.Failure.text
        """,
    ),
)
