# SPDX-License-Identifier: Apache-2.0

"""Words of the commands, in whatever order they are written."""

import itertools

from ironic_inspection_rules.osc import inspection_rule
from ironic_inspection_rules.osc import inspection_run
from ironic_inspection_rules.osc import rule_set
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.osc import fakes


class AnyOrderTestCase(base.TestCase):

    def check(self, command, *parts):
        parser = command(fakes.App(), None).get_parser('openstack')
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
