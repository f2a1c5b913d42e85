# SPDX-License-Identifier: Apache-2.0

"""The attributes that rules may change, and what they hold."""

from ironic import objects
from ironic.api.controllers.v1 import node as node_api
from ironic.api.controllers.v1 import port as port_api
from ironic.common import utils as ironic_utils
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.plugins.actions import schema
from ironic_inspection_rules.tests.unit import base

# Where a port belongs is not for a rule about this node to say.
_MOVES = {'node_ident', 'node_uuid'}


class IronicTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        objects.register_all()

    def test_rules_may_change_what_ironic_lets_a_patch_change(self):
        self.assertEqual(
            set(node_api.PATCH_ALLOWED_FIELDS), schema.NODE.keys()
        )
        self.assertEqual(
            set(port_api.PATCH_ALLOWED_FIELDS) - _MOVES, schema.PORT.keys()
        )

    def test_ironic_takes_each_kind_of_value(self):
        values = {
            'a string': 'a',
            schema.NAME_KIND: 'a',
            'true or false': True,
            'a mapping': {},
            'a UUID': '11111111-1111-4111-8111-111111111111',
            'a MAC address': '52:54:00:aa:bb:01',
        }
        for table, owner in (
            (schema.NODE, objects.Node()),
            (schema.PORT, objects.Port()),
        ):
            for name, attribute in table.items():
                if name in owner.fields:
                    setattr(owner, name, values[attribute.kind])
                    if attribute.default is not ...:
                        setattr(owner, name, attribute.default)

    def test_a_node_may_have_the_names_that_ironic_lets_it_have(self):
        for number in range(0x20, 0x300):
            name = f'a{chr(number)}'
            try:
                schema.read_value(('name',), name, schema.NODE)
                is_name = True
            except exceptions.OperationError:
                is_name = False
            if name.isascii():
                self.assertEqual(
                    ironic_utils.is_valid_logical_name(name), is_name, name
                )
            else:
                # The letters that Ironic's documentation leaves out, too.
                self.assertFalse(is_name, name)


class ReadValueTestCase(base.TestCase):
    def read(self, name, value, table=schema.NODE):
        return schema.read_value((name,), value, table)

    def test_values_are_read_as_the_attribute_holds_them(self):
        for name, value, expected in (
            ('name', 'a', 'a'),
            ('name', 8, '8'),
            ('owner', 1.5, '1.5'),
            ('name', None, None),
            ('extra', None, {}),
            ('maintenance', 'false', False),
            ('retired', None, False),
            ('automated_clean', None, None),
            ('conductor_group', None, ''),
        ):
            self.assertEqual(expected, self.read(name, value), name)
        self.assertEqual(
            '52:54:00:aa:bb:01',
            self.read('address', '52:54:00:AA:BB:01', schema.PORT),
        )

    def test_other_values_are_refused(self):
        for name, value in (
            ('name', True),
            ('name', []),
            ('extra', 'a'),
            ('maintenance', 'perhaps'),
            ('maintenance', 1),
            ('instance_uuid', 'a'),
            ('name', 'a' * 256),
            ('driver', None),
            ('name', 'a b'),
            ('name', ''),
            ('name', uuidutils.generate_uuid()),
            ('name', 'a\n'),
            ('parent_node', 'a'),
        ):
            self.assertRaises(
                exceptions.OperationError, self.read, name, value
            )

    def test_anything_goes_into_a_mapping(self):
        for value in (None, 1, [], {}):
            self.assertEqual(
                value, schema.read_value(('extra', 'a'), value, schema.NODE)
            )
