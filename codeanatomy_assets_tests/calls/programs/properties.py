"""Properties: functions that reading, setting or deleting an attribute calls."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "property_read",
        """
        --- main.py
        from property_read.box import Box

        def volume(box: Box) -> int:
            return box.area * 2

        box = Box(3)
        volume(box)
        print(box.side)
        --- box.py
        class Box:
            def __init__(self, side: int) -> None:
                self._side = side

            @property
            def side(self) -> int:
                return self._side

            @property
            def area(self) -> int:
                return self.side * self.side
        """,
        calls="""
        main -> box.Box.__init__, main.volume, box.Box.side
        main.volume -> box.Box.area
        box.Box.area -> box.Box.side
        """,
    ),
    program(
        "property_setter",
        """
        --- main.py
        class Thermostat:
            def __init__(self, degrees):
                self.degrees = degrees

            @property
            def degrees(self):
                return self._degrees

            @degrees.setter
            def degrees(self, value):
                self._degrees = self.checked(value)

            @degrees.deleter
            def degrees(self):
                self.reset()

            def checked(self, value):
                return min(value, 30)

            def reset(self):
                self._degrees = 0

        def warm(thermostat: Thermostat):
            thermostat.degrees += 1
            del thermostat.degrees

        warm(Thermostat(20))
        """,
        calls="""
        main -> main.warm, main.Thermostat.__init__
        main.warm -> main.Thermostat.degrees
        main.Thermostat.__init__ -> main.Thermostat.degrees
        main.Thermostat.degrees -> main.Thermostat.checked, main.Thermostat.reset
        """,
    ),
    program(
        "property_inherited",
        """
        --- main.py
        from property_inherited.people import Employee

        def card(employee: Employee) -> str:
            return employee.label + employee.name

        card(Employee())
        --- people.py
        from .base import Named

        class Employee(Named):
            @property
            def label(self) -> str:
                return super().label + self.initial
        --- base.py
        class Named:
            @property
            def name(self) -> str:
                return "ada"

            @property
            def initial(self) -> str:
                return self.name[0]

            @property
            def label(self) -> str:
                return "-"
        """,
        calls="""
        main -> main.card
        main.card -> people.Employee.label, base.Named.name
        people.Employee.label -> base.Named.label, base.Named.initial
        base.Named.initial -> base.Named.name
        """,
        untraced="main -> people.Employee",
    ),
    program(
        "property_cached",
        """
        --- main.py
        from functools import cached_property

        from property_cached.source import read

        class Document:
            @cached_property
            def text(self):
                return read("a.txt")

            @cached_property
            def words(self):
                return self.text.split()

            def count(self):
                return len(self.words)

        document = Document()
        document.count()
        document.text
        other = Document()
        other.text
        --- source.py
        def read(path):
            return f"text of {path}"
        """,
        calls="""
        main -> main.Document.count, main.Document.text
        main.Document.count -> main.Document.words
        main.Document.words -> main.Document.text
        main.Document.text -> source.read
        """,
        untraced="main -> main.Document",
    ),
    program(
        "property_chain",
        """
        --- main.py
        from property_chain.org import Company

        def city(company: Company) -> str:
            return company.owner.address.city()

        def cities(companies: list[Company]) -> list[str]:
            return [each.owner.name for each in companies]

        city(Company())
        cities([Company()])
        --- org.py
        from property_chain.people import Person

        class Company:
            @property
            def owner(self) -> Person:
                return Person("eve")
        --- people.py
        class Address:
            def city(self) -> str:
                return "Oslo"

        class Person:
            def __init__(self, name: str) -> None:
                self.name = name

            @property
            def address(self) -> Address:
                return Address()
        """,
        calls="""
        main -> main.city, main.cities
        main.city -> org.Company.owner, people.Person.address, people.Address.city
        main.cities -> org.Company.owner
        org.Company.owner -> people.Person.__init__
        """,
        untraced="""
        main -> org.Company
        people.Person.address -> people.Address
        """,
    ),
    program(
        "property_built",
        """
        --- main.py
        class Account:
            def __init__(self):
                self.cents = 0

            def _get(self):
                return self.cents / 100

            def _set(self, value):
                self.cents = int(value * 100)

            balance = property(_get, _set)

        account = Account()
        account.balance = 3
        account.balance
        """,
        calls="main -> main.Account.__init__, main.Account._set, main.Account._get",
    ),
)
