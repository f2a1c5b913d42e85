# SPDX-License-Identifier: Apache-2.0

"""What all commands have from their base."""

import http
import itertools
import json
import types

import fixtures
from osc_lib import exceptions as osc_exceptions
import requests

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.osc import inspection_rule
from ironic_inspection_rules.kit.osc import inspection_run
from ironic_inspection_rules.kit.osc import rule_set
from ironic_inspection_rules.kit.osc import trait
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes


class AnyOrderTestCase(base.TestCase):
    def check(self, kind, *parts):
        parser = kind(fakes.App(), None).get_parser('openstack')
        orders = [
            vars(parser.parse_args(' '.join(order).split()))
            for order in itertools.permutations(parts)
            if order.index('a') < order.index('b')
        ]
        self.assertEqual([orders[0]] * len(orders), orders)

    def test_every_order_means_the_same(self):
        self.check(
            rule_set.PlanInspectionRules, 'a', 'b', '--prune', '-f json'
        )
        self.check(
            rule_set.ApplyInspectionRules, 'a', 'b', '--yes', '--message x'
        )
        self.check(
            inspection_rule.ImportInspectionRules, 'a', 'b', '--replace'
        )
        self.check(inspection_run.ShowInspectionRun, 'a', 'b', '-f json')


class WrongCallTestCase(base.TestCase):
    def check(self, kind, *words):
        errors = self.useFixture(fixtures.StringStream('stderr')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', errors))
        parser = kind(fakes.App(), None).get_parser('openstack plan')
        stopped = self.assertRaises(SystemExit, parser.parse_args, words)
        self.assertEqual(1, stopped.code)
        errors.seek(0)
        return errors.read()

    def test_it_is_an_error_and_no_answer(self):
        """Plan ends with 2 where there is something to do."""
        # Only the usage has it.
        self.assertIn('--prune', self.check(rule_set.PlanInspectionRules))
        for kind, *words in (
            (rule_set.PlanInspectionRules, 'a', '--prun', '-x'),
            (rule_set.ApplyInspectionRules, 'a', '--max-capacity-loss', '200'),
            (inspection_rule.EvaluateInspectionRules, '--node'),
        ):
            self.assertIn('openstack plan: error: ', self.check(kind, *words))


class BaremetalTestCase(base.TestCase):
    def test_any_microversion_of_ironic_will_do(self):
        app = fakes.App()
        app.cloud.config.config['baremetal_api_version'] = '1.115'
        command = rule_set.PlanInspectionRules(app, None)
        self.assertEqual('baremetal', command.baremetal)
        self.assertEqual('1', app.cloud.config.config['baremetal_api_version'])

    def test_client_that_has_only_the_configuration_of_a_connection(self):
        """The command "baremetal", other than "openstack", has no more."""
        app = fakes.App()
        connections = []

        def connect(config):
            connections.append(config)
            return app.cloud

        self.useFixture(
            fixtures.MonkeyPatch('openstack.connection.Connection', connect)
        )
        app.client_manager = types.SimpleNamespace(cloud_region='region')
        command = rule_set.PlanInspectionRules(app, None)
        self.assertEqual('baremetal', command.baremetal)
        self.assertEqual('baremetal', command.baremetal)
        self.assertEqual(['region'], connections)


class ErrorTestCase(base.TestCase):
    def refused(self, status, body, served, nodes=(403, {})):
        ironic = fakes.Ironic()
        ironic.routes = {
            ('GET', '/nodes/one/inspection_runs'): (status, body),
            ('GET', '/nodes'): nodes,
        }
        if served:
            ironic.routes['GET', '/traits'] = 200, {'traits': []}
        command = inspection_run.ListInspectionRuns(fakes.App(ironic), None)
        return str(
            self.assertRaises(
                osc_exceptions.CommandError,
                command.run,
                command.get_parser('openstack').parse_args(['one']),
            )
        )

    def test_an_ironic_without_the_plugin_is_said_to_be_one(self):
        for status in (400, 404, 405, 500):
            self.assertIn(
                '[api]middleware = inspection-rules',
                self.refused(
                    status, {'error_message': 'Unexpected arguments'}, False
                ),
            )

    def test_a_bug_in_finding_out_what_is_missing_is_not_hidden(self):
        def fail(baremetal):
            raise KeyError('bug')

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.kit.client.inspection_rule.has_plugin',
                fail,
            )
        )
        ironic = fakes.Ironic()
        command = inspection_run.ListInspectionRuns(fakes.App(ironic), None)
        self.assertRaises(
            KeyError,
            command.run,
            command.get_parser('openstack').parse_args(['one']),
        )

    def test_what_is_no_ironic_is_said_to_be_none(self):
        told = self.refused(404, {}, False, (404, {}))

        self.assertNotIn('middleware', told)
        self.assertIn(
            'No API of Ironic is at /nodes/one/inspection_runs', told
        )

    def test_an_answer_that_is_no_json_is_said_to_be_none(self):
        app = fakes.App()
        answer = requests.Response()
        answer.status_code, answer.url = 200, 'http://wrong'
        answer._content = b'<html>'
        app.cloud.baremetal = types.SimpleNamespace(
            request=lambda *args, **kwargs: answer
        )
        command = inspection_run.ListInspectionRuns(app, None)

        error = self.assertRaises(
            exceptions.Invalid,
            command.run,
            command.get_parser('openstack').parse_args(['one']),
        )

        self.assertIn('http://wrong is no JSON', str(error))

    def test_a_member_that_an_answer_lacks_is_named(self):
        ironic = fakes.Ironic()
        ironic.routes['GET', '/nodes/one/inspection_runs'] = (
            200,
            {'inspection_runs': [{'uuid': 'a'}]},
        )
        command = inspection_run.ListInspectionRuns(fakes.App(ironic), None)

        error = self.assertRaises(
            osc_exceptions.CommandError,
            command.run,
            command.get_parser('openstack').parse_args(['one']),
        )

        self.assertIn("no member 'error'", str(error))
        self.assertIsInstance(error.__cause__, KeyError)

    def test_a_member_that_is_null_is_an_error_in_words(self):
        for phases in (None, {'main': None}, {'main': {'rules': None}}):
            ironic = fakes.Ironic()
            ironic.routes['GET', '/nodes/one/inspection_runs/r'] = (
                200,
                {'uuid': 'r', 'phases': phases},
            )
            command = inspection_run.ShowInspectionRun(fakes.App(ironic), None)

            error = self.assertRaises(
                osc_exceptions.CommandError,
                command.run,
                command.get_parser('openstack').parse_args(['one', 'r']),
            )

            self.assertIn('an answer may be of another', str(error))

    def test_a_bug_of_a_command_is_not_blamed_on_an_answer_alone(self):
        # The frames of this module count as those of a command.
        def look_up(_command, _parsed_args):
            return {}['a']

        def count(_command, _parsed_args):
            return len(None)

        for fail in (look_up, count):
            self.useFixture(
                fixtures.MonkeyPatch(
                    'ironic_inspection_rules.kit.osc.trait.FindNodes'
                    '.take_action',
                    fail,
                )
            )
            command = trait.FindNodes(fakes.App(), None)
            error = self.assertRaises(
                osc_exceptions.CommandError,
                command.run,
                command.get_parser('openstack').parse_args(['--trait', 'A']),
            )
            self.assertIn('or this command has a defect', str(error))

    def test_a_bug_of_another_package_is_not_taken_for_an_answer(self):
        # The names of an enumeration are looked up in the standard library.
        def fail(_command, _parsed_args):
            http.HTTPStatus['BUG']

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.kit.osc.trait.FindNodes.take_action',
                fail,
            )
        )
        command = trait.FindNodes(fakes.App(), None)
        error = self.assertRaises(
            KeyError,
            command.run,
            command.get_parser('openstack').parse_args(['--trait', 'A']),
        )
        self.assertEqual("'BUG'", str(error))

    def test_what_ironic_says_in_either_form_is_printed(self):
        for error in (
            {'faultstring': 'No node one'},
            {'code': 404, 'title': 'Not Found', 'description': 'No node one'},
        ):
            self.assertEqual(
                'No node one',
                self.refused(404, {'error_message': json.dumps(error)}, True),
            )
