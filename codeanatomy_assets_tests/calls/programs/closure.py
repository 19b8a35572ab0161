"""Calls inside functions that outlive the one around them, of names that it bound."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import program

PROGRAMS = (
    program(
        "closure_counter",
        """
        --- main.py
        def step(value):
            return value + 1

        def counter():
            count = 0

            def increase():
                nonlocal count
                count = step(count)
                return count

            return increase

        tick = counter()
        tick()
        """,
        calls="""
        main -> main.counter, main.counter.increase
        main.counter.increase -> main.step
        """,
    ),
    program(
        "closure_sibling",
        """
        --- main.py
        from closure_sibling.api import client

        get = client("host")
        get("/a")
        --- api.py
        from .wire import send

        def client(host):
            def url(path):
                return host + path

            def get(path):
                return send(url(path))

            return get
        --- wire.py
        def send(url):
            return url
        """,
        calls="""
        main -> api.client, api.client.get
        api.client.get -> api.client.url, wire.send
        """,
    ),
    program(
        "closure_bound_object",
        """
        --- main.py
        from closure_bound_object.log import Log

        def logger(name):
            log = Log(name)

            def write(text):
                log.add(text)
                return log.size()

            return write

        write = logger("a")
        write("one")
        --- log.py
        class Log:
            def __init__(self, name):
                self.lines = [name]

            def add(self, text):
                self.lines.append(text)

            def size(self):
                return len(self.lines)
        """,
        calls="""
        main -> main.logger, main.logger.write
        main.logger -> log.Log.__init__
        main.logger.write -> log.Log.add, log.Log.size
        """,
    ),
    program(
        "closure_given_function",
        """
        --- main.py
        def clean(text):
            return text.strip()

        def shout(text):
            return text.upper()

        def both(first, second):
            def run(text):
                return second(first(text))

            return run

        def main():
            tidy = both(clean, shout)
            return tidy(" a ")

        main()
        """,
        calls="""
        main -> main.main
        main.main -> main.both, main.both.run
        main.both.run -> main.clean, main.shout
        """,
    ),
    program(
        "closure_self",
        """
        --- main.py
        class Button:
            def __init__(self, label):
                self.label = label

            def handler(self):
                def handle(event):
                    self.flash()
                    return self.describe(event)

                return handle

            def flash(self):
                return None

            def describe(self, event):
                return f"{self.label} {event}"

        def click(button: Button):
            handle = button.handler()
            handle("click")

        click(Button("ok"))
        """,
        calls="""
        main -> main.click, main.Button.__init__
        main.click -> main.Button.handler, main.Button.handler.handle
        main.Button.handler.handle -> main.Button.flash, main.Button.describe
        """,
    ),
    program(
        "closure_late_import",
        """
        --- main.py
        from closure_late_import.jobs import prepare

        prepare()()
        --- jobs.py
        def prepare():
            from closure_late_import import work as tasks
            from closure_late_import.work import finish

            def job():
                tasks.begin()

                def last():
                    return finish()

                return last()

            return job
        --- work.py
        def begin():
            return 1

        def finish():
            return begin()
        """,
        calls="""
        main -> jobs.prepare, jobs.prepare.job
        jobs.prepare.job -> work.begin, jobs.prepare.job.last
        jobs.prepare.job.last -> work.finish
        work.finish -> work.begin
        """,
    ),
)
