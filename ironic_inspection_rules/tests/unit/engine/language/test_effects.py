# SPDX-License-Identifier: Apache-2.0

"""One module says what operations read and write."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.tests.unit import base


class Share(plugin.Action):
    """An action of others, whose code fails for an item."""

    def __call__(self, target, value):
        pass

    def writes(self, arguments):
        yield plugin.Write('trait', 100 // arguments['value'])


def action(op, loop=None, **arguments):
    (found,) = file_rule.read_actions(
        [{'op': op, 'args': arguments, 'loop': loop}], registry.installed()
    )
    return found


def of_others(loop):
    op = registry.Registry({}, {'share': Share}).action('share')
    return file_rule.Operation(
        '/actions/0', op, {'loop': loop}, False, {'value': '{item}'}
    )


class WritesTestCase(base.TestCase):
    def test_an_item_of_which_an_op_does_not_know_is_left_out(self):
        self.assertEqual(
            [20, 50],
            [write.name for write in effects.writes(of_others([5, 0, 2]))],
        )

    def test_who_checks_the_op_sees_its_error(self):
        self.assertRaises(
            exceptions.PluginFailed,
            effects.declared_writes,
            of_others([5, 0, 2]),
        )
        self.assertEqual(
            [20, 50],
            [
                write.name
                for write in effects.declared_writes(of_others([5, 2]))
            ],
        )

    def test_a_mapping_is_one_item(self):
        found = effects.writes(
            action('add-trait', {'a': 'CUSTOM_A'}, name='{item.a}')
        )
        self.assertEqual(['CUSTOM_A'], [write.name for write in found])

    def test_items_out_of_data_stay_fields(self):
        found = effects.writes(
            action('add-trait', '{inventory.disks}', name='{item}')
        )
        self.assertEqual(['{item}'], [write.name for write in found])

    def test_arguments_that_a_rule_leaves_out_have_their_defaults(self):
        op = registry.installed().action('set-traits')
        (write,) = effects.writes_of_op(op, {'names': ['CUSTOM_A']})
        self.assertEqual(
            ('traits', '', ['CUSTOM_A']), (write.kind, write.name, write.value)
        )


class EffectsTestCase(base.TestCase):
    def effect(self, *args, **kwargs):
        (found,) = effects.effects(action(*args, **kwargs))
        return found

    def test_places_are_steps_and_are_named(self):
        for op, arguments, place, root, name in (
            (
                'set-attribute',
                {'path': 'properties.a', 'value': 1},
                ('properties', 'a'),
                'node',
                'node attribute /properties/a',
            ),
            (
                'set-plugin-data',
                {'path': '/a/b', 'value': 1},
                ('a', 'b'),
                'plugin_data',
                'plugin data /a/b',
            ),
            (
                'set-port-attribute',
                {
                    'port_id': '52:54:00:AA:00:01',
                    'path': '/extra/a',
                    'value': 1,
                },
                ('52:54:00:aa:00:01', 'extra', 'a'),
                'ports',
                'port attribute /52:54:00:aa:00:01/extra/a',
            ),
            (
                'add-trait',
                {'name': 'CUSTOM_A'},
                ('CUSTOM_A',),
                'node',
                'trait "CUSTOM_A"',
            ),
            (
                'set-capability',
                {'name': 'a', 'value': 'b'},
                ('a',),
                'node',
                'capability "a"',
            ),
        ):
            found = self.effect(op, **arguments)
            self.assertEqual((place, root), (found.place, found.root), op)
            self.assertEqual(name, str(found))

    def test_what_is_appended_extends_the_list(self):
        self.assertEqual(
            effects.Effect('plugin_data', ('a',), {'b': 1}, True),
            self.effect('set-plugin-data', path='/a/-/b', value=1),
        )

    def test_a_hyphen_is_a_name_where_nothing_can_be_appended(self):
        for path, place, value in (
            ('/-', ('-',), 1),
            ('/-/a', ('-', 'a'), 1),
            ('/-/-/a', ('-',), {'a': 1}),
        ):
            found = self.effect('set-plugin-data', path=path, value=1)
            self.assertEqual((place, value), (found.place, found.value))
            reads = interpolation.sole_field('{plugin_data.-}')
            self.assertTrue(found.may_be_at(reads))
            others = interpolation.sole_field('{plugin_data.a}')
            self.assertFalse(found.may_be_at(others))

    def test_what_is_removed_is_absent(self):
        found = self.effect('del-attribute', path='/extra/a')
        self.assertIs(data_path.ABSENT, found.value)

    def test_fields_above_and_below_a_place_read_it(self):
        written = self.effect('set-plugin-data', path='/a/b', value=1)
        for field, reads in (
            ('{plugin_data.a}', True),
            ('{plugin_data.a.b.c}', True),
            ('{plugin_data.a.c}', False),
            ('{node.extra.a}', False),
            ('{inventory | default(plugin_data.a)}', True),
        ):
            for reader in (
                action('log', msg=field),
                action('log', field, msg='x'),
            ):
                self.assertIs(reads, written.may_be_read_by(reader), field)

    def test_any_field_of_a_port_may_read_what_is_written_to_one(self):
        written = self.effect(
            'set-port-attribute',
            path='/extra/a',
            value=1,
            port_id='52:54:00:AA:00:01',
        )
        self.assertTrue(
            written.may_be_read_by(action('log', msg='{ports.0.address}'))
        )


class MadePluginDataTestCase(base.TestCase):
    def test_what_is_put_there_is_made_and_what_is_removed_is_not(self):
        self.assertEqual(
            ['a', 'b'],
            list(
                effects.names_of_plugin_data(
                    (
                        action('set-plugin-data', path='/a/c', value=1),
                        action('set-plugin-data', path='b', value=1),
                        action('unset-plugin-data', path='/c'),
                        action('set-attribute', path='/extra/d', value=1),
                    )
                )
            ),
        )


class MentionsTestCase(base.TestCase):
    def test_only_text_with_fields_mentions_a_root(self):
        for value, mentioned in (
            ('{tables.a}', True),
            ('tables', False),
            ('{node}', False),
            ({'{tables.a}': 1}, True),
            ([{'a': ['{tables.a}']}], True),
        ):
            self.assertIs(mentioned, effects.mentions('tables', value))
