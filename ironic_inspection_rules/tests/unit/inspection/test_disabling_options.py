# SPDX-License-Identifier: Apache-2.0

"""Values that switch inspection rules off, and what is said of them."""

import configparser
import pathlib

import fixtures
from ironic.conf import CONF
from ironic.db import api as ironic_db

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules import hook
from ironic_inspection_rules.api import install
from ironic_inspection_rules.inspection import disabling_options
from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.inspection import base as glue

GOOD = {
    'DEFAULT': {'enabled_inspect_interfaces': 'agent,redfish,no-inspect'},
    'api': {'middleware': 'inspection-rules'},
    'inspector': {'hooks': '$default_hooks,inspection-rules'},
    'redfish': {
        'inspection_hooks': '$default_inspection_hooks,inspection-rules'
    },
}


class SwitchesTestCase(base.IronicTestCase):
    """A configuration file that switches all on, but for one value."""

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.MonkeyPatch('os.environ', {}))
        self.addCleanup(
            CONF,
            [],
            project='ironic',
            default_config_files=[],
            default_config_dirs=[],
        )

    def read(self, changes, directory_changes=None):
        """Read a configuration file, and return all that is said of it.

        :param changes: options by group, beside those of :data:`GOOD`; None
            takes an option out.
        :param directory_changes: those of a file in a directory.
        """
        for name, options in (
            (
                'ironic.conf',
                {
                    group: {**GOOD.get(group, {}), **changes.get(group, {})}
                    for group in {**GOOD, **changes}
                },
            ),
            ('more/one.conf', directory_changes or {}),
        ):
            path = self.directory / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(
                '\n'.join(
                    f'[{group}]\n'
                    + '\n'.join(
                        f'{name} = {value}'
                        for name, value in values.items()
                        if value is not None
                    )
                    for group, values in options.items()
                )
            )
        CONF(
            ['--config-dir', str(self.directory / 'more')],
            project='ironic',
            default_config_files=[str(self.directory / 'ironic.conf')],
            default_config_dirs=[],
        )
        conf.register_opts(CONF)
        return list(disabling_options.list_warnings())

    def one(self, changes, *parts):
        """Check that one thing is said, with these parts."""
        (said,) = self.read(changes)
        for part in parts:
            self.assertIn(part, said)

    def test_nothing_is_said_where_all_is_on(self):
        self.assertEqual([], self.read({}))
        self.assertEqual(
            [], self.read({'redfish': {'inspection_hooks': None}})
        )


