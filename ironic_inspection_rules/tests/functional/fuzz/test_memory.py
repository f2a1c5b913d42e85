# SPDX-License-Identifier: Apache-2.0

"""Memory does not grow, whoever posts whatever how often."""

import json

from ironic_inspection_rules.tests.functional.fuzz import cases
from ironic_inspection_rules.tests.functional.fuzz import child
from ironic_inspection_rules.tests.functional.fuzz import test_fuzz
from ironic_inspection_rules.tests.unit import base

BODY = 2**18
"""In bytes: about what a machine posts."""

_DATA = '{plugin_data[long]}'
RULES = (
    {
        'actions': [
            {
                'op': 'set-plugin-data',
                'loop': '{plugin_data[names]}',
                'args': {'path': '/set/{item}', 'value': _DATA},
            },
            {
                'op': 'extend-plugin-data',
                'loop': '{plugin_data[names]}',
                'args': {'path': '/extended/{item}', 'value': _DATA},
            },
        ]
    },
    {
        'conditions': [{'op': 'matches', 'args': [_DATA, 'x{9}']}],
        'actions': [{'op': 'log', 'args': {'msg': 'a'}}],
    },
    {
        'conditions': [{'op': 'lt', 'args': [_DATA, 5]}],
        'actions': [{'op': 'log', 'args': {'msg': 'b'}}],
    },
    {
        'conditions': [{'op': 'eq', 'args': ['{inventory}', '{plugin_data}']}],
        'actions': [{'op': 'log', 'args': {'msg': 'c'}}],
    },
)


def body(number: int) -> bytes:
    """Return inspection data whose texts no other body has."""
    text = f'password{number}' + 'x' * (BODY // 4)
    return json.dumps(
        {
            'inventory': {
                'interfaces': [{'mac_address': f'52:54:00:ff:00:{number:02x}'}]
            },
            text: text,
            'long': text,
            'names': [text[:200]],
            'many': [f'{number}-{each}' for each in range(BODY // 40)],
        }
    ).encode()


class MemoryTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.served = test_fuzz.Child()
        self.addCleanup(self.served.stop)
        for rule in RULES:
            self.assertEqual(
                201,
                self.send(
                    '/v1/inspection_rules',
                    json.dumps({**rule, 'phase': 'early'}).encode(),
                ),
            )

    def send(self, path, content):
        return self.served.judge(
            cases.Case(
                method='POST', path=path, type='application/json', body=content
            )
        )['status']

    def size(self):
        return self.served.judge(
            cases.Case(method=child.SIZE, path='', type='', body=b'')
        )['size']

    def size_after(self, numbers):
        for number in numbers:
            self.assertEqual(
                404, self.send('/v1/continue_inspection', body(number))
            )
            # What is let go of late leaves holes that stay.
            if number % 5 == 4:
                size = self.size()
        return size

    def test_what_was_posted_is_forgotten(self):
        before = self.size_after(range(25))
        self.assertLess(self.size_after(range(25, 50)) - before, 4 * BODY)
