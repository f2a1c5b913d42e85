# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
