# SPDX-License-Identifier: Apache-2.0

"""Reported parts that are one part of the machine."""

from ironic_inspection_rules.machine import part
from ironic_inspection_rules.machine import part_group
from ironic_inspection_rules.tests.unit import base


def disk(*ids, source='agent disk inventory.disks'):
    return part.Part('disk', ids, ''.join(ids[:1]), None, {}, source)


class GroupTestCase(base.TestCase):
    def test_a_part_with_two_identities_joins_parts_with_one_of_them(self):
        both = disk('s1', 'wwn1', source='redfish disk inventory.disks')
        groups = part_group.PartGroups([disk('s1'), disk('wwn1'), both])

        self.assertEqual(
            1, len(groups.find_groups([disk('s1'), disk('wwn1'), both]))
        )

    def test_a_part_known_at_both_times_is_no_counterpart_of_another(self):
        before = [disk('s1'), disk('s2')]
        unidentified = [disk(), disk(), disk()]
        after = [disk('s1'), *unidentified]
        groups = part_group.PartGroups([*before, *after])

        # Only one of the three may be s2.
        without = groups.without_counterpart(unidentified, after, before)

        self.assertEqual(2, len(list(without)))
