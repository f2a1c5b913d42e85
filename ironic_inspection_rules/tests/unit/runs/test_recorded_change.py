# SPDX-License-Identifier: Apache-2.0

"""What a recorded change set, and whether it still is so."""

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.runs import recorded_change
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.runs import test_explain

SIZE = test_explain.SIZE

change = test_explain.change
node = test_explain.node
still_holds = recorded_change.still_holds


class IsAmongTestCase(base.TestCase):
    def test_only_a_dash_stands_for_an_index(self):
        item = node('extra', 'disks', '0')
        for pointer, expected in (
            ('/extra/disks/-', True),
            ('/extra/disks/0', True),
            ('/extra/disks/1', False),
            ('/extra/disks/x', False),
        ):
            self.assertEqual(
                expected,
                recorded_change.is_among([['node', pointer]], item),
                pointer,
            )


class StillHoldsTestCase(base.TestCase):
    def test_a_value_is_compared_with_what_was_made_of_it(self):
        made = change('/extra/size', 1, 2)
        for present, expected in (
            (2, True),
            (3, False),
            (data_path.ABSENT, False),
            (recorded_change.UNKNOWN, None),
        ):
            self.assertIs(expected, still_holds(made, SIZE, present))

    def test_what_was_removed_is_to_be_absent(self):
        made = change('/extra/size', 1, None)
        self.assertTrue(still_holds(made, SIZE, data_path.ABSENT))
        self.assertFalse(still_holds(made, SIZE, 1))

    def test_a_part_is_looked_up_in_the_whole(self):
        made = change('/extra', {}, {'size': 2})
        self.assertTrue(still_holds(made, SIZE, 2))

    def test_any_text_is_compared(self):
        # The last is as long as what is kept, and was not cut.
        for text in ('', '!', 'big', 'x:1', '~', '*****', 'x' * 4095 + '…'):
            made = change('/extra/size', 1, text)
            self.assertTrue(still_holds(made, SIZE, text), text)
            self.assertFalse(still_holds(made, SIZE, 'other'), text)

    def test_text_has_no_parts_except_of_capabilities(self):
        made = change('/extra', None, 'size:1')
        self.assertFalse(still_holds(made, SIZE, '1'))
        self.assertTrue(still_holds(made, SIZE, data_path.ABSENT))
        made = change('/properties/capabilities', None, 'size: 1 , b:2')
        for path, present in (
            (('size',), '1'),
            (('b',), '2'),
            (('c',), data_path.ABSENT),
            (('size', 'x'), data_path.ABSENT),
            ((), 'size: 1 , b:2'),
        ):
            self.assertTrue(
                still_holds(
                    made, node('properties', 'capabilities', *path), present
                ),
                (path, present),
            )

    def test_a_trait_is_there_or_not(self):
        place = recorded_change.RecordedPlace('traits', ('CUSTOM_X',))
        added = change('/CUSTOM_X', None, 'CUSTOM_X', 'traits')
        self.assertTrue(still_holds(added, place, 'CUSTOM_X'))
        self.assertFalse(still_holds(added, place, data_path.ABSENT))

    def test_whether_a_trait_is_there_may_be_unknown(self):
        place = recorded_change.RecordedPlace('traits', ('CUSTOM_X',))
        for op in ('add', 'remove'):
            made = {'op': op, 'path': '/CUSTOM_X', 'object': 'traits'}
            self.assertIsNone(
                still_holds(made, place, recorded_change.UNKNOWN), op
            )

    def test_nobody_knows_of_secrets(self):
        for made in (
            change('/extra/size', 1, '******'),
            change('/extra/size', 1, {'a': '******'}),
            change('/extra/size', 1, 'x' * 4096 + '…'),
        ):
            self.assertIsNone(still_holds(made, SIZE, 1), repr(made))

    def test_nobody_knows_the_whole_by_a_part_that_was_removed(self):
        made = change('/extra/size/part', 1)
        for present, expected in (
            ({'other': 1}, None),
            ({}, None),
            ({'part': 1}, False),
            (7, False),
            (data_path.ABSENT, False),
            (recorded_change.UNKNOWN, None),
        ):
            for place in (SIZE, node('extra')):
                value = present
                if place != SIZE and present is data_path.ABSENT:
                    value = {}
                elif place != SIZE and present is not recorded_change.UNKNOWN:
                    value = {'size': present}
                self.assertIs(
                    expected, still_holds(made, place, value), (place, value)
                )

    def test_the_rest_of_a_list_is_not_known(self):
        made = {**change('/extra/size/1', 'b'), 'left': 2}
        self.assertIsNone(still_holds(made, SIZE, ['a', 'c']))
        self.assertIs(
            True,
            still_holds(made, node('extra', 'size', '2'), data_path.ABSENT),
        )
        self.assertIs(False, still_holds(made, SIZE, 'a'))

    def test_a_capability_is_a_part_of_their_text(self):
        path = ('properties', 'capabilities')
        made = change('/properties/capabilities/x', '1', '1')
        for place in (path, path[:1]):
            for text, expected in (
                ('y:2,x:1', None),
                ('x:2', False),
                (None, False),
            ):
                present = text
                if place != path:
                    present = {'capabilities': text}
                self.assertIs(
                    expected,
                    still_holds(made, node(*place), present),
                    (place, text),
                )

    def test_what_ironic_sets_instead_of_nothing_is_not_known(self):
        made = change('/boot_interface', 'a', op='replace')
        place = node('boot_interface')
        self.assertIsNone(still_holds(made, place, 'default'))
        made = change('/boot_interface', 'a', 'b')
        self.assertIs(False, still_holds(made, place, 'default'))
        made = change('/resource_class', 'a', op='replace')
        self.assertIs(False, still_holds(made, node('resource_class'), 'b'))
