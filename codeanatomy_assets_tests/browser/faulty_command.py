"""The codeanatomy command with a fault planted: every edge leads to a node that is not there.

python -m codeanatomy_assets_tests.browser.faulty_command build REPO --full --state DIR
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from codeanatomy_assets.cli import main
from codeanatomy_assets.contracts.graph import CPG_EDGES
from codeanatomy_assets.transforms import graph

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NOWHERE = "def_of_nothing"
sound_edges = graph.TRANSFORMS[CPG_EDGES.name]


def edges_to_nowhere(views: Mapping[str, DataFrame]) -> DataFrame:
    from pyspark.sql import functions as F

    return sound_edges(views).withColumn("dst_node_id", F.lit(NOWHERE))


if __name__ == "__main__":
    graph.TRANSFORMS[CPG_EDGES.name] = edges_to_nowhere
    sys.exit(main())
