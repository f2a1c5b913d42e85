# SPDX-License-Identifier: Apache-2.0

"""Pages of the documentation, to be done as they are written.

Blocks of the language ``console`` are commands, with ``$`` or, for root,
``#`` before them, and what they print; ``...`` stands for anything. Blocks
with a caption are files. Rules with comments in YAML around them are an
example: those before them are what is given, those after them what comes out,
by the names of the corpus. A comment before a block says what a reader would
know and a machine would not::

    .. test: not run, <why>
    .. test: ends with <exit status of the last command of the block>
    .. test: node <name>, to be there before the page begins
    .. test: inspected node <name>, likewise
"""

from collections.abc import Iterator
import dataclasses
import pathlib
import re
import typing

import yaml

import ironic_inspection_rules

ROOT = pathlib.Path(ironic_inspection_rules.__file__).parents[1]

_HEAD = re.compile(r'(?P<indent> *)\.\. code-block:: (?P<language>[\w-]+)')
_CAPTION = re.compile(r' +:caption: (?P<name>\S+)')
_COMMENT = re.compile(r' *\.\. test: (?P<text>.*)')
_VARIABLE = (
    re.compile(r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'),
    re.compile(
        r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?'
        r'(?:\+00:00|Z)?'
    ),
)


class Step(typing.NamedTuple):
    """A command, what it is said to print, and how it is to end."""

    command: str
    output: str
    status: int = 0


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of a page.

    ``line`` counts from one, ``caption`` is the name of a file or None,
    ``comments`` are those about the test that stand before the block.
    """

    line: int
    language: str
    caption: str | None
    text: str
    comments: tuple[str, ...] = ()

    @property
    def reason(self) -> str | None:
        """Why it is not run, None where it is."""
        for comment in self.comments:
            if comment.startswith('not run'):
                return comment.removeprefix('not run').lstrip(', ')
        return None

    @property
    def steps(self) -> list[Step]:
        """The commands of a block of the language ``console``."""
        found: list[Step] = []
        open_end = False
        # What is printed may begin with the other sign.
        sign = self.text[:2]
        for line in self.text.splitlines():
            prompt = line.startswith(sign)
            if open_end or line.startswith('> '):
                found[-1] = found[-1]._replace(
                    command=f'{found[-1].command}\n{line.removeprefix("> ")}'
                )
            elif prompt:
                found.append(Step(line.removeprefix(sign), ''))
            else:
                found[-1] = found[-1]._replace(
                    output=f'{found[-1].output}{line}\n'
                )
            open_end = (open_end or prompt) and line.endswith('\\')
        status = [
            int(comment.split()[-1])
            for comment in self.comments
            if comment.startswith('ends with')
        ]
        if status:
            found[-1] = found[-1]._replace(status=status[0])
        return found

    @property
    def is_example(self) -> bool:
        """Whether its comments say what comes out."""
        return self.language == 'yaml' and bool(comments(self.text)[1])


class Page:
    """A page.

    :param path: from the root of the checkout.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.text = ROOT.joinpath(path).read_text()
        self.blocks = list(_blocks(self.text.splitlines()))

    @property
    def files(self) -> dict[str, str]:
        """The files that the page shows, by name."""
        return {
            block.caption: block.text for block in self.blocks if block.caption
        }

    @property
    def steps(self) -> list[Step]:
        """All commands that are run, in order."""
        return [
            step
            for block in self.blocks
            if block.language == 'console' and block.reason is None
            for step in block.steps
        ]

    def nodes(self, kind: str) -> list[str]:
        """Names of the nodes that are there before the page begins.

        :param kind: ``node`` or ``inspected node``.
        """
        return re.findall(
            rf'^ *\.\. test: {kind} (\S+)$', self.text, re.MULTILINE
        )


def pages() -> list[str]:
    """Return the paths of all pages; none where there is no checkout."""
    found = [
        ROOT / 'README.rst',
        *ROOT.glob('doc/source/**/*.rst'),
        *ROOT.glob('deploy/*/README.rst'),
        *ROOT.glob('api-ref/source/*.inc'),
        *ROOT.glob('api-ref/source/*.rst'),
    ]
    return sorted(
        str(path.relative_to(ROOT))
        for path in found
        if path.is_file() and ROOT.joinpath('doc').is_dir()
    )


def matches(said: str, printed: str) -> bool:
    """Tell whether a command printed what the page says.

    What is new each time, such as a UUID, is anything of its kind, and
    ``...`` is any text.
    """
    parts = [re.escape(_constant(part)) for part in said.split('...')]
    return (
        re.fullmatch('.*?'.join(parts), _constant(printed), re.DOTALL)
        is not None
    )


def comments(text: str) -> tuple[dict[str, typing.Any], dict[str, typing.Any]]:
    """Return what the comments before and after an example say."""
    lines = text.strip().splitlines()
    before: list[str] = []
    after: list[str] = []
    while lines and lines[0].startswith('# '):
        before.append(lines.pop(0).removeprefix('# '))
    while lines and lines[-1].startswith('# '):
        after.insert(0, lines.pop().removeprefix('# '))
    return (
        yaml.safe_load('\n'.join(before)) or {},
        yaml.safe_load('\n'.join(after)) or {},
    )


def _constant(text: str) -> str:
    for pattern in _VARIABLE:
        text = pattern.sub('~', text)
    return '\n'.join(line.rstrip() for line in text.strip().splitlines())


def _blocks(lines: list[str]) -> Iterator[Block]:
    comments: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        comment, head = _COMMENT.fullmatch(line), _HEAD.fullmatch(line)
        if comment:
            text = comment['text']
            while number < len(lines) and lines[number].startswith('   '):
                text += f' {lines[number].strip()}'
                number += 1
            comments.append(text)
        elif head:
            yield _block(lines, number, head, tuple(comments))
            comments = []
        elif line:
            comments = []


def _block(
    lines: list[str],
    number: int,
    head: re.Match[str],
    comments: tuple[str, ...],
) -> Block:
    """Read the block whose head is before a line, by number from zero."""
    first, caption = number, None
    indent = head['indent'] + '   '
    while lines[number].strip():
        found = _CAPTION.fullmatch(lines[number])
        caption = found['name'] if found else caption
        number += 1
    text: list[str] = []
    for line in lines[number:]:
        if line.strip() and not line.startswith(indent):
            break
        text.append(line[len(indent) :])
    return Block(
        first,
        head['language'],
        caption,
        '\n'.join(text).strip('\n') + '\n',
        comments,
    )
