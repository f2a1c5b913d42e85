# SPDX-License-Identifier: Apache-2.0

"""Nothing that a sensitive rule writes, or finds written, sings."""

import dataclasses
import itertools
import json
import random

import fixtures

from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import difference
from ironic_inspection_rules.engine import evaluation
from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import runner
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.runs import record
from ironic_inspection_rules.tests.unit import base

CANARY = 'c4n4ry'
MAC = '52:54:00:00:00:01'


def facts(**node):
    return working_copy.Facts(
        {'vendor': 'x'}, {'list': [], 'items': [{'name': 'a'}]},
        {'extra': {}, 'properties': {}, 'traits': [], **node},
        ({'uuid': 'p', 'address': MAC, 'extra': {}},))


def run(rules, known=None, hidden=None, explain=True):
    """Evaluate rules, given as pairs of sensitivity and fields."""
    plans = [compiler.compile_rule(model.Rule.from_mapping(
        {'uuid': f'rule-{number}', 'conditions': (), **rule}),
        registry.installed()) for number, rule in enumerate(rules)]
    by_phase = {phase: [plan for plan in plans if plan.rule.phase == phase]
                for phase in ('preprocess', 'main')}
    return evaluation.evaluate(by_phase, known or facts(), by_phase, explain,
                               hidden=hidden)


def does(op, *args, **fields):
    return {'actions': [{'op': op, 'args': list(args)}], **fields}


def told(outcome):
    """Return all that anybody is told of it."""
    of_phase = record.of_phase(runner.Outcome(
        outcome.traces, outcome.error, outcome.audited), 0)
    return json.dumps([outcome.as_dict(), record.shown({'main': of_phase}),
                       str(outcome.error)])


SECRETS = (
    (does('set-attribute', '/extra/x', CANARY), '{node.extra.x}'),
    (does('set-attribute', '/extra/x', {'a': [CANARY]}), '{node.extra}'),
    (does('set-plugin-data', '/list', [CANARY]), '{plugin_data.list[0]}'),
    (does('extend-plugin-data', '/list', CANARY), '{plugin_data.list}'),
    (does('set-port-attribute', MAC, '/extra/x', CANARY),
     f'{{ports[{MAC}].extra.x}}'),
    (does('set-capability', 'x', CANARY), '{node.properties.capabilities}'),
    (does('add-trait', f'CUSTOM_{CANARY}'.upper()), '{node.traits}'),
    (does('set-plugin-data', f'/{CANARY}', CANARY),
     '{plugin_data}'),
)
OPEN = (
    lambda field: does('log', field),
    lambda field: does('fail', f'it is {field}'),
    lambda field: does('add-trait', field),
    lambda field: does('set-attribute', '/extra/copy', field),
    lambda field: does('set-attribute', f'/extra/{field}', 1),
    lambda field: does('set-plugin-data', '/copy', {'a': [field]}),
    lambda field: does('extend-attribute', '/extra/copies', field),
    lambda field: does('set-capability', 'y', field),
    lambda field: does('set-capability', 'y', 'plain'),
    lambda field: does('set-port-attribute', MAC, '/extra/y', field),
    lambda field: does('set-attribute', '/extra', {}),
    lambda field: does('set-traits', []),
    lambda field: {'actions': [{'op': 'log', 'args': ['{item}'],
                                'loop': field}]},
    lambda field: {'actions': [{'op': 'set-plugin-data', 'loop': field,
                                'args': ['/by/{item}', '{item}']}]},
    lambda field: does('set-plugin-data', '/n', field.replace(
        '}', ' | default("x") | int}')),
    lambda field: does('log', 'x', conditions=(
        {'op': 'eq', 'args': [field, 1]},)),
    lambda field: does('log', 'x', conditions=(
        {'op': '!contains', 'args': [field, 'zzz']},)),
    lambda field: does('log', 'x', conditions=(
        {'op': 'in-net', 'args': [field, '192.0.2.0/24']},)),
    lambda field: does('log', 'x', conditions=(
        {'op': 'eq', 'args': ['{item}', 1], 'loop': field},)),
    lambda field: does('log', 'x', conditions=(
        {'op': 'any-of', 'conditions': [
            {'op': 'eq', 'args': [field, 1]},
            {'op': 'gt', 'args': [field, 1]}]},)),
    lambda field: does('log', 'x', conditions=(
        {'op': 'eq', 'args': [
            field.replace('}', ' | default("x") | int}'), 1]},)),
    lambda field: {'actions': [{
        'op': 'set-attribute', 'args': ['/extra/z', 1],
        'when': [{'op': 'ne', 'args': [field, 1]}]}]},
)


