# SPDX-License-Identifier: Apache-2.0

"""What all commands have from their base."""

import itertools

from ironic_inspection_rules.osc import inspection_rule
from ironic_inspection_rules.osc import inspection_run
from ironic_inspection_rules.osc import rule_set
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.osc import fakes


class AnyOrderTestCase(base.TestCase):

    def check(self, kind, *parts):
        parser = kind(fakes.App(), None).get_parser('openstack')
        orders = [vars(parser.parse_args(' '.join(order).split()))
                  for order in itertools.permutations(parts)
                  if order.index('a') < order.index('b')]
        self.assertEqual([orders[0]] * len(orders), orders)

    def test_every_order_means_the_same(self):
        self.check(rule_set.PlanInspectionRules, 'a', 'b', '--prune',
                   '-f json')
        self.check(rule_set.ApplyInspectionRules, 'a', 'b', '--yes',
                   '--message x')
        self.check(inspection_rule.ImportInspectionRules, 'a', 'b',
                   '--replace')
        self.check(inspection_run.ShowInspectionRun, 'a', 'b', '-f json')


class BaremetalTestCase(base.TestCase):

    def test_any_microversion_of_ironic_will_do(self):
        app = fakes.App()
        app.cloud.config.config['baremetal_api_version'] = '1.115'
        command = rule_set.PlanInspectionRules(app, None)
        self.assertEqual('baremetal', command.baremetal)
        self.assertEqual('1', app.cloud.config.config['baremetal_api_version'])
