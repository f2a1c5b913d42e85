# SPDX-License-Identifier: Apache-2.0

import inspect
import types

import fixtures
from ironic.common import exception
from ironic.conductor import deployments
from ironic.conductor import manager
from ironic.conductor import utils

from ironic_inspection_rules.patches import deploy
from ironic_inspection_rules.tests.unit import base


class IronicTestCase(base.IronicTestCase):
    def test_validation_of_a_node_asks_for_its_traits(self):
        for module in (manager, deployments):
            self.assertIn(
                'utils.validate_instance_info_traits(task.node)',
                inspect.getsource(module),
            )

    def test_a_deployment_asks_whether_it_may_start(self):
        self.assertIn(
            'deployments.validate_node(task, event=event)',
            inspect.getsource(manager),
        )
        self.assertEqual(
            ['task', 'event'],
            list(inspect.signature(deployments.validate_node).parameters),
        )


class CheckTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        for name in (
            'deployments.validate_node',
            'utils.validate_instance_info_traits',
            'manager.ConductorManager.validate_driver_interfaces',
        ):
            self.useFixture(
                fixtures.MonkeyPatch(f'ironic.conductor.{name}', None)
            )
        self.events = []
        self.validations = {'boot': {'result': True}}
        self.replace_stock(
            'validate_node', lambda task, event: self.events.append(event)
        )
        self.replace_stock(
            'validate_interfaces', lambda *args: dict(self.validations)
        )
        deploy.install_trait_checks(lambda node: node.problem)

    def replace_stock(self, name, function):
        self.useFixture(
            fixtures.MonkeyPatch(
                f'ironic_inspection_rules.patches.deploy._stock_{name}',
                function,
            )
        )

    def validate(self, problem, **deploy_validation):
        """What a validation says, given what Ironic says about deploy."""
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.objects.Node',
                types.SimpleNamespace(get=lambda *args: self.node(problem)),
            )
        )
        self.validations['deploy'] = deploy_validation
        return manager.ConductorManager.validate_driver_interfaces(
            None, None, 'a-node'
        )

    def node(self, problem=None):
        return types.SimpleNamespace(problem=problem)

    def task(self, problem=None):
        return types.SimpleNamespace(node=self.node(problem))

    def test_a_good_node_passes(self):
        utils.validate_instance_info_traits(self.node())
        deployments.validate_node(self.task(), event='rebuild')
        self.assertEqual(['rebuild'], self.events)

    def test_the_check_of_ironic_names_the_problem(self):
        error = self.assertRaises(
            exception.InvalidParameterValue,
            utils.validate_instance_info_traits,
            self.node('no such trait'),
        )
        self.assertEqual('no such trait', str(error))

    def test_a_good_node_is_validated_as_ever(self):
        self.assertEqual(
            {'boot': {'result': True}, 'deploy': {'result': True}},
            self.validate(None, result=True),
        )

    def test_validation_names_the_problem_once(self):
        failed = {'result': False, 'reason': 'no such trait'}
        self.assertEqual(
            {'boot': {'result': True}, 'deploy': failed},
            self.validate('no such trait', **failed),
        )

    def test_validation_names_it_beside_others(self):
        self.assertEqual(
            {'result': False, 'reason': 'no such trait; no image'},
            self.validate('no such trait', result=False, reason='no image')[
                'deploy'
            ],
        )

    def test_validation_names_it_where_there_was_none(self):
        self.assertEqual(
            {'result': False, 'reason': 'no such trait'},
            self.validate('no such trait', result=True)['deploy'],
        )

    def test_a_deployment_is_refused_as_bad_request(self):
        error = self.assertRaises(
            exception.InstanceDeployFailure,
            deployments.validate_node,
            self.task('no such trait'),
        )
        self.assertEqual((400, 'no such trait'), (error.code, str(error)))
        self.assertEqual(['deploy'], self.events)