def through_vars(make, field):
    """Return what an open rule does with a field, by a var of a var."""
    return {**make('{vars.second}'),
            'vars': {'first': field, 'second': ['{vars.first}', 1],
                     'third': f'a {field}'}}


class SecrecyTestCase(base.TestCase):

    def assert_silent(self, outcome):
        self.assertNotIn(CANARY, told(outcome).lower())

    def assert_silent_if_found(self, outcome):
        # After an error, or without the value, there is nothing to find.
        if any(action.confirmed for each in outcome.traces
               if each.rule.sensitive for action in each.actions):
            self.assert_silent(outcome)

    def test_whatever_an_open_rule_does_with_it(self):
        for (secret, field), make in itertools.product(SECRETS, OPEN):
            secret = {**secret, 'sensitive': True}
            for rules in ([secret, make(field)],
                          [secret, {**make(field), 'mode': 'audit'}],
                          [secret, make(field), secret, make(field)]):
                self.assert_silent(run(rules))

    def test_nor_does_a_port_have_an_address_that_it_found_for_a_name(self):
        secret = does('set-port-attribute', 'p', '/address', MAC,
                      sensitive=True)
        other = does('set-port-attribute', 'p', '/extra/y', 1)
        for rules in ([secret, other], [other, secret],
                      [{**other, 'phase': 'preprocess'}, secret],
                      [{**other, 'mode': 'audit'}, secret],
                      [secret, {**other, 'mode': 'audit'}]):
            outcome = run(rules)
            self.assertNotIn(MAC, told(outcome))
            self.assertIn('"port p"', told(outcome))

    def test_also_what_it_found_written(self):
        for (secret, field), make in itertools.product(SECRETS, OPEN):
            if secret['actions'][0]['op'] == 'extend-plugin-data':
                continue
            before = run([{**secret, 'sensitive': True}]).facts
            self.assert_silent(run(
                [{**secret, 'sensitive': True}, make(field)], before))

    def test_also_if_another_rule_read_it_first(self):
        secret = {**does('set-attribute', '/extra/x', CANARY),
                  'sensitive': True}
        for make in OPEN:
            self.assert_silent_if_found(run([make('{node.extra.x}'), secret],
                                            facts(extra={'x': CANARY})))

    def test_also_if_other_rules_read_copies_first(self):
        known = facts(extra={'x': CANARY})
        secret = {**does('set-attribute', '/extra/x', CANARY),
                  'sensitive': True}
        copies = (
            (does('set-attribute', '/extra/copy', '{node.extra.x}'),
             '{node.extra.copy}'),
            (does('extend-plugin-data', '/copies', '{node.extra.x}'),
             '{plugin_data.copies[0]}'),
            (does('set-port-attribute', MAC, '/extra/y', '{node.extra.x}'),
             f'{{ports[{MAC}].extra.y}}'),
            (does('set-capability', 'y', '{node.extra.x}'),
             '{node.properties.capabilities}'),
            (through_vars(OPEN[3], '{node.extra.x}'), '{node.extra.copy}'))
        for (copy, field), make in itertools.product(copies, OPEN):
            for rule in (make(field), {**make(field), 'mode': 'audit'}):
                self.assert_silent_if_found(run([copy, rule, secret], known))
            first = run([copy, secret], known)
            self.assert_silent(run([make(field)], first.facts, first.hidden))

    def test_also_if_rules_of_an_earlier_phase_read_or_wrote_it(self):
        secret = {**does('set-plugin-data', '/x', CANARY), 'sensitive': True}
        machine = dataclasses.replace(facts(), inventory={'x': CANARY})
        for make, explain, mode in itertools.product(
                OPEN, (True, False), ('enforce', 'audit')):
            found = run([
                {**does('set-plugin-data', '/x', '{inventory.x}'),
                 'phase': 'preprocess'},
                {**does('set-attribute', '/extra/x', '{plugin_data.x}'),
                 'phase': 'preprocess'},
                {**make('{node.extra.x}'), 'phase': 'preprocess',
                 'mode': mode}, make('{node.extra.x}'), secret],
                machine, explain=explain)
            self.assert_silent_if_found(found)
            if not found.error:
                self.assertIn(('node', ('extra', 'x')), found.hidden)

    def test_also_the_address_of_a_port(self):
        address = '02:00:00:00:00:99'
        secret = {**does('set-port-attribute', MAC, 'address', address),
                  'sensitive': True, 'phase': 'preprocess'}
        follows = does('set-port-attribute', address, '/extra/x', 1)
        for uuid, name in (('p', 'port p'), (None, 'port 0')):
            known = dataclasses.replace(facts(), ports=(
                {'uuid': uuid, 'address': MAC, 'extra': {}},))
            found = run([secret, follows], known)
            self.assertNotIn(address, told(found))
            self.assertEqual([f'port {MAC}', name],
                             [each.object for each in found.changes])
            self.assertEqual({name}, {each.object for each in (
                difference.between(known, found.facts, found.facts.ports,
                                   found.hidden))})

    def test_also_an_item_that_it_need_not_append(self):
        secret = {**does('extend-plugin-data', '/list', CANARY, True),
                  'sensitive': True}
        known = dataclasses.replace(facts(), plugin_data={'list': [CANARY]})
        for rules in ([does('log', '{plugin_data.list}'), secret],
                      [secret, does('log', '{plugin_data.list[0]}')]):
            self.assert_silent(run(rules, known))

    def test_also_in_the_next_run(self):
        for (secret, field), make in itertools.product(SECRETS, OPEN):
            first = run([{**secret, 'sensitive': True}])
            ports = first.facts.ports
            hidden = hiding.located(json.loads(json.dumps(
                first.hidden.lasting(ports))), ports)
            self.assert_silent(run([make(field)], first.facts, hidden))

    def test_copies_of_copies_in_any_order(self):
        chance = random.Random(24)
        for _each in range(150):
            rules = []
            for _rule in range(chance.randint(2, 6)):
                secret, field = chance.choice(SECRETS)
                rules.append({**secret, 'sensitive': True}
                             if chance.random() < 0.4
                             else chance.choice(OPEN)(chance.choice(
                                 (field, '{node.extra.copy}',
                                  '{plugin_data.copy}'))))
            rules.insert(0, {**SECRETS[0][0], 'sensitive': True})
            self.assert_silent(run(rules, explain=chance.random() < 0.5))

    def test_copies_through_vars(self):
        for (secret, field), make in itertools.product(SECRETS, OPEN):
            secret = {**secret, 'sensitive': True}
            for rule in (through_vars(make, field),
                         {**through_vars(make, field), 'mode': 'audit'}):
                self.assert_silent(run([secret, rule]))

    def test_a_var_stays_hidden_when_its_place_does_not(self):
        self.assert_silent(run([
            {**SECRETS[0][0], 'sensitive': True},
            {'vars': {'kept': '{node.extra.x}'}, 'actions': [
                {'op': 'set-attribute', 'args': ['/extra/x', 'plain']},
                {'op': 'set-attribute', 'args': ['/extra/y', '{vars.kept}']},
                {'op': 'log', 'args': ['{vars.kept} {node.extra.y}']}]},
            does('log', '{node.extra.y}')]))

    def test_vars_that_cannot_be_computed_do_not_tell(self):
        self.assert_silent(run([
            {**SECRETS[0][0], 'sensitive': True},
            {**does('log', 'x'), 'vars': {'number': '{node.extra.x | int}'},
             'conditions': [{'op': 'eq', 'args': ['{vars.number}', 1]}]}]))

    def test_vars_of_an_earlier_rule_do_not_tell_what_was_found(self):
        self.assert_silent(run(
            [through_vars(OPEN[0], '{node.extra.x}'),
             through_vars(OPEN[3], '{node.extra.x}'),
             {**SECRETS[0][0], 'sensitive': True}],
            facts(extra={'x': CANARY})))

    def test_other_vars_show(self):
        outcome = run([
            {**SECRETS[0][0], 'sensitive': True},
            {**does('log', 'the vendor is {vars.vendor}'),
             'vars': {'vendor': '{inventory.vendor}',
                      'hidden': '{node.extra.x}'}}])

        self.assertIn('the vendor is x', told(outcome))

    def test_what_the_inspection_before_stored(self):
        known = dataclasses.replace(facts(), previous={
            'inventory': {}, 'plugin_data': {'x': CANARY}})
        hidden = hiding.Hidden([('previous', ('plugin_data', 'x'))])
        for make in OPEN:
            self.assert_silent(run(
                [does('set-plugin-data', '/x', 'plain'),
                 make('{previous.plugin_data.x}'),
                 make('{previous.plugin_data}')], known, hidden))

    def test_what_an_open_rule_writes_over_it_shows(self):
        outcome = run([
            {**SECRETS[0][0], 'sensitive': True},
            does('set-attribute', '/extra/x', 'plain'),
            does('log', 'x is {node.extra.x}')])

        self.assertIn('x is plain', told(outcome))

    def test_why_an_action_did_not_run_does_not_tell(self):
        secret = {**does('set-plugin-data', '/list', []), 'sensitive': True}
        copy = {'actions': [{'op': 'log', 'args': ['{item}'],
                             'loop': '{plugin_data.list}'}]}
        for rules, reason in (([copy], 'the loop has no items'),
                              ([secret, copy], '******'),
                              ([copy, secret], '******'),
                              ([{**copy, 'sensitive': True}], None)):
            traces = run(rules).traces
            idle, = [action.idle for each in traces
                     for action in each.actions if action.idle]
            self.assertEqual(('empty_loop', reason), idle)

    def test_a_message_shows_what_is_not_hidden(self):
        outcome = run([
            {**SECRETS[0][0], 'sensitive': True},
            does('fail', '{inventory.vendor} has {node.extra.x}')])

        self.assertIn('x has ******', str(outcome.error))


