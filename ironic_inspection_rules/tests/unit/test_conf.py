# SPDX-License-Identifier: Apache-2.0

"""The options, alone and beside Ironic's."""

from ironic.conf import CONF
from oslo_config import cfg

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.tests.unit import base


class PxeFilterOptionsTestCase(base.IronicTestCase):
    def setUp(self) -> None:
        super().setUp()
        conf.register_opts(CONF)

    def test_defaults(self) -> None:
        group = CONF.inspection_pxe_filter
        self.assertIsNone(group.interface)
        self.assertEqual(['67/udp', '69/udp'], group.ports)
        self.assertEqual(15.0, group.sync_period)
        self.assertEqual(15.0, group.whitelist_period)
        self.assertEqual(['agent'], group.supported_inspect_interfaces)

    def test_periods_from_nothing_to_half_a_minute(self) -> None:
        for name in ('sync_period', 'whitelist_period'):
            for good in (0, 0.5, 30):
                self.config(group='inspection_pxe_filter', **{name: good})
            for bad in (-1, 30.1):
                self.assertRaises(
                    ValueError,
                    self.config,
                    group='inspection_pxe_filter',
                    **{name: bad},
                )

    def test_ports_have_a_number_and_a_protocol(self) -> None:
        self.config(
            group='inspection_pxe_filter', ports=['4011/UDP', '80/tcp']
        )
        self.assertEqual(
            ['4011/udp', '80/tcp'], CONF.inspection_pxe_filter.ports
        )
        for bad in ('67', 'udp/67', '67/sctp', '0/udp', '65536/udp', ''):
            self.assertRaises(
                ValueError,
                self.config,
                group='inspection_pxe_filter',
                ports=[bad],
            )

    def test_interface_is_one_that_linux_may_have(self) -> None:
        self.config(group='inspection_pxe_filter', interface='br-ex.100')
        for bad in ('', 'a b', 'eth0/1', 'eth*', 'sixteen_letters_'):
            self.assertRaises(
                ValueError,
                self.config,
                group='inspection_pxe_filter',
                interface=bad,
            )

    def test_coordination_is_a_file_below_the_state_path(self) -> None:
        self.config(state_path='/var/lib/ironic')
        self.assertEqual(
            'file:///var/lib/ironic/coordination',
            CONF.coordination.backend_url,
        )


class OptionsTestCase(base.IronicTestCase):
    def test_options_join_those_of_ironic_and_may_be_registered_twice(self):
        conf.register_opts(CONF)
        conf.register_opts(CONF)

        group = CONF.inspection_rules
        self.assertIsNone(group.built_in)
        self.assertIsNone(group.default_scope)
        self.assertEqual(
            '^(agent|inspector|redfish|idrac-redfish)$',
            group.supported_interfaces,
        )
        self.assertEqual('always', group.mask_secrets)

    def test_supported_interfaces_must_be_a_regular_expression(self):
        conf.register_opts(CONF)

        exc = self.assertRaises(
            ValueError,
            self.config,
            group='inspection_rules',
            supported_interfaces='(agent',
        )
        self.assertIn('(agent', str(exc))

    def test_what_no_service_could_wait_for_is_refused(self):
        conf.register_opts(CONF)
        for name, good, bad in (
            ('workers', 1000, 10**9),
            ('get_timeout', 60, 1e12),
            ('lease', 86400, 3000000),
            ('clean_up_period', 86400, 'inf'),
            ('report_expiration', 3153600000, 1e12),
            ('reboot_throttle', 0, 'inf'),
            ('connection_retry_interval', 0.01, 0),
            ('connection_retry_interval', 86400, 1e12),
        ):
            self.config(group='inspection_queue', **{name: good})
            self.assertRaises(
                ValueError,
                self.config,
                group='inspection_queue',
                **{name: bad},
            )

    def test_what_a_timer_or_a_query_could_not_take_is_refused(self):
        conf.register_opts(CONF)
        for name, good, bad in (
            ('statistics_period', 86400, 'inf'),
            ('statistics_period', 86400, 1e12),
            ('keep_revisions', 2**31 - 1, 10**20),
        ):
            self.config(group='inspection_rules', **{name: good})
            self.assertRaises(
                ValueError,
                self.config,
                group='inspection_rules',
                **{name: bad},
            )

    def test_what_is_no_number_is_refused_at_start(self):
        conf.register_opts(CONF)
        self.config(group='inspection_queue', reboot_throttle='nan')

        exc = self.assertRaises(exceptions.Invalid, conf.check, CONF)

        self.assertIn('[inspection_queue]reboot_throttle: "nan"', str(exc))

    def test_sample_lists_every_option(self):
        fresh = cfg.ConfigOpts()
        conf.register_opts(fresh)

        listed = {
            (group, opt.dest)
            for group, opts in conf.list_opts()
            for opt in opts
        }
        self.assertEqual(
            {
                (group, name)
                for group, _opts in conf.list_opts()
                for name in fresh[group]
            },
            listed,
        )
