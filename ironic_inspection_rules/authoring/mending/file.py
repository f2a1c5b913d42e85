# SPDX-License-Identifier: Apache-2.0

"""Mends files of rules in place."""

import contextlib
import os
import tempfile
import typing

import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.authoring.mending import change
from ironic_inspection_rules.authoring.mending import rule as rule_mending
from ironic_inspection_rules.authoring.mending import text as file_text
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule

_ROUNDS = 10
"""How often something may come to light once something else is mended."""

_MARK = '\ufeff'
"""The mark that editors of Windows begin a file with."""


class Mended(typing.NamedTuple):
    """Mending of a file; ``line`` counts from one."""

    path: str
    line: int
    what: str


def mend(path: str, ops: registry.Registry) -> list[Mended]:
    """Mend what has exactly one right mending in a file.

    All else in it stays as it is, and a file with nothing to mend is not
    written.

    :raises: OSError where it cannot be written.
    """
    try:
        with open(path, encoding='utf-8', newline='') as stream:
            before = stream.read()
        after, mended = mend_text(path, before, ops)
    except (OSError, UnicodeDecodeError, yaml.YAMLError,
            exceptions.InvalidDocument):
        # The checks say why it cannot be read.
        return []
    if after != before:
        _write(os.path.realpath(path), after)
    return mended


def mend_text(path: str, text: str,
              ops: registry.Registry) -> tuple[str, list[Mended]]:
    """Return the text of a file after mending, and what was mended.

    :raises: :class:`.exceptions.InvalidDocument` where it is no file of
        rules.
    """
    mark = _MARK if text.startswith(_MARK) else ''
    text = text.removeprefix(_MARK)
    mended: list[Mended] = []
    for _round in range(_ROUNDS):
        read = document.parse(path, text)
        places = file_text.Text(text)
        wanted = [(rule, each) for rule in file_rule.rules(read)
                  for each in dict.fromkeys(rule_mending.changes(rule, ops))
                  if places.has_room(rule.index, each)]
        text, made = _make(text, read, wanted)
        if not made:
            break
        mended += [Mended(path, rule.place(each.pointer)[0], str(each))
                   for rule, each in made]
    return mark + text, mended


Wanted = list[tuple[file_rule.WrittenRule, change.Change]]


def _make(text: str, read: document.Document,
          wanted: Wanted) -> tuple[str, Wanted]:
    """Make those changes that come out as they should."""
    if not wanted:
        return text, []
    edited = _edited(text, read, wanted)
    if edited is not None:
        return edited, wanted
    if len(wanted) == 1:
        return text, []
    half = len(wanted) // 2
    first, made = _make(text, read, wanted[:half])
    read = document.parse(read.path, first)
    second, more = _make(first, read, [
        (file_rule.WrittenRule(read, rule.index), each)
        for rule, each in wanted[half:]])
    return second, made + more


def _edited(text: str, read: document.Document,
            wanted: Wanted) -> str | None:
    """Return the text with changes if it then says what it should."""
    by_entry: dict[int, list[change.Change]] = {}
    for rule, each in wanted:
        by_entry.setdefault(rule.index, []).append(each)
    try:
        expected = [change.apply(entry, by_entry.get(index, ()))
                    for index, entry in enumerate(read.entries)]
        edited = file_text.Text(text).edited(
            (rule.index, each) for rule, each in wanted)
        entries = document.parse(read.path, edited).entries
    except (yaml.YAMLError, exceptions.InvalidDocument, LookupError,
            ValueError, TypeError, AttributeError):
        return None
    return edited if edited != text and data_path.same(
        list(entries), expected) else None


def _write(path: str, text: str) -> None:
    """Replace a file at once; its mode and owner stay."""
    status = os.stat(path)
    descriptor, name = tempfile.mkstemp(
        dir=os.path.dirname(path), prefix='.', suffix='.tmp')
    try:
        with open(descriptor, 'w', encoding='utf-8', newline='') as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, status.st_mode & 0o7777)
        with contextlib.suppress(PermissionError):
            os.chown(name, status.st_uid, status.st_gid)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
