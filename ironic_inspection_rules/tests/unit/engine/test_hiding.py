# SPDX-License-Identifier: Apache-2.0

"""Places in a machine's data whose values must not show."""

import json

from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.tests.unit import base

PORTS = [{'uuid': 'a'}, {'uuid': 'b'}]


class HidingTestCase(base.TestCase):

    def test_places_outlast_a_change_of_the_ports(self):
        hidden = hiding.Hidden([('node', ('extra', 'a')),
                                ('ports', ('1', 'extra', 'b'))])
        kept = json.loads(json.dumps(hidden.lasting(PORTS)))

        self.assertEqual(hidden, hiding.located(kept, PORTS))
        self.assertEqual(
            {('node', ('extra', 'a')), ('ports', ('0', 'extra', 'b'))},
            set(hiding.located(kept, [{'uuid': 'b'}])))
        self.assertEqual({('node', ('extra', 'a'))},
                         set(hiding.located(kept, [{'uuid': 'c'}])))

    def test_of_a_list_all_is_hidden(self):
        data = {'a': {'list': [{'b': 1}]}}
        for path, hidden in ((('a', 'list', '0', 'b'), ('a', 'list')),
                             (('a', 'list', '-'), ('a', 'list')),
                             (('a', 'gone'), ('a', 'gone'))):
            self.assertEqual(('node', hidden),
                             hiding.of_change(data, 'node', path))
        self.assertEqual(('ports', ('0', 'uuid')),
                         hiding.of_change(PORTS, 'ports', ('0', 'uuid')))
