"""Every benchmark, one after the other: what `make bench` runs."""

from __future__ import annotations

from benchmarks import syntax_scaling

syntax_scaling.main()
