# SPDX-License-Identifier: Apache-2.0

"""Trials as JUnit XML, which systems for continuous integration show."""

import re
from xml.etree import ElementTree

from ironic_inspection_rules.trial import machine_test

_NOT_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')

Case = tuple[str, str, str]
"""A machine: its name, ``ok``, ``failed`` or ``error``, and why."""


def tell(each: machine_test.MachineTest) -> Case:
    """Return what is told of a trial."""
    return each.path, each.result, each.error or ''


def render(cases: list[Case]) -> str:
    """Return a suite with a test case for each machine."""
    suite = ElementTree.Element('testsuite', {
        'name': 'ironic-inspection-rules', 'tests': str(len(cases)),
        **{attribute: str(sum(result == kind for _name, result, _why
                              in cases))
           for attribute, kind in (('failures', 'failed'),
                                   ('errors', 'error'))}})
    for name, result, why in cases:
        case = ElementTree.SubElement(suite, 'testcase', {
            'classname': 'inventory', 'name': _text(name)})
        if result != 'ok':
            told = ElementTree.SubElement(
                case, 'failure' if result == 'failed' else 'error',
                {'message': _text(why.partition('\n')[0])})
            told.text = _text(why)
    ElementTree.indent(suite)
    return ('<?xml version="1.0" encoding="utf-8"?>\n'
            f'{ElementTree.tostring(suite, "unicode")}\n')


def _text(value: str) -> str:
    return _NOT_XML.sub('�', value)
