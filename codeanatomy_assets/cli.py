"""The codeanatomy command: a thin front of the project's jobs and of reads that need no JVM."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from codeanatomy_assets import __version__, cli_history
from codeanatomy_assets.cli_arguments import add_command, add_wait, at_least, settings_of
from codeanatomy_assets.errors import BadInput, CodeAnatomyError
from codeanatomy_assets.settings import STRATEGIES, Settings, from_environment
from codeanatomy_assets.storage.disk_errors import refusal

DEFAULT_PORT = 3000
DEFAULT_EVERY = 5
EXIT_CODES = """\
exit codes: 0 done, 1 a failure, 2 bad usage or input. Settings are environment variables, listed in README.md.
`codeanatomy COMMAND --help` has the options and examples of a command.
"""
BUILD_EXAMPLES = """\
examples:
  codeanatomy build .                                HEAD of the repository here
  codeanatomy build ../click --commit v8.1.7         a tag of another one
  codeanatomy build . --full                         everything anew, as after a doubt
  codeanatomy build unpacked/ --worktree             a folder without git
"""
WATCH_EXAMPLES = """\
One line for each commit, until Ctrl-C. With --once the exit code is 1 if HEAD is not built at the end.

examples:
  codeanatomy watch .                                looks every five seconds
  codeanatomy watch . --once                         for a queue or a hook of your own
"""
STATUS_EXAMPLES = """\
examples:
  codeanatomy status                                 the last commits built, rows, who holds the state
  codeanatomy status --commit HEAD~1                 tables and versions of a commit, for SQL elsewhere
"""
EXPORT_EXAMPLES = """\
examples:
  codeanatomy export out/                            a Parquet file for each dataset, of the commit built last
  codeanatomy export out/ --commit v1 --commit v2    of two commits, a folder each
  codeanatomy export out/ --format graphml           the whole graph in one file
"""
UI_EXAMPLES = """\
Serves on 127.0.0.1 until interrupted, daemon and commit sensor included.

examples:
  codeanatomy ui                                     for the state here
  codeanatomy ui --state /srv/click --port 3001      for another one
"""
EXPLAIN_EXAMPLES = """\
examples:
  codeanatomy explain app/views.py                   at the commit built last
  codeanatomy explain views.py --commit HEAD~1       seen from the folder app, at the commit before
  codeanatomy explain app/views.py --commit 5a49c9a  at a built commit, by its first digits
"""
IMPACT_EXAMPLES = """\
examples:
  codeanatomy impact                                 what the commit built last touched
  codeanatomy impact --commit 5a49c9a                what another built commit touched
  codeanatomy impact c6ba5e2..HEAD                   every commit built after c6ba5e2, up to HEAD
  codeanatomy impact --html impact.html              as a picture too, for the browser
"""
VERIFY_EXAMPLES = """\
Each commit is built from scratch in a temporary state and compared row by row; exit code 1 if a row differs.

