# SPDX-License-Identifier: Apache-2.0

"""YAML as people like to read it."""

import math
import sys
import textwrap
import typing

import yaml

from ironic_inspection_rules import exceptions


class Plain:
    """Write twice what is in two places, without ``&id001``."""

    def ignore_aliases(self, _data: typing.Any) -> bool:
        """Keep a dumper from looking for what it has written before."""
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Put text in double quotes where others would read it otherwise.

        PyYAML writes U+0085 as it is and reads it as a line feed.
        """
        represent: typing.Any = self
        return represent.represent_scalar(
            'tag:yaml.org,2002:str', text,
            '"' if exceptions.CONTROL_CHARACTER.search(text) else None)


class Dumper(Plain, yaml.SafeDumper):  # type: ignore[misc]
    """A dumper whose output does not depend on how PyYAML was built."""

    allow_unicode: bool | None

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Write a text, with escapes where a terminal would not show it."""
        allowed = self.allow_unicode
        if exceptions.CONTROL_CHARACTER.search(text):
            self.allow_unicode = False
        super().write_double_quoted(text, split)
        self.allow_unicode = allowed


class FastDumper(Plain, getattr(  # type: ignore[misc]
        yaml, 'CSafeDumper', yaml.SafeDumper)):
    """A dumper for what is large."""


for _dumper in (Dumper, FastDumper):
    _dumper.add_representer(str, Plain.represent_text)


def dump(value: typing.Any, **options: typing.Any) -> str:
    """Write plain data, with mappings in their own order.

    :param options: of PyYAML's ``dump``.
    """
    options = {'Dumper': Dumper, 'sort_keys': False, 'allow_unicode': True,
               **options}
    text = str(yaml.dump(value, **options))
    if exceptions.CONTROL_CHARACTER.search(text.replace('\n', '')):
        # libyaml has no escapes for what turns text around.
        text = str(yaml.dump(value, **{**options, 'Dumper': Dumper}))
    return text


def comment(text: str, width: float = math.inf) -> str:
    """Write a text as a comment, whatever is in it.

    :param width: characters of a line.
    """
    line = exceptions.one_line(' '.join(text.split()))
    return '\n'.join(textwrap.wrap(
        line, sys.maxsize if width == math.inf else int(width),
        initial_indent='# ', subsequent_indent='#   ',
        break_long_words=False, break_on_hyphens=False)) + '\n'
