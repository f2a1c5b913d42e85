# SPDX-License-Identifier: Apache-2.0

"""Secrets are hidden by the names they are kept under."""

import hypothesis
from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz
from ironic_inspection_rules.tests.unit.engine.language import test_path

SECRETS = (
    'password',
    'ipmi_password',
    'redfish_password',
    'bmc_password',
    'auth_token',
    'agent_secret_token',
    'adminPass',
    'snmp_community',
    'snmp_auth_key',
    'snmp_priv_key',
    'ipmi_hex_kg_key',
    'PASSWORD',
    'credentials',
    'configdrive',
    'image_url',
    'swift_temp_url',
    'api_key',
    'X-API-Key',
    'apiKey',
    'passwd',
    'Authorization',
    'Proxy-Authorization',
    'Cookie',
    'Set-Cookie',
)


class IsSecretTestCase(base.TestCase):
    def test_names_of_secrets(self):
        for name in SECRETS:
            self.assertTrue(masking.is_secret(name), name)

    def test_what_was_found_once_stays(self):
        for _time in range(2):
            self.assertEqual(
                [True, False, True],
                list(
                    map(
                        masking.is_secret,
                        ('a_password', 'an_address', 'x' * 256),
                    )
                ),
            )

    def test_only_so_many_names_are_remembered(self):
        for number in range(20_000):
            masking.is_secret(f'name-{number}')
        self.assertLessEqual(len(masking._HARMLESS_NAMES), 8192)

    def test_all_names_of_oslo_utils(self):
        for name in strutils._SANITIZE_KEYS:
            self.assertTrue(masking.is_secret(f'my_{name}s'), name)

    def test_what_nobody_would_name_a_thing_is_hidden(self):
        self.assertFalse(masking.is_secret('x' * 255))
        self.assertTrue(masking.is_secret('x' * 256))

    def test_other_names(self):
        for name in (
            'ipmi_username',
            'redfish_address',
            'mac_address',
            'name',
            'key',
            'deploy_kernel',
            'capabilities',
            '',
            'a',
        ):
            self.assertFalse(masking.is_secret(name), name)


class MaskTestCase(base.TestCase):
    def test_secrets_are_hidden_at_any_depth(self):
        self.assertEqual(
            {'a': [{'password': '******', 'b': 1}]},
            masking.mask({'a': [{'password': 'x', 'b': 1}]}),
        )

    def test_a_whole_container_is_hidden(self):
        self.assertEqual(
            {'credentials': '******'},
            masking.mask({'credentials': [{'a': 1}]}),
        )

    def test_what_is_empty_stays(self):
        for value in (None, '', [], {}):
            self.assertEqual(
                {'password': value}, masking.mask({'password': value})
            )

    def test_a_secret_of_one_item_in_many_is_hidden(self):
        # They are met before: a list of harmless names costs no step an item.
        masking.mask([{'name': 'sda', 'serial': '1'}])
        plain = {'name': 'sdb', 'serial': '2'}
        for last, hidden in (
            (
                {'name': 'c', 'token': 't'},
                {'name': 'c', 'token': masking.MASK},
            ),
            ({'name': {'token': 't'}}, {'name': {'token': masking.MASK}}),
            ({'name': [{'token': 't'}]}, {'name': [{'token': masking.MASK}]}),
            ([{'token': 't'}], [{'token': masking.MASK}]),
        ):
            value = [plain, plain, last, None, 'x']
            self.assertEqual(
                [plain, plain, hidden, None, 'x'], masking.mask(value)
            )
            self.assertEqual([plain, hidden], masking.mask([plain, last]))

    def test_what_holds_no_secret_is_not_copied(self):
        data = {'a': [{'b': 1}], 'c': {'password': 'x'}}
        self.assertIs(data['a'], masking.mask(data['a']))
        self.assertIs(data['a'], masking.mask(data)['a'])

    @fuzz.settings
    @hypothesis.given(fuzz.json_values)
    def test_no_secret_is_left(self, value):
        left = [masking.mask({'a': value, 'password': value})]
        while left:
            inner = left.pop()
            if isinstance(inner, dict):
                for key, item in inner.items():
                    if masking.is_secret(key):
                        self.assertIn(item, (None, '', [], {}, masking.MASK))
                    left.append(item)
            elif isinstance(inner, list):
                left += inner

    @fuzz.settings
    @hypothesis.given(fuzz.mappings, test_path.paths, fuzz.json_values)
    def test_masking_along_a_path_is_masking_the_whole(
        self, data, path, value
    ):
        try:
            whole = views.Tree().assign(data, path, value)
        except exceptions.OperationError:
            return
        self.assertEqual(
            repr(masking.mask(whole)),
            repr(
                views.Tree().assign(
                    masking.mask(data), *masking.mask_along(path, value)
                )
            ),
        )


