"""Methods that the receiver's class has from its bases."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "inherited_files",
        """
        --- main.py
        from inherited_files.puppy import Puppy

        def play():
            puppy = Puppy()
            puppy.bark()
            puppy.breathe()
            return puppy.sleep()

        play()
        --- puppy.py
        from .dogs import Dog

        class Puppy(Dog):
            def sleep(self):
                return self.breathe() + self.legs()
        --- dogs/__init__.py
        from .dog import Dog
        --- dogs/dog.py
        from ..animal import Animal

        class Dog(Animal):
            def bark(self):
                return self.breathe()

            def legs(self):
                return 4
        --- animal.py
        class Animal:
            def breathe(self):
                return 1
        """,
        calls="""
        main -> main.play
        main.play -> dogs.dog.Dog.bark, animal.Animal.breathe, puppy.Puppy.sleep
        puppy.Puppy.sleep -> animal.Animal.breathe, dogs.dog.Dog.legs
        dogs.dog.Dog.bark -> animal.Animal.breathe
        """,
        untraced="main.play -> puppy.Puppy",
    ),
    program(
        "inherited_diamond",
        """
        --- main.py
        class Base:
            def name(self):
                return "base"

            def size(self):
                return 0

        class Left(Base):
            def left(self):
                return self.size()

        class Right(Base):
            def name(self):
                return "right"

            def right(self):
                return self.name()

        class Bottom(Left, Right):
            def all(self):
                return self.left(), self.right(), self.name(), self.size()

        bottom = Bottom()
        bottom.all()
        bottom.name()
        """,
        calls="""
        main -> main.Bottom.all, main.Right.name
        main.Bottom.all -> main.Left.left, main.Right.right, main.Right.name, main.Base.size
        main.Left.left -> main.Base.size
        main.Right.right -> main.Right.name
        """,
        untraced="main -> main.Bottom",
    ),
    program(
        "inherited_override",
        """
        --- main.py
        from .base import Task
        from .tasks import Copy, Move

        def run_all():
            Copy().run()
            Move().run()
            Task().run()

        run_all()
        --- base.py
        class Task:
            def run(self):
                self.prepare()
                return self.finish()

            def prepare(self):
                return None

            def finish(self):
                return 0
        --- tasks.py
        from .base import Task

        class Copy(Task):
            def prepare(self):
                return self.finish()

        class Move(Copy):
            def run(self):
                self.prepare()
                return Task.run(self)

            def finish(self):
                return 1
        """,
        calls="""
        main -> main.run_all
        main.run_all -> base.Task.run, tasks.Move.run
        base.Task.run -> base.Task.prepare, base.Task.finish
        tasks.Copy.prepare -> base.Task.finish
        tasks.Move.run -> tasks.Copy.prepare, base.Task.run
        """,
        untraced="main.run_all -> tasks.Copy, tasks.Move, base.Task",
        indirect="""
        base.Task.run -> tasks.Copy.prepare, tasks.Move.finish
        tasks.Copy.prepare -> tasks.Move.finish
        """,
    ),
    program(
        "inherited_mixin",
        """
        --- main.py
        from inherited_mixin import mixins as parts
        from inherited_mixin.mixins import Named

        class Item(Named, parts.Priced, dict):
            def label(self):
                return f"{self.title()}: {self.price()}"

        item = Item(name="pen", cost=2)
        item.label()
        item.tagged("new")
        item.update(cost=3)
        --- mixins.py
        class Tagged:
            def tagged(self, tag):
                self["tag"] = tag
                return self

        class Named(Tagged):
            def title(self):
                return self["name"].title()

        class Priced(Tagged):
            def price(self):
                return self.rounded(self["cost"])

            def rounded(self, value):
                return round(value, 2)
        """,
        calls="""
        main -> main.Item.label, mixins.Tagged.tagged
        main.Item.label -> mixins.Named.title, mixins.Priced.price
        mixins.Priced.price -> mixins.Priced.rounded
        """,
        untraced="main -> main.Item",
    ),
    program(
        "inherited_generic",
        """
        --- main.py
        from .records import Repository, User

        class Users(Repository[User]):
            def first_name(self) -> str:
                return self.first().name()

        def main() -> None:
            users = Users([User("ada")])
            users.first_name()
            users.first().name()
            users.count()

        main()
        --- records.py
        from typing import Generic, TypeVar

        T = TypeVar("T")

        class Counted:
            items: list[object]

            def count(self) -> int:
                return len(self.items)

        class Repository(Counted, Generic[T]):
            def __init__(self, items: list[T]) -> None:
                self.items = items

            def first(self) -> T:
                return self.items[0]

        class User:
            def __init__(self, given: str) -> None:
                self.given = given

            def name(self) -> str:
                return self.given
        """,
        calls="""
        main -> main.main
        main.main -> records.Repository.__init__, records.User.__init__, main.Users.first_name
        main.main -> records.Repository.first, records.User.name, records.Counted.count
        main.Users.first_name -> records.Repository.first, records.User.name
        """,
    ),
    program(
        "inherited_local",
        """
        --- main.py
        import inherited_local.core.base

        def make():
            class Local(inherited_local.core.base.Base):
                def go(self):
                    return self.step(1)

            local = Local()
            local.go()
            return local.step(2)

        class Outer:
            class Inner(inherited_local.core.base.Base): ...

            class Second(Inner):
                def twice(self):
                    return self.step(1) + self.step(2)

        make()
        Outer.Second().twice()
        Outer.Inner().step(5)
        --- core/base.py
        class Base:
            def step(self, n):
                return n
        """,
        calls="""
        main -> main.make, main.Outer.Second.twice, core.base.Base.step
        main.make -> main.make.Local.go, core.base.Base.step
        main.make.Local.go -> core.base.Base.step
        main.Outer.Second.twice -> core.base.Base.step
        """,
        untraced="""
        main -> main.Outer.Second, main.Outer.Inner
        main.make -> main.make.Local
        """,
    ),
)
