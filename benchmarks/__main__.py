"""Every benchmark, the report last, which tells the others' figures too: what `make bench` runs."""

from __future__ import annotations

import sys

from benchmarks import (
    cluster_memory,
    dagster_bookkeeping,
    report,
    repository_scale,
    scip_indexer,
    scip_order,
    spark_settings,
    syntax_scaling,
    ui_load,
)

ALL = (
    syntax_scaling,
    scip_indexer,
    scip_order,
    dagster_bookkeeping,
    repository_scale,
    cluster_memory,
    spark_settings,
    ui_load,
    report,
)


def main() -> int:
    """Run them all; one that ends itself, without a browser say, leaves the others their turn."""
    failed = 0
    for benchmark in ALL:
        try:
            benchmark.main()
        except SystemExit as ended:
            print(f"{benchmark.__name__}: {ended}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
