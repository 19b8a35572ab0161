"""Methods called on instances whose class the text tells: by construction, annotation, attribute or return."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "method_self",
        """
        --- main.py
        class Counter:
            def __init__(self):
                self.count = 0

            def add(self, n):
                self.count += self.checked(n)
                return self

            def checked(self, n):
                return max(n, 0)

        counter = Counter()
        counter.add(2).add(3)
        """,
        calls="""
        main -> main.Counter.__init__, main.Counter.add
        main.Counter.add -> main.Counter.checked
        """,
    ),
    program(
        "method_attribute",
        """
        --- main.py
        from method_attribute.engine import Engine

        class Car:
            def __init__(self) -> None:
                self.engine = Engine()

            def drive(self) -> int:
                self.engine.start()
                return self.engine.gauge.read()

        def main() -> None:
            car = Car()
            car.drive()
            car.engine.stop()

        main()
        --- engine.py
        from method_attribute.gauge import Gauge

        class Engine:
            def __init__(self) -> None:
                self.gauge = Gauge()

            def start(self) -> None:
                self.gauge.reset()

            def stop(self) -> None: ...
        --- gauge.py
        class Gauge:
            value = 0

            def reset(self) -> None:
                self.value = 0

            def read(self) -> int:
                return self.value
        """,
        calls="""
        main -> main.main
        main.main -> main.Car.__init__, main.Car.drive, engine.Engine.stop
        main.Car.__init__ -> engine.Engine.__init__
        main.Car.drive -> engine.Engine.start, gauge.Gauge.read
        engine.Engine.start -> gauge.Gauge.reset
        """,
        untraced="engine.Engine.__init__ -> gauge.Gauge",
    ),
    program(
        "method_annotated",
        """
        --- main.py
        from __future__ import annotations

        from . import models, views
        from .models import User

        def greet(user: User, view: views.View | None = None) -> str:
            if view is not None:
                return view.render(user)
            return user.name()

        def oldest(users: list[User]) -> User:
            return max(users, key=by_age)

        def by_age(user: User) -> int:
            return user.age()

        everyone = [User("a"), models.User("b")]
        greet(everyone[0])
        greet(oldest(everyone), views.View())
        oldest(everyone).name()
        --- models.py
        class User:
            def __init__(self, given: str) -> None:
                self.given = given

            def name(self) -> str:
                return self.given

            def age(self) -> int:
                return len(self.given)
        --- views.py
        from .models import User

        class View:
            def render(self, user: User) -> str:
                return user.name()
        """,
        calls="""
        main -> models.User.__init__, main.greet, main.oldest, models.User.name
        main.greet -> views.View.render, models.User.name
        main.oldest -> main.by_age
        main.by_age -> models.User.age
        views.View.render -> models.User.name
        """,
        untraced="main -> views.View",
    ),
    program(
        "method_same_names",
        """
        --- main.py
        from method_same_names.disk import Store as DiskStore
        from method_same_names.memory import Store

        def save(value):
            first, second = DiskStore(), Store()
            first.put(value)
            return second.get()

        def shown():
            for store in (DiskStore(), Store()):
                store.put(1)

        save(1)
        shown()
        --- disk.py
        class Store:
            def put(self, value):
                return self.get()

            def get(self):
                return 0
        --- memory.py
        class Store:
            def put(self, value):
                self.value = value

            def get(self):
                return 1
        """,
        calls="""
        main -> main.save, main.shown
        main.save -> disk.Store.put, memory.Store.get
        main.shown -> disk.Store.put, memory.Store.put
        disk.Store.put -> disk.Store.get
        """,
        untraced="""
        main.save -> disk.Store, memory.Store
        main.shown -> disk.Store, memory.Store
        """,
    ),
    program(
        "method_returned_object",
        """
        --- main.py
        from method_returned_object.db import connect

        def names():
            with connect("x") as connection:
                return connection.cursor().execute("select").rows()

        names()
        --- db.py
        class Cursor:
            def execute(self, text):
                self.text = text
                return self

            def rows(self):
                return [self.text]

        class Connection:
            def __init__(self, name):
                self.name = name

            def __enter__(self):
                return self

            def __exit__(self, *error):
                self.close()

            def cursor(self):
                return Cursor()

            def close(self):
                return None

        def connect(name):
            return Connection(name)
        """,
        calls="""
        main -> main.names
        main.names -> db.connect, db.Connection.cursor, db.Cursor.execute, db.Cursor.rows
        db.connect -> db.Connection.__init__
        db.Connection.__exit__ -> db.Connection.close
        """,
        untraced="db.Connection.cursor -> db.Cursor",
        indirect="main.names -> db.Connection.__enter__, db.Connection.__exit__",
    ),
    program(
        "method_call_operator",
        """
        --- main.py
        class Scale:
            def __init__(self, factor):
                self.factor = factor

            def __call__(self, value):
                return self.apply(value)

            def apply(self, value):
                return value * self.factor

            def __add__(self, other):
                return Scale(self.factor + other.factor)

            def __iter__(self):
                yield self.factor

        double = Scale(2)
        double(4)
        both = double + Scale(3)
        both(1)
        list(both)
        """,
        calls="""
        main -> main.Scale.__init__, main.Scale.__call__
        main.Scale.__call__ -> main.Scale.apply
        main.Scale.__add__ -> main.Scale.__init__
        """,
        indirect="main -> main.Scale.__add__, main.Scale.__iter__",
    ),
    program(
        "method_unbound",
        """
        --- main.py
        from method_unbound import shapes

        def area(shape):
            return shapes.Square.area(shape)

        square = shapes.Square()
        area(square)
        shapes.Square.scale(square, 2)
        print(shapes.UNIT.area())
        --- shapes.py
        class Square:
            side = 1

            def area(self):
                return self.side ** 2

            def scale(self, factor):
                self.side *= factor
                return Square.area(self)

        UNIT = Square()
        """,
        calls="""
        main -> main.area, shapes.Square.scale, shapes.Square.area
        main.area -> shapes.Square.area
        shapes.Square.scale -> shapes.Square.area
        """,
        untraced="""
        main -> shapes.Square
        shapes -> shapes.Square
        """,
    ),
)
