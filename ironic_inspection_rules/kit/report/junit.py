# SPDX-License-Identifier: Apache-2.0

"""Formats results of tests as JUnit XML, which CI systems show.

In JUnit XML, a test suite has test cases. Here the suite is a run of ``test``,
and every machine is a test case::

    <testsuite name="…" tests="2" failures="1" errors="0">
      <testcase classname="inventory" name="1.json" />
      <testcase classname="inventory" name="2.json">
        <failure message="no disk">no disk</failure>
      </testcase>
    </testsuite>
"""

import collections
from collections.abc import Sequence
import re
import typing
from xml.etree import ElementTree

_NOT_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
"""Characters that XML does not allow, not even as references."""


class JunitCase(typing.NamedTuple):
    """The result of one machine, which becomes a test case of JUnit.

    :ivar name: the file of the machine, e.g. ``1.json``.
    :ivar result: ``ok``, ``failed`` or ``error``.
    :ivar reason: the reason for the result; empty if the result is ``ok``.
    """

    name: str
    result: str
    reason: str = ''


def render(cases: Sequence[JunitCase]) -> str:
    """Return JUnit XML with one test case per machine, see the module.

    The format has no standard. The XML has only elements and attributes that
    all CI systems know.
    """
    number_by_result = collections.Counter(case.result for case in cases)
    suite = ElementTree.Element(
        'testsuite',
        {
            'name': 'ironic-inspection-rules',
            'tests': str(len(cases)),
            'failures': str(number_by_result['failed']),
            'errors': str(number_by_result['error']),
        },
    )
    for case in cases:
        element = ElementTree.SubElement(
            suite,
            'testcase',
            {'classname': 'inventory', 'name': _replace_non_xml(case.name)},
        )
        if case.result == 'ok':
            # A test case without an element in it has passed.
            continue
        tag = 'error'
        if case.result == 'failed':
            tag = 'failure'
        # CI systems show the message in lists of cases, and the text on the
        # page of a single case.
        first_line = case.reason.partition('\n')[0]
        reason_element = ElementTree.SubElement(
            element, tag, {'message': _replace_non_xml(first_line)}
        )
        reason_element.text = _replace_non_xml(case.reason)
    ElementTree.indent(suite)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'{ElementTree.tostring(suite, "unicode")}\n'
    )


def _replace_non_xml(text: str) -> str:
    """Replace characters that XML does not allow with U+FFFD."""
    return _NOT_XML.sub('\N{REPLACEMENT CHARACTER}', text)
