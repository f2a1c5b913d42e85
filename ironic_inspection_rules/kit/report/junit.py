# SPDX-License-Identifier: Apache-2.0

"""Formats results of tests as JUnit XML, which CI systems show."""

import collections
from collections.abc import Sequence
import re
import typing
from xml.etree import ElementTree

_NOT_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
"""Characters that XML does not allow, not even as references."""


class JunitCase(typing.NamedTuple):
    """The result of one machine, which becomes a test case of JUnit.

    :ivar result: ``ok``, ``failed`` or ``error``.
    :ivar why: the reason for the result; empty if the result is ``ok``.
    """

    name: str
    result: str
    why: str = ''


def render(cases: Sequence[JunitCase]) -> str:
    """Return JUnit XML with one test case per machine.

    For example, ``<testcase classname="inventory" name="1.json"><failure
    message="no disk">no disk</failure></testcase>``. The format has no
    standard. These elements and attributes are used because all readers of the
    format know them and group cases by ``classname``.
    """
    results = collections.Counter(case.result for case in cases)
    suite = ElementTree.Element(
        'testsuite',
        {
            'name': 'ironic-inspection-rules',
            'tests': str(len(cases)),
            'failures': str(results['failed']),
            'errors': str(results['error']),
        },
    )
    for case in cases:
        element = ElementTree.SubElement(
            suite,
            'testcase',
            {'classname': 'inventory', 'name': _replace_non_xml(case.name)},
        )
        if case.result == 'ok':
            continue
        tag = 'error'
        if case.result == 'failed':
            tag = 'failure'
        # CI systems show the message in lists of cases, and the text on the
        # page of a single case.
        first_line = case.why.partition('\n')[0]
        problem = ElementTree.SubElement(
            element, tag, {'message': _replace_non_xml(first_line)}
        )
        problem.text = _replace_non_xml(case.why)
    ElementTree.indent(suite)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'{ElementTree.tostring(suite, "unicode")}\n'
    )


def _replace_non_xml(text: str) -> str:
    """Replace characters that XML does not allow with U+FFFD."""
    return _NOT_XML.sub('\N{REPLACEMENT CHARACTER}', text)
