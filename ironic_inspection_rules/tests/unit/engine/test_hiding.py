# SPDX-License-Identifier: Apache-2.0

"""Places in a machine's data whose values must not show."""

import json
import sys

from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import runner
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.engine import working_copy
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

    def test_two_that_share_places_do_not_change_each_other(self):
        one = hiding.Hidden([('node', ('extra', 'a')),
                             ('node', ('extra', 'b')), ('plugin_data', ())])
        before = set(one)
        other = hiding.Hidden(one)
        other.add('node', ('extra', 'c'))
        other.remove('node', ('extra', 'a'))
        other.remove('plugin_data', ())
        other.remove('node', ('gone',))
        self.assertEqual(before, set(one))
        self.assertEqual({('node', ('extra', 'b')), ('node', ('extra', 'c'))},
                         set(other))
        one.remove('node', ('extra', 'b'))
        one.add('node', ('name',))
        self.assertEqual({('node', ('extra', 'b')), ('node', ('extra', 'c'))},
                         set(other))
        self.assertEqual({('node', ('extra', 'a')), ('plugin_data', ()),
                          ('node', ('name',))}, set(one))

    def test_nothing_is_left_of_what_is_shown_again(self):
        hidden = hiding.Hidden([('node', ('extra', 'a', 'b'))])
        hidden.remove('node', ('extra', 'a', 'b', 'c'))
        self.assertTrue(hidden.covers('node', ('extra',)))
        hidden.remove('node', ('extra', 'a'))
        self.assertFalse(hidden)


class GrowthTestCase(base.TestCase):
    """Ten times as many hidden places and rules are ten times the work."""

    def work(self, size):
        """Count the lines that are carried out for a phase."""
        rules = [self.rule(0, sensitive=True, actions=[
            {'op': 'set-plugin-data', 'args': {'path': '/a/{item}',
                                               'value': 'x'},
             'loop': '{inventory.items}'}])]
        rules += [self.rule(number, mode='audit', conditions=[
            {'op': 'eq', 'args': ['{inventory.number}', 1]}], actions=[
                {'op': 'set-plugin-data', 'args': {
                    'path': f'/b/{number}', 'value': number}}])
            for number in range(1, size + 1)]
        target = working_copy.WorkingCopy(working_copy.Facts(
            {'number': 1, 'items': list(map(str, range(size)))}, {}))
        lines = 0

        def count(_frame, event, _arg):
            nonlocal lines
            lines += event == 'line'
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            outcome = runner.run(rules, target)
        finally:
            sys.settrace(before)
        self.assertIsNone(outcome.error)
        self.assertEqual(size, len(outcome.audited))
        self.assertEqual(size, len(list(target.journal.hidden)))
        return lines

    def rule(self, number, **fields):
        ops = registry.installed()
        return compiler.compile_rule(validation.parse({
            'uuid': f'{number:032x}', **fields}, ops), ops)

    def test_audit_rules_share_what_is_hidden(self):
        self.work(10)
        self.assertLess(self.work(300), 12 * self.work(30))
