# SPDX-License-Identifier: Apache-2.0

"""Sets of rules that some machine tells apart are never equivalent."""

import copy
import unittest

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.tests.unit import base

try:
    from ironic_inspection_rules.kit.proof import question
    from ironic_inspection_rules.kit.proof import witness
    from ironic_inspection_rules.tests.simulation.proof import leisure
except ImportError as exc:
    raise unittest.SkipTest('needs z3-solver') from exc

MAC = '52:54:00:12:34:ab'
NEW_MAC = '52:54:00:12:34:cd'
UUID = '5e1f6b5e-4a5c-4d1e-9c53-5b2f8f1c7a10'
ONE_PORT = {'op': 'eq', 'args': ['{ports | length}', 1]}


def attribute(path, value):
    return {'op': 'set-attribute', 'args': [path, value]}


def port(port_id, path, value):
    return {'op': 'set-port-attribute', 'args': [port_id, path, value]}


def rule(*actions, conditions=(), **more):
    return {'actions': [*actions], 'conditions': [*conditions], **more}


def machine(inventory=None, node=None, ports=None):
    usual = copy.deepcopy(witness.sample())
    return witness.Witness(
        {**usual['inventory'], **(inventory or {})},
        {},
        {**usual['node'], **(node or {})},
        ports,
    )


class ApartTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(leisure.Leisure())

    def parse(self, *entries):
        return repository.order(
            validation.parse(
                {'uuid': f'{UUID[:-1]}{number}', **entry}, registry.installed()
            )
            for number, entry in enumerate(entries)
        )

    def check(self, one, other, *machines):
        """Hold the verdict about two rules against what the engine does."""
        self.check_sets(self.parse(one), self.parse(other), *machines)

    def check_sets(self, one_set, other_set, *machines):
        engine = witness.Engine()
        for tells_apart in machines:
            self.assertTrue(engine.differs(one_set, other_set, tells_apart))
        proof = question.Proof(one_set, leisure.SECONDS, other_set)
        (answer,) = proof.answers([question.DIFFERENT])
        self.assertNotEqual(question.NO, answer.verdict)

    def test_an_entry_may_be_called_as_one_of_the_proof(self):
        self.check(
            rule(attribute('/properties/#capabilities/c', 'a')),
            rule({'op': 'set-capability', 'args': ['c', 'a']}),
            machine(),
        )
        for field in ('node.#traits', 'node.properties.#capabilities'):
            exists = {'op': 'exists', 'args': [f'{{{field}}}']}
            self.check(
                rule(attribute('/name', 'a'), conditions=[exists]),
                rule(attribute('/name', 'a')),
                machine(),
            )

    def test_a_name_may_look_like_a_path(self):
        exists = {'op': 'exists', 'args': ['{inventory.a.b}']}

        def named(field):
            is_one = {'op': 'eq', 'args': [field, '1']}
            return rule(attribute('/name', 'a'), conditions=[exists, is_one])

        self.check(
            named('{inventory[a.b]}'),
            named('{inventory.a.b}'),
            machine({'a': {'b': '1'}}),
            machine({'a': {'b': '2'}, 'a.b': '1'}),
        )

    def test_a_name_may_have_any_characters(self):
        for name in ('\0', '\0x', '\ud800', '[0]', 'a b', "'"):
            self.check(
                rule(attribute(f'/extra/{name}', 'a')),
                rule(attribute('/extra/y', 'a')),
                machine(),
            )

    def test_what_is_no_trait_is_not_removed(self):
        for removed, prefix in (('*', ''), ('CUSTOM_*', 'CUSTOM_')):
            self.check(
                rule(
                    {'op': 'remove-trait', 'args': ['{vars.name}']},
                    vars={'name': removed},
                ),
                rule({'op': 'set-traits', 'args': [[], prefix]}),
                machine(node={'traits': ['CUSTOM_A']}),
            )

    def test_a_trait_may_be_made_of_several_texts(self):
        parts = {'part': 'X'}
        name = 'CUSTOM_{vars.part}'
        adds = {'op': 'add-trait', 'args': [name]}
        removes_all = {'op': 'set-traits', 'args': [[]]}
        has_it = {'op': 'one-of', 'args': [name, '{node.traits}']}
        lacks_it = {**has_it, 'op': '!one-of'}
        had_it = {'op': 'eq', 'args': ['{plugin_data.x}', 1]}
        notes_it = {'op': 'set-plugin-data', 'args': ['/x', 1]}

        def removed_then_named(value):
            return self.parse(
                rule(notes_it, conditions=[has_it], vars=parts, priority=9),
                rule(removes_all, priority=8),
                rule(
                    attribute('/name', value),
                    conditions=[lacks_it, had_it],
                    vars=parts,
                ),
            )

        self.check(
            rule(adds, removes_all, vars=parts),
            rule(removes_all, adds, vars=parts),
            machine(),
        )
        self.check_sets(
            removed_then_named('a'),
            removed_then_named('b'),
            machine(node={'traits': ['CUSTOM_X']}),
        )

    def test_a_trait_in_a_filter_is_named(self):
        label = (
            "{inventory.memory.physical_mb | int | tier([[0, 'CUSTOM_S']])}"
        )
        adds = {'op': 'add-trait', 'args': [label]}
        removes = {'op': 'remove-trait', 'args': ['CUSTOM_B']}
        proof = question.Proof(
            self.parse(rule(adds, removes)),
            leisure.SECONDS,
            self.parse(rule(removes, adds)),
        )
        (answer,) = proof.answers([question.DIFFERENT])
        self.assertEqual(question.NO, answer.verdict, answer.reason)

    def test_a_dash_of_a_field_is_a_name_below_what_is_unknown(self):
        dash = {'dash': '-'}
        copies = attribute('/extra/m', '{inventory.names | unique}')

        def on_node(path):
            return rule(copies, attribute(path, 'a'), vars=dash)

        def on_port(path):
            return rule(port(UUID, path, 'a'), vars=dash)

        self.check(
            on_node('/extra/m/-'),
            on_node('/extra/m/{vars.dash}'),
            machine({'names': ['b']}),
        )
        self.check(
            on_port('/extra/m/-'),
            on_port('/extra/m/{vars.dash}'),
            machine(ports=({'address': MAC, 'uuid': UUID, 'extra': {}},)),
        )

    def test_a_dash_of_a_field_is_a_name_beside_one_of_the_rule(self):
        dash = {'dash': '-'}
        self.check(
            rule(attribute('/extra/m/{vars.dash}/-', 'a'), vars=dash),
            rule(attribute('/extra/m/-/-', 'a')),
            machine(node={'extra': {}}),
        )

    def test_a_port_has_the_address_that_a_rule_gives_it(self):
        def written(value):
            return rule(
                port(MAC, '/address', NEW_MAC.upper()),
                port(NEW_MAC, '/extra/tag', value),
                conditions=[ONE_PORT],
            )

        ports = ({'address': MAC, 'extra': {}},)
        self.check(written('a'), written('b'), machine(ports=ports))

    def test_a_machine_may_name_a_port_in_capital_letters_or_by_its_uuid(self):
        has_address = {'op': 'eq', 'args': ['{ports[0].address}', MAC]}
        ports = ({'address': MAC, 'uuid': UUID, 'extra': {}},)
        for port_id in (MAC.upper(), UUID):
            has_id = {'op': 'eq', 'args': ['{inventory.x}', port_id]}
            conditions = [ONE_PORT, has_address, has_id]

            def written(value, conditions=conditions):
                return rule(
                    port('{inventory.x}', '/extra/tag', value),
                    conditions=conditions,
                )

            self.check(
                written('a'),
                written('b'),
                machine({'x': port_id}, ports=ports),
            )

    def test_a_message_has_the_variables_from_before_the_actions(self):
        name = {'name': '{node.name}'}
        renames = attribute('/name', 'a')
        fails = {'op': 'fail', 'args': ['{vars.name}']}
        self.check_sets(
            self.parse(rule(renames, fails, vars=name)),
            self.parse(rule(renames, priority=5), rule(fails, vars=name)),
            machine(node={'name': 'b'}),
        )

    def test_one_is_neither_true_nor_a_float(self):
        for one, other in ((1, True), (1, 1.0), (0, False)):
            self.check(
                rule(attribute('/extra/a', one)),
                rule(attribute('/extra/a', other)),
                machine(),
            )

    def test_a_rule_may_read_the_order_of_entries(self):
        copies = attribute('/extra/first', '{vars.m | values | first}')
        fields = {'a': '{inventory.x}', 'b': '{inventory.y}'}
        for entries in ({'a': 1, 'b': 2}, fields):
            swapped = dict(reversed(entries.items()))
            self.check(
                rule(copies, vars={'m': entries}),
                rule(copies, vars={'m': swapped}),
                machine({'x': 1, 'y': 2}),
            )
        self.check(
            rule(
                attribute('/extra/m/a', 1),
                attribute('/extra/m/b', 2),
                attribute('/extra/first', '{node.extra.m | keys}'),
            ),
            rule(
                attribute('/extra/m/b', 2),
                attribute('/extra/m/a', 1),
                attribute('/extra/first', '{node.extra.m | keys}'),
            ),
            machine(node={'extra': {}}),
        )

    def test_a_rule_may_read_the_order_of_entries_that_others_wrote(self):
        asks = {'op': 'exists', 'args': ['{inventory.x}']}
        asks_not = {**asks, 'op': '!exists'}
        one = attribute('/extra/m/a', 1)
        other = attribute('/extra/m/b', 2)
        copies = attribute('/extra/keys', '{node.extra.m | keys}')

        def written(*where_missing):
            return self.parse(
                rule(attribute('/extra', {}), priority=9),
                rule(one, other, conditions=[asks], priority=8),
                rule(*where_missing, conditions=[asks_not], priority=7),
                rule(copies),
            )

        self.check_sets(written(one, other), written(other, one), machine())

    def test_a_rule_may_read_the_order_of_traits_and_capabilities(self):
        pairs = {
            '{node.traits}': (
                {'op': 'add-trait', 'args': ['CUSTOM_A']},
                {'op': 'add-trait', 'args': ['CUSTOM_B']},
            ),
            '{node.properties.capabilities}': (
                {'op': 'set-capability', 'args': ['a', '1']},
                {'op': 'set-capability', 'args': ['b', '2']},
            ),
        }
        for field, (one, other) in pairs.items():
            copies = attribute('/extra/copy', field)
            self.check(
                rule(one, other, copies), rule(other, one, copies), machine()
            )

    def test_an_attribute_does_not_take_any_unknown_value(self):
        addresses = "{ports | map(attribute='address')}"
        for path, value in (('/resource_class', 'a'), ('/extra', {})):
            keeps = {'op': 'set-plugin-data', 'args': ['/x', addresses]}
            takes = attribute(path, addresses)
            sets = attribute(path, value)
            self.check(
                rule(keeps, takes, sets),
                rule(keeps, sets),
                machine(ports=({'address': MAC, 'extra': {}},)),
            )

    def test_an_attribute_converts_an_unknown_value(self):
        count = "{ports | map(attribute='address') | length}"

        def copied(field):
            return rule(
                attribute('/resource_class', count),
                {'op': 'set-plugin-data', 'args': ['/x', field]},
            )

        self.check(
            copied('{node.resource_class}'),
            copied(count),
            machine(ports=({'address': MAC, 'extra': {}},)),
        )

    def test_users_see_no_message_of_a_sensitive_rule(self):
        fails = {'op': 'fail', 'args': ['too small']}
        self.check(rule(fails, sensitive=True), rule(fails), machine())

    def test_two_ports_may_have_one_address_one_after_the_other(self):
        by_uuid = '{node.description}'
        first, second, shared, last = (
            f'52:54:00:12:34:0{number}' for number in range(4)
        )
        ports = (
            {'address': first, 'uuid': UUID, 'extra': {}},
            {'address': second, 'uuid': f'{UUID[:-1]}1', 'extra': {}},
        )
        is_first = {'op': 'eq', 'args': ['{ports[0].extra.k}', 1]}
        conditions = [
            {'op': 'eq', 'args': ['{ports | length}', 2]},
            {'op': 'exists', 'args': [by_uuid]},
            {'op': '!is-none', 'args': [by_uuid]},
            {'op': 'eq', 'args': ['{ports[0].address}', first]},
            {'op': 'eq', 'args': ['{ports[1].address}', second]},
            {'op': '!exists', 'args': ['{ports[0].extra.k}']},
            {'op': '!exists', 'args': ['{ports[1].extra.k}']},
        ]
        notes_first = {'op': 'set-plugin-data', 'args': ['/first', 1]}
        clears = rule(
            {'op': 'unset-plugin-data', 'args': ['/first']}, priority=9
        )
        renames = rule(
            port(first, '/address', shared),
            port(by_uuid, '/extra/k', 1),
            {**notes_first, 'when': [is_first]},
            port(shared, '/address', last),
            port(second, '/address', shared),
            port(by_uuid, '/extra/k', 2),
            conditions=conditions,
            priority=8,
        )
        # The port with this UUID is the first one, whatever its address is.
        found = rule(
            attribute('/name', 'a'),
            conditions=[
                {'op': 'eq', 'args': ['{plugin_data.first}', 1]},
                {'op': 'eq', 'args': ['{ports[0].extra.k}', 2]},
                {'op': '!exists', 'args': ['{ports[1].extra.k}']},
            ],
        )
        self.check_sets(
            self.parse(clears, renames, found),
            self.parse(clears, renames),
            machine(node={'description': UUID}, ports=ports),
        )


class RenamedPortTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(leisure.Leisure())

    def verdicts(self, *entries):
        rules = repository.order(
            validation.parse(
                {'uuid': f'{UUID[:-1]}{number}', **entry}, registry.installed()
            )
            for number, entry in enumerate(entries)
        )
        proof = question.Proof(rules, leisure.SECONDS)
        return [
            answer.verdict for answer in proof.answers([question.CONFLICT])
        ]

    def test_rules_may_name_one_port_by_two_addresses(self):
        renames = port(MAC, '/address', NEW_MAC)
        other_mac = '52:54:00:12:34:ef'
        self.assertEqual(
            [question.YES],
            self.verdicts(
                rule(renames), rule(port(NEW_MAC, '/address', other_mac))
            ),
        )
        self.assertEqual(
            [question.YES],
            self.verdicts(
                rule(port(MAC, '/extra/k', 1)),
                rule(renames, port(NEW_MAC, '/extra/k', 2)),
            ),
        )

    def test_two_addresses_are_two_ports_if_no_rule_changes_them(self):
        self.assertEqual(
            [],
            self.verdicts(
                rule(port(MAC, '/extra/k', 1)),
                rule(port(NEW_MAC, '/extra/k', 2)),
            ),
        )
