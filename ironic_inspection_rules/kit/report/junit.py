# SPDX-License-Identifier: Apache-2.0

"""Results of tests as JUnit XML, which CI systems show."""

import collections
from collections.abc import Sequence
import re
import typing
from xml.etree import ElementTree

_NOT_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
"""Characters that no XML may have, not even as references."""


class JunitCase(typing.NamedTuple):
    """A machine as JUnit has it.

    :ivar result: ``ok``, ``failed`` or ``error``.
    :ivar why: empty where the result is ``ok``.
    """

    name: str
    result: str
    why: str = ''


def render(cases: Sequence[JunitCase]) -> str:
    """Return JUnit XML with a test case for each machine.

    For example, ``<testcase classname="inventory" name="1.json"><failure
    message="no disk">no disk</failure></testcase>``. The format has no
    standard: all its readers know these elements and attributes, and group
    cases by ``classname``.
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
        # Lists of cases show the message; the page of a case shows the text.
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
    """Replace the characters that XML does not allow by a mark."""
    return _NOT_XML.sub('\N{REPLACEMENT CHARACTER}', text)
