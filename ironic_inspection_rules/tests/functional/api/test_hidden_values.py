# SPDX-License-Identifier: Apache-2.0

"""Rules that are tried tell nothing that sensitive rules have left."""

import itertools
import random

import fixtures
from ironic import objects
import webob

from ironic_inspection_rules.api import rule_outcome
from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.objects import machine
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.functional.api import test_fleet
from ironic_inspection_rules.tests.unit.engine import test_secrecy

CANARY = test_secrecy.CANARY
MAC = test_secrecy.MAC
UUID = test_fleet.UNKNOWN[:-1] + '9'

PLACES = {
    '{node.extra.x}': ['node', ['extra', 'x']],
    '{node.extra.deep}': ['node', ['extra', 'deep']],
    '{plugin_data.list[0]}': ['plugin_data', ['list']],
    f'{{ports[{MAC}].extra.x}}': ['ports', [None, 'extra', 'x']],
    '{node.properties.capabilities}': [
        'node', ['properties', 'capabilities', 'x']],
    '{node.traits}': ['node', ['traits', f'CUSTOM_{CANARY}'.upper()]]}
"""Fields, and where what they read was left."""

SECRET = {
    'uuid': UUID, 'sensitive': True, 'priority': 50,
    'conditions': [{'op': 'eq', 'args': ['{node.name}', 'n0']}],
    'actions': [
        {'op': 'set-attribute', 'args': ['/extra/x', CANARY]},
        {'op': 'set-attribute', 'loop': ['deep'],
         'args': ['/extra/{item}', {'a': [CANARY]}]},
        {'op': 'set-plugin-data', 'args': ['/list/0', CANARY]},
        {'op': 'set-port-attribute', 'args': [MAC, '/extra/x', CANARY]},
        {'op': 'set-capability', 'args': ['x', CANARY]},
        {'op': 'add-trait', 'args': [f'CUSTOM_{CANARY}'.upper()]}]}
TWIN = {**SECRET, 'conditions': None, 'actions': None}


class HiddenValuesTestCase(test_fleet.FleetTestCase):

    def enroll(self, number, **fields):
        if number:
            return
        node = super().enroll(
            0, inventory=False, extra={'x': CANARY, 'deep': {'a': [CANARY]}},
            properties={'capabilities': f'x:{CANARY}'}, **fields)
        objects.TraitList.create(self.admin, node.id,
                                 [f'CUSTOM_{CANARY}'.upper()])
        [port] = objects.Port.list(self.admin)
        port.address = MAC
        port.extra = {'x': CANARY}
        port.save()
        objects.NodeInventory(
            self.admin, node_id=node.id, inventory_data={'cpu': {}},
            plugin_data={'list': [CANARY]}).create()
        self.port = port.uuid

    def keep_run(self, number=1, **fields):
        database.record_run({
            'uuid': f'{number:08}-0000-4000-8000-00000000000a',
            'node_uuid': test_fleet.uuid_of(0), 'event': 'inspection',
            'result': 'ok', 'revision': 1, 'phases': {},
            'hidden': [[root, [token or self.port for token in path]]
                       for root, path in PLACES.values()], **fields}, keep=5)

    def store_rule(self, **fields):
        response = self.send({**SECRET, **fields}, path=test_fleet.RULES)
        self.assertEqual(201, response.status_int, response.text)

    @staticmethod
    def open_rules():
        """Yield rules that read or replace what was left."""
        for field, make in itertools.product(PLACES, test_secrecy.OPEN):
            rule = make(field)
            yield {**rule, 'conditions': list(rule.get('conditions', ()))}
        for op, path in (('set-attribute', '/extra'),
                         ('set-attribute', '/extra/x'),
                         ('set-plugin-data', '/list'),
                         ('set-plugin-data', '/list/0')):
            # Changes tell what was there.
            yield test_secrecy.does(op, path, {})

    def assert_silent(self, *first, of=1):
        """Try rules, and look for what they must not tell.

        :param first: rules that run before each of them.
        :param of: try only one of so many of them.
        """
        chance = random.Random(of)
        for rule in self.open_rules():
            if chance.randrange(of):
                continue
            members = chance.choice((
                {'node': 'n0'}, {'nodes': ['n0']},
                {'nodes': {}, 'compare': True}))
            response = self.send({**members, 'rules': [*first, rule]})
            self.assertEqual(200, response.status_int, response.text)
            self.assertNotIn(CANARY, response.text.lower(), rule)

    def test_what_a_kept_run_says_is_hidden(self):
        self.keep_run()
        self.assert_silent()

    def test_a_run_that_ended_before_any_rule_forgets_nothing(self):
        self.keep_run()
        self.keep_run(2, result='failed', revision=None, hidden=None)
        self.assert_silent()

    def test_what_a_rule_in_force_leaves_is_hidden(self):
        self.store_rule()
        self.assert_silent()

    def test_whatever_is_posted_under_its_uuid(self):
        self.store_rule(mode='off')
        for fields in ({}, {'mode': 'audit'}, {'phase': 'preprocess'},
                       {'priority': 0}, {'scope': 'elsewhere'}):
            self.assert_silent({**TWIN, **fields}, of=5)

    def test_where_it_cannot_be_known_all_is_hidden(self):
        def fail(*_args):
            raise ValueError('no such method')
        self.useFixture(fixtures.MonkeyPatch(
            f'{machine.__name__}.run.get_hidden', fail))
        self.assert_silent()

    def test_a_rule_that_is_decided_again_tells_nothing(self):
        self.keep_run()
        rule = test_secrecy.does('log', 'x', uuid=test_fleet.UNKNOWN,
                                 conditions=[{'op': 'eq', 'args': [
                                     '{node.extra.x}', 'other']}])
        self.assertEqual(201, self.send(
            rule, path=test_fleet.RULES).status_int)
        self.keep_run(3, revision=self.send(
            {**rule, 'uuid': None}, path=test_fleet.RULES).json['revision'])
        request = webob.Request.blank(
            f'/v1/nodes/n0/inspection_runs/explain?rule={test_fleet.UNKNOWN}',
            headers={'X-OpenStack-Ironic-API-Version': '1.96',
                     'X-Auth-Token': 'admin'})
        for kept in (None, (test_secrecy.facts(extra={'x': CANARY}),
                            hiding.Hidden())):
            self.useFixture(fixtures.MonkeyPatch(
                f'{rule_outcome.__name__}._kept', lambda *_, kept=kept: kept))
            told = request.get_response(self.app)
            self.assertTrue(told.json['decided_again'], told.text)
            self.assertNotIn(CANARY, told.text)