class NamesTestCase(SwitchesTestCase):
    """Lists that have to name the plugin."""

    def test_hooks_without_the_plugin(self):
        self.one(
            {'inspector': {'hooks': '$default_hooks'}},
            '[inspector]hooks does not name inspection-rules',
        )
        self.one({'inspector': {'hooks': None}}, '[inspector]hooks')

    def test_hooks_without_the_plugin_where_something_else_loads_it(self):
        without = {'inspector': {'hooks': '$default_hooks'}}
        nothing, preprocess = 'no inspection rules', 'of the phase preprocess'
        all_in_one = {'rpc_transport': 'none'}
        split = {'rpc_transport': 'json-rpc'}
        agent_only = {'enabled_inspect_interfaces': 'agent'}
        for default, redfish_hooks, effect in (
            ({**all_in_one, **agent_only}, None, preprocess),
            ({**split, **agent_only}, None, nothing),
            (
                {**split, **agent_only},
                '$default_inspection_hooks,inspection-rules',
                nothing,
            ),
            (
                {**split, 'enabled_inspect_interfaces': 'agent,redfish'},
                '$default_inspection_hooks,inspection-rules',
                preprocess,
            ),
        ):
            self.one(
                {
                    **without,
                    'DEFAULT': default,
                    'redfish': {'inspection_hooks': redfish_hooks},
                },
                effect,
            )

    def test_hooks_with_a_name_near_the_plugin_s(self):
        for name in (*disabling_options.NEAR_NAMES, 'inspection-ruels'):
            self.one(
                {'inspector': {'hooks': f'$default_hooks,{name}'}},
                f'[inspector]hooks: unknown hook "{name}"',
                'did you mean "inspection-rules"?',
            )

    def test_hooks_of_ironic_that_are_not_installed(self):
        self.one(
            {'redfish': {'inspection_hooks': 'prots,ports'}},
            '[redfish]inspection_hooks: unknown hook "prots"; did you '
            'mean "ports"?',
        )

    def test_hooks_without_those_of_ironic(self):
        self.one(
            {'inspector': {'hooks': 'inspection-rules'}},
            '[inspector]hooks is "inspection-rules"',
            'validate-interfac',
            'did you mean "$default_hooks,inspection-rules"?',
        )
        self.one(
            {'redfish': {'inspection_hooks': 'inspection-rules'}},
            'did you mean "$default_inspection_hooks,inspection-rules"?',
        )
        self.assertEqual(
            [],
            self.read(
                {
                    'inspector': {
                        'hooks': 'validate-interfaces,ports,inspection-rules'
                    }
                }
            ),
        )

    def test_default_hooks_by_a_name_that_is_no_option(self):
        self.one(
            {'inspector': {'hooks': '$default_hook,inspection-rules'}},
            'unknown hook "$default_hook"; did you mean "$default_hooks"?',
        )
        self.one(
            {'inspector': {'hooks': 'default_hooks,inspection-rules'}},
            'unknown hook "default_hooks"',
        )
        self.one(
            {
                'redfish': {
                    'inspection_hooks': '$default_hooks,inspection-rules'
                }
            },
            '[redfish]inspection_hooks',
            'did you mean "$default_inspection_hooks"?',
        )

    def test_middleware_without_the_plugin(self):
        self.one(
            {'api': {'middleware': None}},
            '[api]middleware does not name inspection-rules',
        )

    def test_middleware_with_a_name_near_the_plugin_s(self):
        for name in (*disabling_options.NEAR_NAMES, 'inspection-ruels'):
            self.one(
                {'api': {'middleware': name}},
                f'[api]middleware: unknown middleware "{name}"',
                'did you mean "inspection-rules"?',
            )

    def test_a_conductor_that_would_not_load_the_hook(self):
        split = {
            'enabled_inspect_interfaces': 'redfish',
            'rpc_transport': 'json-rpc',
        }
        self.assertEqual([], self.read({'DEFAULT': split}))
        self.one(
            {'DEFAULT': split, 'redfish': {'inspection_hooks': None}},
            '[redfish]inspection_hooks',
        )


class InterfacesTestCase(SwitchesTestCase):
    """supported_interfaces, and the inspect interfaces that are enabled."""

    def supported(self, value, *parts, enabled='agent,redfish,no-inspect'):
        self.one(
            {
                'DEFAULT': {'enabled_inspect_interfaces': enabled},
                'inspection_rules': {'supported_interfaces': value},
            },
            '[inspection_rules]supported_interfaces',
            *parts,
        )

    def test_a_list_in_the_place_of_a_regular_expression(self):
        self.supported(
            'agent,redfish',
            'is "agent,redfish"',
            'did you mean "^(agent|redfish)$"?',
        )

    def test_names_of_no_interface(self):
        self.supported('^agnet$', 'did you mean "^(agent)$"?')
        self.supported('^other$', 'agent, redfish')

    def test_an_expression_that_matches_only_nodes_without_inspection(self):
        self.supported('no', 'run on no node')

    def test_nothing_in_particular_is_enabled(self):
        self.supported('^(agent|redfish)$', 'no-inspect', enabled='no-inspect')

    def test_one_of_several_is_enough(self):
        self.assertEqual(
            [],
            self.read(
                {'inspection_rules': {'supported_interfaces': '^redfish$'}}
            ),
        )

    def test_a_node_with_another_interface(self):
        self.assertEqual([], self.read({}))
        self.assertEqual(
            [], list(disabling_options.list_reasons_for_node('agent'))
        )
        (said,) = disabling_options.list_reasons_for_node('no-inspect')
        self.assertIn('no-inspect', said)
        self.assertIn('supported_interfaces', said)


