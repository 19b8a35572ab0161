"""Real source trees for tests and benchmarks: pinned sdists, fetched from pip's index, never built or run."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.error import URLError
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import Request, urlopen

from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.toolchain import tools_folder
from codeanatomy_assets.toolchain_install import place_checked
from codeanatomy_assets.toolchain_network import index_url, tls_context

CORPUS_LIST = Path(__file__).with_name("corpora.txt")
TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Corpus:
    """One pinned sdist; `when` says whether the set-up fetches it (`setup`) or its first user does (`on-demand`)."""

    name: str
    version: str
    sha256: str
    when: str

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.tar.gz"


def declared() -> list[Corpus]:
    return [Corpus(*line.split()) for line in CORPUS_LIST.read_text(encoding="utf-8").splitlines()]


def fetch(name: str, version: str) -> Path:
    """The sdist's archive; from the cache when its hash is right, else from pip's index."""
    corpus = next((each for each in declared() if (each.name, each.version) == (name, version)), None)
    if corpus is None:
        raise CodeAnatomyError(f"corpus {name} {version} is not declared: add its line to {CORPUS_LIST.name}")
    archive = tools_folder() / "corpora" / corpus.file_name
    if archive.is_file() and hashlib.sha256(archive.read_bytes()).hexdigest() == corpus.sha256:
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        download = Path(scratch) / corpus.file_name
        _download(corpus, download)
        place_checked(download, archive, corpus.sha256)
    return archive


def unpack(name: str, version: str, folder: Path) -> Path:
    """Writes the sdist's regular files under `folder`; returns the tree's root."""
    extract_regular_files(fetch(name, version), folder)
    return folder / f"{name}-{version}"


def extract_regular_files(archive: Path, folder: Path) -> None:
    """Not tarfile's filter="data": Debian 12's Python 3.11.2 is older than it. Links and devices are left out."""
    with tarfile.open(archive) as tar:
        for member in tar:
            inside = PurePosixPath(member.name)
            if inside.is_absolute() or ".." in inside.parts:
                raise CodeAnatomyError(f"{archive.name} holds {member.name}, which points out of the archive")
            if member.isfile():
                target = folder / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                with _content_of(tar, member) as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink)


def main() -> int:
    for corpus in declared():
        if corpus.when == "setup":
            print(f"set-up: corpora: {corpus.name} {corpus.version}", flush=True)
            try:
                fetch(corpus.name, corpus.version)
            except CodeAnatomyError as error:
                print(f"set-up failed: {error}", file=sys.stderr)
                return error.exit_code
    return 0


def _content_of(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(member)
    assert content is not None, f"{member.name} is a regular file"
    return content


def _download(corpus: Corpus, target: Path) -> None:
    page = f"{index_url()}/{corpus.name}/"
    context = tls_context()
    try:
        # HTML is the one form every index and mirror serves; JSON is optional.
        with urlopen(Request(page, headers={"Accept": "text/html"}), timeout=TIMEOUT_SECONDS, context=context) as reply:
            link = _link_to(corpus, reply.read().decode("utf-8"), reply.url)
        with urlopen(link, timeout=TIMEOUT_SECONDS, context=context) as reply, target.open("wb") as sink:
            shutil.copyfileobj(reply, sink)
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise CodeAnatomyError(
            f"the corpus {corpus.name} {corpus.version} could not be fetched from pip's index ({reason}): "
            "check the network and pip's settings, then run make setup"
        ) from error


def _link_to(corpus: Corpus, page: str, page_url: str) -> str:
    links = _Links()
    links.feed(page)
    for href in links.hrefs:
        url = urljoin(page_url, href)
        if os.path.basename(unquote(urlsplit(url).path)).lower() == corpus.file_name:
            return url
    raise CodeAnatomyError(f"pip's index offers no {corpus.file_name}: check pip's index-url, then run make setup")


class _Links(HTMLParser):
    """The addresses of a simple-index page."""

    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hrefs += [value for name, value in attrs if tag == "a" and name == "href" and value]


if __name__ == "__main__":
    sys.exit(main())