class _Counting(str):
    """A token that counts how often it is looked up."""

    looked_up = 0

    def __hash__(self):
        _Counting.looked_up += 1
        return super().__hash__()

    __eq__ = str.__eq__


class GrowthTestCase(base.TestCase):

    def look_ups(self, size):
        hidden = hiding.Hidden(('plugin_data', ('nics', str(number)))
                               for number in range(size))
        _Counting.looked_up = 0
        for number in range(size):
            hidden.covers('plugin_data', ('nics', _Counting(number)))
        return _Counting.looked_up

    def test_a_place_is_found_by_its_path(self):
        self.assertLessEqual(self.look_ups(1000), 10 * self.look_ups(100))

    def test_many_places_last_as_one(self):
        hidden = hiding.Hidden(('plugin_data', ('nics', str(number)))
                               for number in range(5000))

        self.assertEqual([['plugin_data', ['nics']]], hidden.lasting(()))

    def test_too_many_places_last_as_all_of_their_roots(self):
        hidden = hiding.Hidden(('plugin_data', (str(nic), str(number)))
                               for nic in range(11) for number in range(1000))
        hidden.add('ports', ('0', 'extra'))

        self.assertEqual([['plugin_data', []], ['ports', []]],
                         hidden.lasting([{'uuid': 'a'}]))

    def test_what_changed_is_grouped_once(self):
        known = working_copy.Facts({}, {}, {}, tuple(
            {'uuid': str(number), 'address': str(number), 'extra': {}}
            for number in range(500)))
        target = working_copy.WorkingCopy(known)
        for number in range(16000):
            target.set('plugin_data', ('a', str(number)), 1)
        target.set('ports', ('7', 'extra', 'x'), 1)
        read = []
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.engine.path.get',
            lambda _data, path: read.append(path)))

        for index in range(500):
            target.changed('ports', str(index))

        self.assertEqual([('7', 'extra')], read)

    def test_a_phase_with_many_hidden_places_costs_in_proportion(self):
        def spent(size):
            items = [{'n': str(number)} for number in range(size)]
            rules = [{'sensitive': True, 'actions': [{
                'op': 'set-plugin-data', 'args': ['/nics/{item[n]}', 1],
                'loop': '{plugin_data[l]}'}]},
                does('set-plugin-data', '/x', 1)]
            plans = [compiler.compile_rule(model.Rule.from_mapping(
                {'uuid': f'rule-{number}', 'conditions': (), **rule}),
                registry.installed()) for number, rule in enumerate(rules)]
            target = working_copy.WorkingCopy(
                working_copy.Facts({}, {'l': items}))
            outcome = runner.run(plans, target, limits=budget.MAIN)
            return len(record.of_phase(outcome, 0)['rules']) + len(
                list(target.journal.hidden))
        self.assertEqual(spent(100) - 2, (spent(1000) - 2) / 10)