examples:
  codeanatomy verify                                 the commit built last
  codeanatomy verify --commits 5                     the last five, newest first
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. 0 is done, 2 bad usage or bad input, 1 a failure."""
    told = _parser().parse_args(arguments)
    try:
        code: int = told.command(told)
        sys.stdout.flush()
    except BadInput as error:
        return _told_why(error)
    except BrokenPipeError:
        # Python flushes once more at its end: to where nobody minds.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("codeanatomy: interrupted; the last built commit is as it was", file=sys.stderr)
        return 1
    except Exception as error:
        meant = refusal(error, _folders_written(told)) or error
        if not isinstance(meant, CodeAnatomyError):
            raise
        return _told_why(meant)
    return code


def _told_why(error: CodeAnatomyError) -> int:
    print(f"codeanatomy: {error}", file=sys.stderr)
    return error.exit_code


def _folders_written(told: argparse.Namespace) -> list[Path]:
    """The state folder, its tables, and where a command was asked to write."""
    asked = [getattr(told, name) for name in ("out", "html") if getattr(told, name, None)]
    return [*settings_of(told).written_folders, *asked]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="codeanatomy",
        description="A code property graph, kept current commit by commit.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_build(add_command(commands, "build", "build a repository's graph, or bring it up to date", BUILD_EXAMPLES))
    _add_watch(add_command(commands, "watch", "build each new commit as it comes, staying warm", WATCH_EXAMPLES))
    _add_status(add_command(commands, "status", "tell what is built", STATUS_EXAMPLES))
    _add_explain(add_command(commands, "explain", "tell why a file was rebuilt, or why not", EXPLAIN_EXAMPLES))
    _add_impact(add_command(commands, "impact", "tell which files a commit touched, and why", IMPACT_EXAMPLES))
    _add_export(add_command(commands, "export", "write graph and datasets as files", EXPORT_EXAMPLES))
    _add_verify(add_command(commands, "verify", "tell whether the state equals a clean build", VERIFY_EXAMPLES))
    cli_history.add_commands(commands)
    _add_ui(add_command(commands, "ui", "serve the Dagster UI on loopback", UI_EXAMPLES))
    return parser


def _add_build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("repo", type=Path, metavar="REPO", help="a git repository, or with --worktree any folder")
    parser.add_argument("--commit", metavar="REV", help="revision to build (default: HEAD)")
    parser.add_argument("--full", action="store_true", help="rebuild everything, whatever changed")
    parser.add_argument(
        "--worktree", action="store_true", default=None, help="build the folder's files as they are now"
    )
    parser.add_argument(
        "--strategy",
        metavar="NAME",
        help=f"how far a change reaches: {', '.join(STRATEGIES)}"
        f" (default: $CODEANATOMY_STRATEGY, or {Settings.strategy})",
    )
    add_wait(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.set_defaults(command=_build)


def _add_watch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("repo", type=Path, metavar="REPO", help="a git repository")
    parser.add_argument(
        "--every",
        type=at_least(float, 0.1),
        default=DEFAULT_EVERY,
        metavar="SECONDS",
        help=f"how often to look (default: {DEFAULT_EVERY})",
    )
    parser.add_argument(
        "--once", action="store_true", help="end when nothing is left to build, or nothing can be built now"
    )
    parser.set_defaults(command=_watch)


def _add_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--commit", metavar="REV", help="where each dataset of a built commit lies, and its version")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.set_defaults(command=_status)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file, seen from here or from the repository's top")
    parser.add_argument(
        "--commit", metavar="REV", help="a built commit: its first digits, or a branch or tag (default: the last)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.set_defaults(command=_explain)


def _add_impact(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--commit", metavar="REV", help="a built commit, as for explain (default: the last)")
    which.add_argument("range", nargs="?", metavar="A..B", help="the commits that were built after A, up to B")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the closure as a picture too, one HTML page")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.set_defaults(command=_impact)


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write to: one file per dataset")
    parser.add_argument(
        "--commit",
        metavar="REV",
        action="append",
        help="a built commit, as for explain (default: the last); given again, each goes to a folder of its own",
    )
    parser.add_argument("--bundle", action="store_true", help="the graph, and the commit's own inc_*, plans and times")
    parser.add_argument("--dataset", metavar="NAME", action="append", help="only this dataset; may be given again")
    parser.add_argument(
        "--format",
        metavar="NAME",
        action="append",
        choices=("parquet", "jsonl", "graphml"),
        help="parquet (default), jsonl, or graphml for the whole graph in one file; may be given again",
    )
    parser.set_defaults(command=_export)


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--commits",
        type=at_least(int, 1),
        default=1,
        metavar="N",
        help="how many of the last built commits (default: 1)",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list on stdout, an object for each commit")
    parser.set_defaults(command=_verify)


def _add_ui(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"port on 127.0.0.1 (default: {DEFAULT_PORT})")
    parser.set_defaults(command=_ui)


def _build(told: argparse.Namespace) -> int:
    from codeanatomy_assets.orchestration.build import build
    from codeanatomy_assets.orchestration.progress import Terminal
    from codeanatomy_assets.orchestration.summary import as_text

    settings = from_environment(
        repo=told.repo,
        state=told.state,
        worktree=told.worktree,
        strategy=told.strategy,
        lock_wait_seconds=told.wait,
    )
    built = build(settings, Terminal(), told.commit, told.full)
    print(json.dumps(built) if told.json else as_text(built, _next_command(told)))
    return 0


def _watch(told: argparse.Namespace) -> int:
    from codeanatomy_assets.orchestration.progress import Bars
    from codeanatomy_assets.orchestration.watch import watch

    settings = from_environment(repo=told.repo, state=told.state)
    return watch(
        settings,
        Bars(),
        told.every,
        told.once,
        say=lambda line: print(line, flush=True),
        complain=lambda line: print(line, file=sys.stderr, flush=True),
    )


def _status(told: argparse.Namespace) -> int:
    from codeanatomy_assets.orchestration.summary import status, status_as_text

    found = status(settings_of(told))
    if told.commit is not None:
        from codeanatomy_assets.orchestration.query import table_versions, versions_as_text

        found["at"] = table_versions(settings_of(told), told.commit)
        if not told.json:
            print(versions_as_text(found["at"]))
            return 0
    print(json.dumps(found) if told.json else status_as_text(found))
    return 0


def _explain(told: argparse.Namespace) -> int:
    from codeanatomy_assets.orchestration.explain import explain, explained_as_text

    found = explain(settings_of(told), told.path, told.commit, Path.cwd())
    print(json.dumps(found) if told.json else explained_as_text(found))
    return 0


def _impact(told: argparse.Namespace) -> int:
    from codeanatomy_assets.orchestration.explain import impacts, impacts_as_object, impacts_as_table
    from codeanatomy_assets.orchestration.impact_picture import write_page

    found = impacts(settings_of(told), told.range or told.commit)
    if told.html:
        write_page(found, told.html)
        print(f"{told.html}: the picture", file=sys.stderr)
    print(json.dumps(impacts_as_object(found)) if told.json else impacts_as_table(found))
    return 0


def _export(told: argparse.Namespace) -> int:
    from codeanatomy_assets.orchestration.export import export_commits

    formats = tuple(told.format or ("parquet",))
    for line in export_commits(settings_of(told), told.out, told.commit or (), told.dataset, formats, told.bundle):
        print(line, file=sys.stderr)
    return 0


def _verify(told: argparse.Namespace) -> int:
    from codeanatomy_assets.orchestration.progress import Terminal
    from codeanatomy_assets.orchestration.resources import spark_engine
    from codeanatomy_assets.orchestration.verify import verify

    settings = settings_of(told)
    engine = spark_engine(settings)
    found = []
    try:
        for each in verify(settings, engine, Terminal(), told.commits):
            found.append(each)
            if not told.json:
                print("\n".join(each.lines()), flush=True)
    finally:
        engine.stop()
    if told.json:
        print(json.dumps([asdict(each) for each in found]))
    return 1 if any(each.differences for each in found) else 0


def _ui(told: argparse.Namespace) -> int:
    from codeanatomy_assets.orchestration.build import serve_ui

    serve_ui(settings_of(told), told.port)


def _next_command(told: argparse.Namespace) -> Callable[[str], str]:
    """How to write a further command: as this one was called, on the same state."""
    called = Path(sys.argv[0])
    name = called.name if shutil.which(called.name) else os.path.relpath(called)
    state = f" --state {shlex.quote(str(told.state))}" if told.state else ""
    return lambda command: f"{name} {command}{state}"


if __name__ == "__main__":
    sys.exit(main())
