"""Every benchmark, the report first: what `make bench` runs."""

from __future__ import annotations

from benchmarks import (
    dagster_bookkeeping,
    report,
    repository_scale,
    scip_indexer,
    scip_order,
    syntax_scaling,
    ui_load,
)

report.main([])
syntax_scaling.main()
scip_indexer.main()
scip_order.main()
dagster_bookkeeping.main()
repository_scale.main()
ui_load.main()
