# SPDX-License-Identifier: Apache-2.0

"""Actions that have no effect are found, and no others."""

import json

from ironic_inspection_rules.kit.authoring.checks import conflicts
from ironic_inspection_rules.kit.authoring.checks import overwritten
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base

DISKS = '{inventory.disks}'
LARGE = {'op': 'gt', 'args': {'values': ['{item.size}', 100]}}


def write(path, value, **fields):
    return {
        'op': 'set-attribute',
        'args': {'path': path, 'value': value},
        **fields,
    }


def remove(path):
    return {'op': 'del-attribute', 'args': {'path': path}}


class OverwrittenTestCase(base.CheckTestCase):
    def found(self, *actions, **fields):
        return [
            pointer
            for pointer, _message in self.messages(
                overwritten.check,
                json.dumps([{'actions': list(actions), **fields}]),
            )
        ]

    def test_all_items_of_a_loop_that_write_one_place(self):
        for action in (
            write('/extra/a', '{item.name}', loop=DISKS),
            write('/extra/a', '{item}', loop=[1, 2]),
            {
                'op': 'set-capability',
                'loop': DISKS,
                'args': {'name': 'disk', 'value': '{item.name}'},
            },
        ):
            self.assertEqual(['/actions/0'], self.found(action), action)
        self.assertEqual(
            ['/actions/0'],
            self.found(
                write('/extra/a', '{item}', loop='{vars.names}'),
                vars={'names': ['a', 'b']},
            ),
        )

    def test_a_loop_of_which_more_than_the_last_item_counts(self):
        for action in (
            write('/extra/{item.name}', '{item.size}', loop=DISKS),
            write('/extra/a', '{item.name}', loop=DISKS, when=[LARGE]),
            write('/extra/a/-', '{item.name}', loop=DISKS),
            write('/extra/a', '{node.extra.a | add(item.size)}', loop=DISKS),
            write('/extra/{item}', '{item}', loop=['a', 'b']),
            write('/extra/a', '{item.name}', loop=[{'name': 'a'}]),
            {
                'op': 'extend-attribute',
                'loop': DISKS,
                'args': {'path': '/extra/a', 'value': '{item.name}'},
            },
            {
                'op': 'add-trait',
                'loop': ['CUSTOM_A', 'CUSTOM_B'],
                'args': {'name': '{item}'},
            },
        ):
            self.assertEqual([], self.found(action), action)

    def test_a_loop_that_chooses_the_item(self):
        for loop in (
            "{inventory.disks | sort('size')}",
            "{inventory.disks | selectattr('size', 'gt', 100)}",
            '{inventory.cpu}',
            {'name': 'a'},
        ):
            self.assertEqual(
                [],
                self.found(write('/extra/a', '{item.name}', loop=loop)),
                loop,
            )

    def test_what_is_appended_stays(self):
        self.assertEqual(
            [], self.found(write('/extra/a/-', 1), write('/extra/a/-', 2))
        )
        self.assertEqual(
            [],
            self.found(
                write('/extra/a/-/name', 1), write('/extra/a/-/name', 2)
            ),
        )

    def test_the_next_item_has_the_number_of_one_that_is_removed(self):
        self.assertEqual(
            [], self.found(remove('/extra/a/0'), remove('/extra/a/0'))
        )
        self.assertEqual(
            [], self.found(remove('/extra/a/0'), write('/extra/a/0', 1))
        )
        self.assertEqual(
            ['/actions/0'],
            self.found(remove('/extra/a/0'), remove('/extra/a')),
        )
        self.assertEqual(
            ['/actions/0'],
            self.found(write('/extra/a/0', 1), write('/extra/a/0', 2)),
        )

    def test_rules_that_append_do_not_conflict(self):
        rules = self.rules(
            json.dumps(
                [
                    {'actions': [write('/extra/a/-/name', number)]}
                    for number in (1, 2)
                ]
            )
        )
        self.assertEqual([], list(conflicts.check(rules)))
        rules = self.rules(
            json.dumps(
                [
                    {'actions': [write('/extra/a/-', 1)]},
                    {'actions': [write('/extra/a', [])]},
                ]
            )
        )
        self.assertEqual(1, len(list(conflicts.check(rules))))
