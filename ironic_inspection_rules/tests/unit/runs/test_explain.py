# SPDX-License-Identifier: Apache-2.0

"""Who set a value, found in records of runs."""

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.runs import explain
from ironic_inspection_rules.runs import recorded_change
from ironic_inspection_rules.tests.unit import base


def change(path, before=None, after=None, where='node', op=None):
    """The record of a change."""
    if op is None:
        op = 'replace'
        if before is None:
            op = 'add'
        elif after is None:
            op = 'remove'
    return {
        'object': where,
        'op': op,
        'path': path,
        'before': before,
        'after': after,
        'action': 'set-attribute',
    }


def appended(path, index, after):
    """The record of a change that appended an item to a list."""
    return {**change(f'{path}/-', None, after), 'at': f'{path}/{index}'}


def rule(name, *changes):
    """The record of a rule."""
    return {'uuid': name, 'changes': list(changes)}


def sensitive(name, places=None):
    """The record of a sensitive rule, with the places that it set."""
    return {'uuid': name, 'matched': True, 'withheld': True, 'kept': places}


def phase(*rules, reverted=(), saved=True):
    """The record of a phase."""
    return {
        'rules': list(rules),
        'reverted': list(reverted),
        'audit': [],
        'saved': saved,
        'seconds': 0.1,
    }


def numbered(*runs):
    """Name runs by number; each is a mapping of phases."""
    for number, phases in enumerate(runs):
        places = {
            name: {
                each['uuid']: each['kept']
                for each in (*made['rules'], *made['reverted'])
                if 'kept' in each
            }
            for name, made in phases.items()
        }
        yield number, phases, places


def find(place, *runs):
    """Search runs, the newest is first."""
    return explain.find(numbered(*runs), place)


def node(*path):
    """A place in the node."""
    return recorded_change.RecordedPlace('node', path)


SIZE = node('extra', 'size')


