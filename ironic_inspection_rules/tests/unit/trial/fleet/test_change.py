# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.trial.fleet import change


def of(target, op, path, value=None, before=None):
    return {'object': target, 'op': op, 'path': path, 'value': value,
            'before': before}


class DifferencesTestCase(base.TestCase):

    def check(self, kind, gained, lost, *changes, compared=False, **node):
        found = change.differences(changes, node, compared)
        self.assertEqual((set(gained), set(lost)),
                         (found[kind].gained, found[kind].lost))
        for other in change.KINDS:
            if other != kind:
                self.assertEqual(change.Difference(frozenset(), frozenset()),
                                 change.differences(changes, {},
                                                    compared)[other])

    def test_a_trait_that_is_there_is_not_gained(self):
        self.check('traits', ['B'], ['C'],
                   of('traits', 'add', '/A', 'A'),
                   of('traits', 'add', '/B', 'B'),
                   of('traits', 'remove', '/C'),
                   of('traits', 'remove', '/D'),
                   traits=['A', 'C'])

    def test_a_trait_that_goes_and_comes_back_stays(self):
        self.check('traits', [], [],
                   of('traits', 'remove', '/A'),
                   of('traits', 'add', '/A', 'A'), traits=['A'])

    def test_compared_the_traits_of_the_node_do_not_matter(self):
        self.check('traits', ['A'], ['B'],
                   of('traits', 'add', '/A', 'A'),
                   of('traits', 'remove', '/B', before='B'),
                   compared=True, traits=['A'])

    def test_a_resource_class_replaces_another(self):
        self.check('resource_classes', ['gpu'], ['baremetal'],
                   of('node', 'replace', '/resource_class', 'big'),
                   of('node', 'replace', '/resource_class', 'gpu'),
                   resource_class='baremetal')
        self.check('resource_classes', ['gpu'], [],
                   of('node', 'add', '/resource_class', 'gpu'),
                   resource_class=None)
        self.check('resource_classes', [], [],
                   of('node', 'replace', '/resource_class', 'gpu'),
                   resource_class='gpu')

    def test_compared_a_change_says_what_was_there(self):
        self.check('resource_classes', ['gpu'], ['big'],
                   of('node', 'replace', '/resource_class', 'gpu', 'big'),
                   compared=True, resource_class='baremetal')

    def test_capabilities_are_told_one_by_one(self):
        self.check('capabilities', ['raid:1'], ['boot_mode:bios'],
                   of('node', 'replace', '/properties/capabilities',
                      'raid:1,cpu_vt:true'),
                   properties={'capabilities': 'boot_mode:bios,cpu_vt:true'})
        self.check('capabilities', [], ['boot_mode:bios'],
                   of('node', 'remove', '/properties/capabilities'),
                   properties={'capabilities': 'boot_mode:bios'})

    def test_capabilities_come_with_properties_too(self):
        self.check('capabilities', ['raid:1'], [],
                   of('node', 'replace', '/properties',
                      {'capabilities': 'raid:1'}))

    def test_other_places_do_not_count(self):
        self.check('capabilities', [], [],
                   of('port 52:54:00:00:00:01', 'add', '/extra/a', 'b'),
                   of('plugin_data', 'add', '/resource_class', 'x'),
                   of('node', 'add', '/properties/cpus', 4))
