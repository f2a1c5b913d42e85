# SPDX-License-Identifier: Apache-2.0

"""Who may post inspection data, before any rule looks at them."""

import json
import logging
import pathlib

import fixtures
from ironic import objects
from ironic.common import context
from ironic.common import exception
import sqlalchemy as sa
import webob

from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.objects import early_phase
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

NODE = '5e1f6b5e-4a5c-4d1e-9c53-5b2f8f1c7a11'
DATA = {'inventory': {'interfaces': [{'mac_address': '52:54:00:00:00:01'}]}}


def rule(condition=None):
    """Make an early rule that tells by failing that it has run."""
    return {
        'uuid': '11111111-1111-4111-8111-111111111111',
        'phase': 'early',
        'conditions': [condition] if condition else [],
        'actions': [{'op': 'fail', 'args': {'msg': 'a rule has run'}}],
    }


class ContinueInspectionTestCase(base.TestCase):
    def serve(self, early_rule, **options):
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = path / 'rules.yaml'
        path.write_text(json.dumps([early_rule]))
        self.app = self.useFixture(
            application.Application(
                {'inspection_rules': {'built_in': str(path)}, **options}
            )
        ).app

    def post(
        self,
        body=DATA,
        version='1.96',
        query='',
        content_type='application/json',
    ):
        """Post inspection data.

        :returns: the status and the text of the answer.
        """
        request = webob.Request.blank(
            f'/v1/continue_inspection{query}',
            method='POST',
            headers={'X-OpenStack-Ironic-API-Version': version},
        )
        request.body = (
            body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        request.content_type = content_type
        answer = request.get_response(self.app)
        return answer.status_int, answer.text

    def test_rules_run_for_who_has_access(self):
        self.serve(rule())

        status, text = self.post()

        self.assertEqual(400, status)
        self.assertIn('a rule has run', text)

    def refused(self, **inventory):
        """Return what the log says of a machine that a rule refuses."""
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        self.assertEqual(400, self.post({'inventory': inventory})[0])
        (line,) = (
            line
            for line in log.output.splitlines()
            if 'a rule has run' in line
        )
        return line

    def test_one_line_of_the_log_names_a_refused_machine_and_the_rule(self):
        self.serve(rule())

        line = self.refused(
            system_vendor={'serial_number': 'R9-1'}, **DATA['inventory']
        )

        for named in ('R9-1', '52:54:00:00:00:01', rule()['uuid']):
            self.assertIn(named, line)

    def test_no_machine_can_make_this_line_anything_else(self):
        self.serve(rule())

        line = self.refused(
            system_vendor={'serial_number': 'a\nb' * 9999},
            interfaces=[{'mac_address': 'c' * 9999}] * 99,
        )

        self.assertIn('a\\nb', line)
        self.assertLess(len(line), 2000)
        for odd in (None, 1, [], {}, [[]], [{}], [{'mac_address': [1]}]):
            answer = self.post(
                {'inventory': {'system_vendor': odd, 'interfaces': odd}}
            )
            self.assertEqual(400, answer[0])

    def test_a_sensitive_rule_shows_nothing_of_itself_in_the_log(self):
        self.serve({**rule(), 'sensitive': True})
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))

        self.post()

        self.assertIn(rule()['uuid'], log.output)
        self.assertNotIn('a rule has run', log.output)

    def test_no_rule_runs_for_a_version_without_the_call(self):
        self.serve(rule())
        for version, query in (
            ('1.83', ''),
            ('1.1', '?node_uuid=5e1f6b5e-4a5c-4d1e-9c53-5b2f8f1c7a10'),
        ):
            status, text = self.post(version=version, query=query)

            self.assertEqual(404, status)
            self.assertIn('1.84 or newer is required', text)

    def test_the_first_version_has_the_call_for_inspector_s_ramdisks(self):
        self.serve(rule())

        self.assertIn('a rule has run', self.post(version='1.1')[1])

    def test_no_rule_runs_where_the_policy_forbids_it(self):
        self.serve(rule())

        def authorize(name, *_who):
            if name == 'baremetal:driver:ipa_continue_inspection':
                raise exception.HTTPForbidden(resource=name)

        self.useFixture(
            fixtures.MonkeyPatch('ironic.common.policy.authorize', authorize)
        )

        status, text = self.post()

        self.assertEqual(403, status)
        self.assertNotIn('a rule has run', text)

    def test_no_rule_runs_where_ramdisks_are_not_served(self):
        if not application.has_option('api', 'enable_ramdisk_endpoints'):
            self.skipTest('this Ironic always serves ramdisks')
        self.serve(rule(), api={'enable_ramdisk_endpoints': False})

        self.assertEqual(403, self.post()[0])

    def test_numbers_that_no_json_has_are_refused_with_their_place(self):
        self.serve(rule())
        body = json.dumps({**DATA, 'a': {'b': [float('inf')]}}).encode()

        status, text = self.post(body)

        self.assertEqual(400, status)
        self.assertIn('/a/b/0: Infinity is no JSON number', text)

    def test_data_are_read_whatever_they_claim_to_be(self):
        self.serve(rule())

        status, text = self.post(content_type='text/plain')

        self.assertIn('a rule has run', text)

    def test_what_is_no_object_is_refused(self):
        self.serve(rule())

        for body in (b'[]', b'null', b'"text"'):
            status, text = self.post(body)

            self.assertEqual(400, status)
            self.assertIn('The request must be a JSON object', text)

    def test_access_is_refused_before_the_data_are_read(self):
        self.serve(rule())

        self.assertEqual(404, self.post(b'nonsense', '1.83')[0])
        self.assertEqual(400, self.post(b'nonsense')[0])
        self.assertEqual(400, self.post(b'')[0])

    def test_access_is_refused_before_parameters_are_looked_at(self):
        self.serve(rule())

        status, text = self.post(version='1.83', query='?nonsense=1')
        self.assertEqual(404, status)
        self.assertNotIn('nonsense', text)
        self.assertEqual(400, self.post(query='?nonsense=1')[0])

    def test_parameters_without_end_are_answered_shortly(self):
        self.serve(rule())

        status, text = self.post(
            query='?' + '&'.join(f'a{number}=' for number in range(20_000))
        )
        self.assertEqual(400, status)
        self.assertLess(len(text), 10_000)

    def test_a_ramdisk_cannot_say_what_only_ironic_may(self):
        for name in ('auto_discovered', 'inspection_rules'):
            self.serve(
                rule(
                    {
                        'op': '!is-none',
                        'args': {'value': f'{{plugin_data[{name}]}}'},
                    }
                )
            )

            # Nobody knows the machine.
            self.assertNotIn(
                'a rule has run', self.post({**DATA, name: True})[1]
            )
            self.assertEqual(404, self.post({**DATA, name: True})[0])

    def hand_over(self, *actions):
        """Post the data of a known node.

        :returns: the context and the plugin data that a conductor gets.
        """
        self.serve({**rule(), 'actions': list(actions)})
        admin = context.get_admin_context()
        node = objects.Node(
            admin,
            uuid=NODE,
            driver='fake-hardware',
            provision_state='inspect wait',
        )
        node.create()
        objects.Port(
            admin, node_id=node.id, uuid=NODE, address='52:54:00:00:00:01'
        ).create()
        handed_over = []

        def take(api, asked, node_id, inventory, plugin_data, topic=None):
            handed_over.append((asked, plugin_data))

        for name, substitute in (
            ('get_topic_for', lambda api, node: 'topic'),
            ('get_node_with_token', lambda api, asked, uuid, topic: node),
            ('continue_inspection', take),
        ):
            self.useFixture(
                fixtures.MonkeyPatch(
                    f'ironic.conductor.rpcapi.ConductorAPI.{name}', substitute
                )
            )
        status, text = self.post()
        self.assertEqual(202, status, text)
        (asked,) = handed_over
        return asked

    def test_what_early_rules_did_is_no_plugin_data(self):
        asked, plugin_data = self.hand_over(
            {'op': 'set-plugin-data', 'args': ['/rack', 'r1']}
        )

        self.assertEqual({'rack', 'inspection_rules'}, set(plugin_data))
        kept = early_phase.EarlyPhase.take(asked, NODE)
        (ran,) = kept['record']['rules']
        self.assertEqual('/rack', ran['changes'][0]['path'])

    def test_where_no_rule_did_anything_nothing_is_stored(self):
        self.serve({**rule({'op': 'eq', 'args': [1, 2]})})

        status, text = self.post()

        # The node is not known.
        self.assertEqual(404, status, text)
        self.assertEqual(
            [], transaction.read(sa.select(models.EarlyPhaseRow.request_id))
        )
