"""Several indexers over one folder, for as many files as make their start worth it.

A document depends on the program alone, not on what its indexer was asked before: whoever is free takes the next files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

from codeanatomy_assets.extraction.scip_index import FailedFile, IndexedFile, Progress, ScipIndexer

# Neighbours import the same modules, which an indexer then reads once.
FILES_AT_ONCE = 25
# Each process reads the standard library's stubs and what the files share anew.
LEAST_FILES_PER_PROCESS = 300


def processes_for(files: int, at_most: int) -> int:
    """How many indexers so many files are worth."""
    return max(1, min(at_most, files // LEAST_FILES_PER_PROCESS))


def index_side_by_side(
    indexers: Sequence[ScipIndexer], files: Sequence[str], on_progress: Progress | None = None
) -> Iterator[IndexedFile | FailedFile]:
    """Each file's document, some files at a time, in their order; never more than a few ahead of who takes them."""
    if len(indexers) == 1:
        yield from indexers[0].index(files, on_progress)
        return
    free: SimpleQueue[ScipIndexer] = SimpleQueue()
    for indexer in indexers:
        free.put(indexer)

    def answers(some: Sequence[str]) -> list[IndexedFile | FailedFile]:
        indexer = free.get()
        try:
            return list(indexer.index(some))
        finally:
            free.put(indexer)

    pool = ThreadPoolExecutor(len(indexers), "indexing")
    portions = [files[start : start + FILES_AT_ONCE] for start in range(0, len(files), FILES_AT_ONCE)]
    asked: deque[Future[list[IndexedFile | FailedFile]]] = deque()
    done = 0
    try:
        while portions or asked:
            while portions and len(asked) < 2 * len(indexers):
                asked.append(pool.submit(answers, portions.pop(0)))
            for answer in asked.popleft().result():
                yield answer
                done += 1
                if on_progress is not None:
                    on_progress(done, len(files))
    finally:
        pool.shutdown(cancel_futures=True)
