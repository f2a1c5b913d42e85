# SPDX-License-Identifier: Apache-2.0

"""Results of machines, printed as they come.

Nothing of a machine is kept longer than it takes to print it, but for what
machines have in common.
"""

import collections
import functools
import re
import typing
from xml.etree import ElementTree

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.report import trial_text
from ironic_inspection_rules.trial import machine_test

_ONE_BY_ONE = 20
"""Of more machines a table shows what they have in common."""

_NAMES = 3

_NOT_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')

Case = tuple[str, str, str]
"""A machine: its name, ``ok``, ``failed`` or ``error``, and why."""


class Listing(typing.Protocol):
    """Prints machines, in the order that it is given them."""

    @property
    def tell(self) -> machine_test.Tell:
        """Return the function that makes of each machine what is printed."""

    def add(self, told: typing.Any) -> None:
        """Print one more, sooner or later."""

    def end(self, results: collections.Counter[str]) -> None:
        """Print what is left.

        :param results: how many machines there were of each.
        """


class Json:
    """A list in JSON, each machine on a line if there are many."""

    def __init__(self, output: typing.TextIO, indented: bool) -> None:
        self.tell = functools.partial(trial_text.as_json,
                                      indent=2 if indented else None)
        self._output = output
        self._before = '['

    def add(self, told: str) -> None:
        """Print one machine."""
        self._output.write(self._before + told)
        self._before = ',\n'

    def end(self, results: collections.Counter[str]) -> None:
        """End the list."""
        self._output.write(']\n')


class Yaml:
    """A list in YAML."""

    tell = staticmethod(trial_text.as_yaml)

    def __init__(self, output: typing.TextIO) -> None:
        self._output = output

    def add(self, told: str) -> None:
        """Print one machine."""
        self._output.write(told)

    def end(self, results: collections.Counter[str]) -> None:
        """Print nothing more."""


class Table:
    """A line for each machine, or for all that fared alike; and the sum."""

    tell = staticmethod(trial_text.row)

    def __init__(self, output: typing.TextIO) -> None:
        self._output = output
        self._alike: dict[tuple[typing.Any, ...], list[str]] = {}
        self._counts: collections.Counter[tuple[typing.Any, ...]] = (
            collections.Counter())

    def add(self, told: trial_text.Row) -> None:
        """Put one machine to those that fared alike."""
        path, *fared = told
        paths = self._alike.setdefault(tuple(fared), [])
        self._counts[tuple(fared)] += 1
        if len(paths) < _ONE_BY_ONE:
            paths.append(path)

    def end(self, results: collections.Counter[str]) -> None:
        """Print the table and the sum."""
        total = self._counts.total()
        if total <= _ONE_BY_ONE:
            rows = sorted((path, *fared) for fared, paths
                          in self._alike.items() for path in paths)
        else:
            rows = [(self._names(fared), *fared) for fared in self._alike]
        if rows:
            self._output.write(f'{trial_text.rows_table(rows)}\n')
        if total and not any(fared[2] for fared in self._alike):
            self._output.write(_('nothing would change') + '\n')
        self._output.write(f'{trial_text.total(results)}\n')

    def _names(self, fared: tuple[typing.Any, ...]) -> str:
        paths, count = self._alike[fared], self._counts[fared]
        shown = paths[:_NAMES]
        if count > len(shown):
            shown.append(_('and %d more') % (count - len(shown)))
        return '\n'.join(shown)


class Junit:
    """A test case for each machine, as JUnit XML."""

    @staticmethod
    def tell(each: machine_test.MachineTest) -> Case:
        """Return what is told of a machine."""
        return each.path, each.result, each.error or ''

    def __init__(self, output: typing.TextIO) -> None:
        self._output = output
        self._cases: list[Case] = []

    def add(self, told: Case) -> None:
        """Take note of one machine."""
        self._cases.append(told)

    def end(self, results: collections.Counter[str]) -> None:
        """Print the suite."""
        self._output.write(junit(self._cases))


class Details:
    """All about each machine, those with the same rules and changes once."""

    tell = staticmethod(trial_text.details)

    def __init__(self, output: typing.TextIO) -> None:
        self._output = output
        self._groups: dict[tuple[str, str], list[str]] = {}

    def add(self, told: tuple[str, str, str]) -> None:
        """Put one machine to those that are like it."""
        path, verdict, body = told
        self._groups.setdefault((verdict, body), []).append(path)

    def end(self, results: collections.Counter[str]) -> None:
        """Print all groups."""
        self._output.write('\n\n'.join(
            '\n'.join([*paths[:-1], f'{paths[-1]}: {verdict}', body]).rstrip()
            for (verdict, body), paths in self._groups.items()) + '\n')


def junit(cases: list[Case]) -> str:
    """Return JUnit XML with a test case for each machine."""
    suite = ElementTree.Element('testsuite', {
        'name': 'ironic-inspection-rules', 'tests': str(len(cases)),
        **{attribute: str(sum(result == kind for _name, result, _why
                              in cases))
           for attribute, kind in (('failures', 'failed'),
                                   ('errors', 'error'))}})
    for name, result, why in cases:
        case = ElementTree.SubElement(suite, 'testcase', {
            'classname': 'inventory', 'name': _xml(name)})
        if result != 'ok':
            told = ElementTree.SubElement(
                case, 'failure' if result == 'failed' else 'error',
                {'message': _xml(why.partition('\n')[0])})
            told.text = _xml(why)
    ElementTree.indent(suite)
    return ('<?xml version="1.0" encoding="utf-8"?>\n'
            f'{ElementTree.tostring(suite, "unicode")}\n')


def _xml(value: str) -> str:
    return _NOT_XML.sub('�', value)
