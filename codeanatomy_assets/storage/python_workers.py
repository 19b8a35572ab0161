"""The process that Spark's Python workers are forked from: pyspark's own, with workers that keep what they imported.

pyspark looks through all of a worker's memory for garbage after each task. With what our workers import that takes 40
to 100 ms a task, more than most tasks themselves.
"""

from __future__ import annotations

import gc
import socket

from pyspark import daemon

run_task = daemon.worker


def run_task_and_keep(sock: socket.socket, authenticated: bool) -> int:
    """One task in a forked worker. Once its garbage is gone, the rest are modules, which stay as long as the worker."""
    code = run_task(sock, authenticated)
    gc.collect()
    gc.freeze()
    return code


if __name__ == "__main__":
    daemon.worker = run_task_and_keep
    daemon.manager()
