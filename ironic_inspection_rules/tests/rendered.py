# SPDX-License-Identifier: Apache-2.0

"""The blocks of the documentation as Sphinx renders them."""

import atexit
import functools
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing

from ironic_inspection_rules.tests import guide

_TIME_LIMIT = 300
_LANGUAGE = re.compile(r'highlight-(\S+) ')


class Block(typing.NamedTuple):
    """A block of a page; ``page`` is its path without a suffix."""

    page: str
    language: str
    text: str


class _Parser(html.parser.HTMLParser):
    """Collects the text of each ``pre``, with the language around it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._language = ''
        self._parts: list[str] | None = None

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        if tag == 'div':
            match = _LANGUAGE.match(dict(attrs).get('class') or '')
            self._language = match[1] if match else self._language
        elif tag == 'pre':
            self._parts = []

    def handle_endtag(self, tag: str) -> None:
        if tag == 'pre' and self._parts is not None:
            self.found.append((self._language, ''.join(self._parts)))
            self._language, self._parts = '', None

    def handle_data(self, data: str) -> None:
        if self._parts is not None:
            self._parts.append(data)


@functools.cache
def blocks() -> list[Block]:
    """Build the documentation, once in a process, and return its blocks.

    :raises: AssertionError with what Sphinx printed if it fails.
    """
    target = pathlib.Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, target, ignore_errors=True)
    done = subprocess.run(
        [
            sys.executable,
            '-m',
            'sphinx',
            '-q',
            '-b',
            'html',
            'doc/source',
            str(target),
        ],
        cwd=guide.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_TIME_LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    found = []
    for path in sorted(target.rglob('*.html')):
        parser = _Parser()
        parser.feed(path.read_text())
        page = str(path.relative_to(target).with_suffix(''))
        found += [Block(page, *each) for each in parser.found]
    return found