class ConductorsElsewhereTestCase(glue.GlueTestCase):
    """An API on a host whose configuration no conductor has."""

    def setUp(self):
        super().setUp()
        self.config(group='api', middleware=['inspection-rules'])
        self.config(group='inspector', hooks='ports,inspection-rules')
        self.config(group='redfish', inspection_hooks='ports')
        self.config(
            rpc_transport='oslo',
            enabled_inspect_interfaces=['no-inspect', 'redfish'],
        )
        self.config(group='inspection_rules', supported_interfaces='^agent$')

    def said(self):
        return list(disabling_options.list_warnings_of_values(conducts=False))

    def register(self, *interfaces):
        database = ironic_db.get_instance()
        conductor = database.register_conductor(
            {'hostname': 'one', 'drivers': ['fake-hardware']}
        )
        database.register_conductor_hardware_interfaces(
            conductor.id,
            [
                {
                    'hardware_type': 'fake-hardware',
                    'interface_type': kind,
                    'interface_name': name,
                    'default': False,
                }
                for kind, name in (
                    ('power', 'agent'),
                    *(('inspect', name) for name in interfaces),
                )
            ],
        )

    def test_interfaces_are_those_of_conductors(self):
        self.register('no-inspect', 'agent')
        self.assertEqual([], self.said())
        self.assertEqual(
            [], list(disabling_options.list_reasons_for_node('agent'))
        )
        self.assertEqual(
            2, len(list(disabling_options.list_warnings_of_values()))
        )

    def test_interfaces_of_no_conductor_are_told(self):
        self.register('no-inspect', 'redfish')
        agent, supported = self.said()
        self.assertIn('does not name agent', agent)
        self.assertIn('supported_interfaces', supported)

    def test_hooks_of_others_need_not_be_installed(self):
        self.register('agent')
        self.config(group='inspector', hooks='ports,zzz,inspection-rules')
        self.assertEqual([], self.said())
        self.assertIn(
            'unknown hook "zzz"',
            ' '.join(disabling_options.list_warnings_of_values()),
        )
        self.config(group='inspector', hooks='ports,prots,inspection-rules')
        self.assertIn('did you mean "ports"?', ' '.join(self.said()))


class FilesTestCase(SwitchesTestCase):
    """Sections and options that nobody reads."""

    def test_an_option_with_dashes(self):
        """oslo.config does not read it."""
        for name, near in (
            ('keep-runs', 'keep_runs'),
            ('built-in', 'built_in'),
        ):
            self.one(
                {'inspection_rules': {name: '3'}},
                f'unknown option in [inspection_rules] "{name}"; did '
                f'you mean "{near}"?',
            )
        self.assertEqual(5, CONF.inspection_rules.keep_runs)

    def test_a_section_with_a_name_near_ours(self):
        for near, section in (
            ('inspection-rules', 'inspection_rules'),
            ('inspection_rule', 'inspection_rules'),
            ('inspection', 'inspection_rules'),
            ('inspection-queue', 'inspection_queue'),
            ('inspection_pxe_filters', 'inspection_pxe_filter'),
            ('cordination', 'coordination'),
            ('auto-discovery', 'auto_discovery'),
            ('inspectors', 'inspector'),
            ('apis', 'api'),
        ):
            self.one(
                {near: {'built_in': '/rules', 'enabled': 'true'}},
                f'unknown section [{near}]',
                f'did you mean [{section}]?',
                'ironic.conf',
            )

    def test_a_section_of_another(self):
        self.assertEqual([], self.read({'my_driver': {'enabled': 'true'}}))
        self.assertEqual(
            [], self.read({'Inspection_Rules': {'keep_runs': '3'}})
        )

    def test_an_unknown_option_in_our_sections(self):
        self.one(
            {'inspection_rules': {'built-ins': '/rules'}},
            'unknown option in [inspection_rules] "built-ins"',
            'did you mean "built_in"?',
        )

    def test_our_option_in_another_section(self):
        for group in ('DEFAULT', 'inspector'):
            self.one(
                {group: {'default_scope': 'rack'}},
                f'unknown option in [{group}] "default_scope"',
                'did you mean "default_scope" in [inspection_rules]?',
            )

    def test_an_option_of_any_of_our_sections_in_default(self):
        for group, names in conf.list_option_names(CONF).items():
            for name in names:
                self.one(
                    {'DEFAULT': {name: '1'}},
                    f'unknown option in [DEFAULT] "{name}"',
                    f'did you mean "{name}" in [{group}]?',
                )

    def test_an_option_of_another_section_of_ours(self):
        self.one(
            {'inspection_rules': {'reboot_throttle': '3'}},
            'unknown option in [inspection_rules] "reboot_throttle"',
            'did you mean "reboot_throttle" in [inspection_queue]?',
        )

    def test_a_name_that_is_ours_but_not_only_ours(self):
        self.assertEqual([], self.read({'inspector': {'enabled': 'true'}}))

    def test_the_plugin_in_an_option_that_does_not_exist(self):
        said = self.read(
            {'api': {'middleware': None, 'middlewares': 'inspection-rules'}}
        )
        self.assertIn(
            'unknown option in [api] "middlewares"; did you mean '
            '"middleware"?',
            ' '.join(said),
        )
        self.one(
            {'inspector': {'inspection_hooks': 'inspection_rules'}},
            'unknown option in [inspector] "inspection_hooks"',
        )

    def test_a_file_in_a_directory(self):
        (said,) = self.read({}, {'inspection-rules': {'keep_runs': 1}})
        self.assertIn('one.conf', said)

    def test_a_variable_of_the_environment(self):
        self.useFixture(
            fixtures.EnvironmentVariable(
                'OS_INSPECTION_RULE__BUILT_IN', '/rules'
            )
        )
        self.one(
            {},
            'OS_INSPECTION_RULE__BUILT_IN',
            'did you mean [inspection_rules]?',
        )