class FindTestCase(base.TestCase):
    def assert_found(self, run, name, finding):
        self.assertIsNotNone(finding.setting)
        setting = finding.setting
        self.assertEqual((run, name), (setting.run, setting.rule['uuid']))

    def assert_not_found(self, finding, possible_setters=()):
        self.assertEqual((None, possible_setters), finding)

    def test_the_last_change_counts(self):
        older = {'main': phase(rule('a', change('/extra/size', None, 1)))}
        newer = {
            'preprocess': phase(rule('b', change('/extra/size', 1, 2))),
            'main': phase(
                rule('c', change('/extra/size', 2, 3), change('/extra/x', 1)),
                rule('d', change('/extra/x', 1, 2)),
            ),
        }
        self.assert_found(0, 'c', find(SIZE, newer, older))
        self.assert_found(1, 'a', find(SIZE, {'main': phase()}, older))

    def test_the_last_change_of_a_rule_counts(self):
        found = find(
            SIZE,
            {
                'main': phase(
                    rule(
                        'a',
                        change('/extra/size', None, 1),
                        change('/extra/size', 1, 2),
                    )
                )
            },
        )
        self.assertEqual(2, found.setting.change['after'])

    def test_reverting_comes_before_the_first_action(self):
        self.assert_found(
            0,
            'acts',
            find(
                SIZE,
                {
                    'main': phase(
                        rule('acts', change('/extra/size', None, 1)),
                        reverted=[
                            rule('undone', change('/extra/size', 1, None))
                        ],
                    )
                },
            ),
        )

    def test_what_a_rule_removed_is_explained_too(self):
        found = find(
            SIZE, {'main': phase(rule('a', change('/extra/size', 1, None)))}
        )
        self.assertEqual('remove', found.setting.change['op'])

    def test_what_was_not_saved_did_not_happen(self):
        self.assert_not_found(
            find(
                SIZE,
                {
                    'main': phase(
                        rule('a', change('/extra/size', None, 1)), saved=False
                    )
                },
            )
        )

    def test_a_change_of_a_part_is_a_change(self):
        self.assert_found(
            0,
            'a',
            find(
                node('extra', 'list'),
                {'main': phase(rule('a', change('/extra/list/3', None, 1)))},
            ),
        )

    def test_what_is_appended_to_another_list_does_not_count(self):
        changed = {'main': phase(rule('a', appended('/extra/a', 0, 1)))}
        self.assert_not_found(find(node('extra', 'b', '0'), changed))
        for item in ('b', '1'):
            self.assert_not_found(find(node('extra', 'a', item), changed))
        self.assert_found(0, 'a', find(node('extra', 'a', '0'), changed))
        self.assert_found(0, 'a', find(node('extra', 'a'), changed))

    def test_nobody_knows_the_whole_by_a_part_of_it(self):
        part = change('/extra/list/3', None, 1)
        self.assertIsNone(
            recorded_change.still_holds(
                part, node('extra', 'list'), [1, 2, 3, 1]
            )
        )
        for present in (1, [1, 2, 3], [1, 2, 3, 4], None, data_path.ABSENT):
            self.assertIs(
                False,
                recorded_change.still_holds(
                    part, node('extra', 'list'), present
                ),
                repr(present),
            )
        self.assertTrue(
            recorded_change.still_holds(part, node('extra', 'list', '3'), 1)
        )

    def test_a_change_of_the_whole_counts_if_the_part_is_another_one(self):
        changed = {
            'main': phase(
                rule(
                    'a',
                    change(
                        '/extra',
                        {'size': 1, 'other': 1},
                        {'size': 1, 'other': 2},
                    ),
                )
            )
        }
        self.assert_not_found(find(SIZE, changed))
        self.assert_found(0, 'a', find(node('extra', 'other'), changed))
        self.assert_found(
            0,
            'b',
            find(
                SIZE,
                {
                    'main': phase(
                        rule('b', change('/extra', {'x': 1}, {'size': None}))
                    )
                },
            ),
        )

    def test_setting_what_is_there_already_counts(self):
        again = {
            'uuid': 'b',
            'changes': [],
            'confirmed': [change('/extra/size', 1, 1)],
        }
        runs = (
            {'main': phase(again)},
            {'main': phase(rule('a', change('/extra/size', 0, 1)))},
        )

        self.assert_found(0, 'b', find(SIZE, *runs))
        self.assert_not_found(find(node('extra', 'other'), runs[0]))

    def test_of_a_sensitive_rule_that_set_it_later_the_uuid_is_told(self):
        older = {'main': phase(rule('a', change('/extra/size', None, 1)))}
        for places, found in (
            ([['node', '/extra/size']], 's'),
            ([['node', '/extra']], 's'),
            ([['node', '/extra/other']], 'a'),
            ([], 'a'),
        ):
            newer = {'main': phase(sensitive('s', places))}
            finding = find(SIZE, newer, older)
            self.assertEqual(found, finding.setting.rule['uuid'])
            self.assertEqual(found == 's', finding.setting.change is None)
            self.assertEqual((), finding.possible_setters)

    def test_what_the_record_hides_may_have_changed(self):
        self.assert_found(
            0,
            'a',
            find(
                SIZE,
                {
                    'main': phase(
                        rule('a', change('/extra', '******', {'size': 1}))
                    )
                },
            ),
        )

    def test_ports_and_traits_are_places_of_their_own(self):
        mac = 'port 52:54:00:00:00:01'
        runs = {
            'main': phase(
                rule('a', change('/extra/size', None, 1, mac)),
                rule('b', change('/CUSTOM_X', None, 'CUSTOM_X', 'traits')),
            )
        }
        self.assert_not_found(find(SIZE, runs))
        self.assert_found(
            0,
            'a',
            find(recorded_change.RecordedPlace(mac, ('extra', 'size')), runs),
        )
        self.assert_found(
            0,
            'a',
            find(
                recorded_change.RecordedPlace(
                    'port x', ('extra', 'size'), mac
                ),
                runs,
            ),
        )
        self.assert_found(
            0,
            'b',
            find(recorded_change.RecordedPlace('traits', ('CUSTOM_X',)), runs),
        )

    def test_a_capability_is_a_part_of_all_of_them(self):
        runs = {
            'main': phase(
                rule('a', change('/properties/capabilities', None, 'x:1')),
                rule(
                    'b', change('/properties/capabilities', 'x:1', 'x:1,y:2')
                ),
            )
        }
        path = ('properties', 'capabilities')
        self.assert_found(0, 'a', find(node(*path, 'x'), runs))
        self.assert_found(0, 'b', find(node(*path, 'y'), runs))
        self.assert_not_found(find(node(*path, 'z'), runs))

    def test_an_item_that_was_appended_is_known_by_its_index(self):
        runs = [
            {
                'main': phase(
                    rule('a', change('/extra/disks', None, [{'size': 1}])),
                    rule('b', appended('/extra/disks', 1, {'size': 2})),
                    rule('c', appended('/extra/disks', 2, {'size': 3})),
                )
            }
        ]
        for path, present, name in (
            (('extra', 'disks', '0'), {'size': 1}, 'a'),
            (('extra', 'disks', '1'), {'size': 2}, 'b'),
            (('extra', 'disks', '2', 'size'), 3, 'c'),
            (('extra', 'disks', '2'), recorded_change.UNKNOWN, 'c'),
        ):
            place = node(*path)
            found = find(place, *runs)
            self.assert_found(0, name, found)
            if name != 'a' and present is not recorded_change.UNKNOWN:
                self.assertTrue(
                    recorded_change.still_holds(
                        found.setting.change, place, present
                    ),
                    (path, present, name),
                )

    def test_a_sensitive_rule_that_set_it_is_found(self):
        older = {'main': phase(rule('a', change('/extra/size', None, 1)))}
        for path, found in (
            ('/extra/size', 's'),
            ('/extra', 's'),
            ('/extra/size/deep', 's'),
            ('/extra/x', 'a'),
        ):
            newer = {'main': phase(sensitive('s', [['node', path]]))}
            finding = find(SIZE, newer, older)
            self.assertEqual(found, finding.setting.rule['uuid'])
            self.assertEqual(found == 's', finding.setting.change is None)
            self.assertEqual((), finding.possible_setters)

    def test_the_sensitive_rule_that_set_a_trait_is_found(self):
        newer = {'main': phase(sensitive('s', [['traits', '/CUSTOM_A']]))}
        for name in ('CUSTOM_A', 'CUSTOM_B'):
            older = {
                'main': phase(
                    rule('a', change(f'/{name}', None, name, 'traits'))
                )
            }
            finding = find(
                recorded_change.RecordedPlace('traits', (name,)), newer, older
            )
            setter = {'CUSTOM_A': 's', 'CUSTOM_B': 'a'}[name]
            self.assertEqual(setter, finding.setting.rule['uuid'])
            self.assertEqual((), finding.possible_setters)
        self.assert_not_found(find(SIZE, newer))

    def test_what_a_sensitive_rule_appended_is_found(self):
        newer = {'main': phase(sensitive('s', [['node', '/extra/list/-']]))}
        self.assertEqual(
            's', find(node('extra', 'list', '3'), newer).setting.rule['uuid']
        )
        self.assert_not_found(find(node('extra', 'list', 'x'), newer))

    def test_sensitive_rules_that_may_have_been_it_are_named(self):
        runs = {
            'main': phase(
                sensitive('before'),
                rule('a', change('/extra/size', None, 1)),
                sensitive('after'),
            )
        }
        self.assertEqual(('after',), find(SIZE, runs).possible_setters)
        self.assert_not_found(
            find(node('extra', 'x'), runs), ('after', 'before')
        )
