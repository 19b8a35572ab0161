"""The commands about history: what two built commits differ in, SQL at one of them, and letting go of old ones."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from codeanatomy_assets.cli_arguments import Commands, add_command, add_wait, at_least, settings_of
from codeanatomy_assets.settings import from_environment

DIFF_EXAMPLES = """\
A and B are built commits: first digits, a branch or a tag. What only moved in its file is left out.

examples:
  codeanatomy diff HEAD~1 HEAD                       what the last commit did
  codeanatomy diff v1.0 HEAD --html diff.html        as a page too, for the browser
  codeanatomy diff 5a49c9a HEAD --json --limit 0     everything, for a program
"""
QUERY_EXAMPLES = """\
Every dataset is a table of its name; docs/datasets.md has the columns, DataFusion's manual the SQL.

examples:
  codeanatomy query "SELECT edge_kind, count(*) AS n FROM cpg_edges GROUP BY edge_kind ORDER BY n DESC"
  codeanatomy query "SELECT path FROM repo_snapshot WHERE is_python" --commit HEAD~1 --csv
"""
VACUUM_EXAMPLES = """\
Kept are the commits that either option keeps; one option alone is the whole rule. Without any, the settings
CODEANATOMY_RETAIN_COMMITS and CODEANATOMY_RETAIN_DAYS say it. The commit built last is always kept.

examples:
  codeanatomy vacuum --dry-run                       what would go
  codeanatomy vacuum --keep-commits 10               the last ten commits stay
  codeanatomy vacuum --keep-days 7 --keep-commits 10 and whatever was built in the last week
"""
DEFAULT_LIMIT = 40
DEFAULT_GRACE_HOURS = 1.0


def add_commands(commands: Commands) -> None:
    _add_diff(add_command(commands, "diff", "tell what commits did to the graph", DIFF_EXAMPLES))
    _add_query(add_command(commands, "query", "run SQL over the datasets of a built commit", QUERY_EXAMPLES))
    _add_vacuum(add_command(commands, "vacuum", "let go of commits past the retention", VACUUM_EXAMPLES))


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="A", help="the built commit that is compared with")
    parser.add_argument("new", metavar="B", help="the built commit that is looked at")
    parser.add_argument(
        "--limit",
        type=at_least(int, 0),
        default=DEFAULT_LIMIT,
        metavar="N",
        help=f"how many nodes and how many edges are listed, 0 for all (default: {DEFAULT_LIMIT}); counts are whole",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write it as one HTML page too")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.set_defaults(command=_diff)


def _add_query(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sql", metavar="SQL", help="one query")
    parser.add_argument("--commit", metavar="REV", help="a built commit, as for explain (default: the last)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    how.add_argument("--csv", action="store_true", help="print comma-separated values")
    parser.set_defaults(command=_query)


def _add_vacuum(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    parser.add_argument(
        "--keep-commits", type=at_least(int, 0), metavar="N", help="keep the commits built last, so many"
    )
    parser.add_argument(
        "--keep-days", type=at_least(float, 0), metavar="D", help="keep what was built in the last days"
    )
    parser.add_argument(
        "--grace-hours",
        type=at_least(float, 0),
        default=DEFAULT_GRACE_HOURS,
        metavar="H",
        help=f"keep what a reader may still be reading since (default: {DEFAULT_GRACE_HOURS:g})",
    )
    add_wait(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.set_defaults(command=_vacuum)


def _diff(told: argparse.Namespace) -> int:
    from codeanatomy_assets.orchestration import diff_report
    from codeanatomy_assets.orchestration.diff import graph_diff

    settings = settings_of(told)
    found = diff_report.as_object(graph_diff(settings, told.old, told.new), settings.storage_options, told.limit)
    if told.html:
        diff_report.write_page(found, told.html)
        print(f"{told.html}: the page", file=sys.stderr)
    print(json.dumps(found) if told.json else diff_report.as_text(found))
    return 0


def _query(told: argparse.Namespace) -> int:
    from codeanatomy_assets.orchestration import query

    answer = query.query(settings_of(told), told.sql, told.commit)
    print(query.as_json(answer) if told.json else query.as_csv(answer) if told.csv else query.as_table(answer))
    return 0


def _vacuum(told: argparse.Namespace) -> int:
    from codeanatomy_assets.orchestration.progress import Terminal
    from codeanatomy_assets.orchestration.vacuum import report_as_text, retention_of, vacuum

    settings = from_environment(state=told.state, lock_wait_seconds=told.wait)
    retention = retention_of(settings, told.keep_commits, told.keep_days, told.grace_hours)
    done = vacuum(settings, Terminal(), retention, told.dry_run)
    print(json.dumps(done) if told.json else report_as_text(done))
    return 0