class NearNameTestCase(SwitchesTestCase):
    """Entry points that only say which name was meant."""

    def test_all_of_them_are_registered(self):
        path = guide.ROOT / 'setup.cfg'
        if not path.exists():
            self.skipTest('not a checkout: no setup.cfg')
        registered = configparser.ConfigParser()
        registered.read(path)
        for group, target in (
            ('ironic.api.middleware', 'api.install:refuse'),
            ('ironic.inspection.hooks', 'hook:NearNameHook'),
        ):
            names = set()
            for line in registered['entry_points'][group].split('\n'):
                name, _equals, value = line.partition(' = ')
                if value.endswith(target):
                    names.add(name)
            self.assertEqual(disabling_options.NEAR_NAMES, names)

    def test_a_hook(self):
        self.read({'inspector': {'hooks': '$default_hooks,inspection_rules'}})
        exc = self.assertRaises(exceptions.Invalid, hook.NearNameHook)
        self.assertIn('did you mean "inspection-rules"?', str(exc))

    def test_a_middleware(self):
        self.read({'api': {'middleware': 'inspection_rules'}})
        exc = self.assertRaises(exceptions.Invalid, install.refuse, None)
        self.assertIn('did you mean "inspection-rules"?', str(exc))

    def test_a_middleware_that_the_api_of_this_process_cannot_load(self):
        self.read(
            {
                'DEFAULT': {'rpc_transport': 'none'},
                'api': {'middleware': 'inspection-ruels'},
            }
        )
        exc = self.assertRaises(exceptions.Invalid, hook.InspectionRulesHook)
        self.assertIn('did you mean "inspection-rules"?', str(exc))


class UnusedScopeTestCase(glue.GlueTestCase):
    def said(self, scope):
        self.config(group='inspection_rules', default_scope=scope)
        return ' '.join(disabling_options.unused_scope())

    def test_a_default_scope_that_no_node_has(self):
        self.task.node.properties = {'inspection_scope': 'rack-1'}
        self.task.node.save()
        self.assertIn('did you mean "rack-1"?', self.said('rack_1'))
        self.assertIn('"other"', self.said('other'))
        self.assertEqual('', self.said('rack-1'))
        self.assertEqual('', self.said(''))

    def test_a_default_scope_that_discovered_nodes_will_have(self):
        self.config(group='auto_discovery', inspection_scope='new')
        self.assertEqual('', self.said('new'))