class SecretArgumentsTestCase(base.TestCase):
    def test_a_field_alone_is_no_secret_in_a_mapping_neither(self):
        field = '{plugin_data.x}'
        for path, value, expected in (
            ('/driver_info/password', field, []),
            ('/driver_info/password', 'x', ['value']),
            ('/driver_info', {'password': field}, []),
            ('/driver_info', {'password': 'x'}, ['value']),
            ('/driver_info', {'password': 7}, ['value']),
            ('/driver_info', {'password': f'x{field}'}, ['value']),
            ('/driver_info', {'password': field, 'token': 'x'}, ['value']),
            ('/driver_info', {'password': field, 'address': 'x'}, []),
            ('/driver_info', {'password': None}, []),
            ('/extra', {'a': [{'password': field}]}, []),
            ('/extra', {'a': [{'password': 'x'}]}, ['value']),
            ('/extra', {'password': {'a': [field, {'b': field}]}}, []),
            ('/extra', {'password': {'a': [field, {'b': 'x'}]}}, ['value']),
            ('/extra/password/a', {'b': field}, []),
            ('/extra/password/a', {'b': 'x'}, ['value']),
        ):
            found = masking.find_secret_arguments(
                {'path': path, 'value': value}
            )
            self.assertEqual(expected, list(found), (path, value))

    def test_credentials_in_a_url_are_a_secret(self):
        for url in ('https://user:pw@bmc/', 'https://{node.name}@[::1]/'):
            self.assertEqual(['url'], _secret_arguments(url), url)

    def test_credentials_are_a_secret_also_among_control_characters(self):
        # What parses the URL later passes over them.
        for url in (
            'ht\ttp://user:pw@bmc/',
            'http:/\n/user:pw@bmc/',
            '\x00http://user:pw@bmc/',
        ):
            self.assertEqual(['url'], _secret_arguments(url), repr(url))

    def test_a_url_whose_host_is_a_field_in_brackets_has_none(self):
        # An address of IPv6 that is known only when the rule runs.
        url = 'https://[{inventory.bmc_v6address}]/redfish?a=b@c'
        self.assertEqual([], _secret_arguments(url))

    def test_a_broken_url_has_none(self):
        self.assertEqual([], _secret_arguments('https://[x'))


def _secret_arguments(url):
    return list(masking.find_secret_arguments({'url': url}))


class MaskUrlTestCase(base.TestCase):
    def test_credentials_and_values_are_hidden(self):
        self.assertEqual(
            'https://******@cmdb:8443/a?key=******&b=******',
            masking.mask_url('https://me:pa55@cmdb:8443/a?key=k3y&b=#frag'),
        )

    def test_a_plain_url_stays(self):
        for url in ('http://cmdb/a/b', 'https://[2001:db8::1]:80/'):
            self.assertEqual(url, masking.mask_url(url))

    def test_what_is_no_url_is_hidden_whole(self):
        self.assertEqual('******', masking.mask_url('http://[pa55'))
