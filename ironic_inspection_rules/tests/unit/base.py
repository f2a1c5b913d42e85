# SPDX-License-Identifier: Apache-2.0

"""What unit tests stand on: no service, no network, no leftovers."""

import os
import socket
import typing

import fixtures
import hypothesis
from ironic.conf import CONF
from oslo_config import fixture as config_fixture
from oslotest import base

from ironic_inspection_rules import conf
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.tests.unit import clock

EXAMPLES = int(os.environ.get('IR_EXAMPLES', 50))
"""How many random inputs a test tries; others each time if it is set."""

# How long an example takes says more of the machine than of the code. What
# only another input shows is for somebody who looks for it, not for a change
# that has nothing to do with it.
hypothesis.settings.register_profile(
    'unit',
    parent=hypothesis.settings.default,
    deadline=None,
    max_examples=EXAMPLES,
    database=None,
    derandomize='IR_EXAMPLES' not in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile('unit')


class TestCase(base.BaseTestCase):
    """A test without Ironic: logs and output captured, HOME a scratch one.

    ``OS_TEST_TIMEOUT`` (seconds, in the environment) stops a test that hangs.
    Phases of rules take no time, or a busy machine would use up what they
    have. Servers are those of this machine, whatever proxies it has.

    :ivar phase_clock: the clock of phases, which stands still.
    """

    def setUp(self) -> None:
        super().setUp()
        self.phase_clock = self.useFixture(clock.Clock(budget))
        self.useFixture(fixtures.EnvironmentVariable('no_proxy', '*'))


class DeadPort(fixtures.Fixture):
    """A TCP port of 127.0.0.1 that is taken, and at which nobody listens.

    As text it is its number.
    """

    def _setUp(self) -> None:
        self._socket = socket.socket()
        self.addCleanup(self._socket.close)
        self._socket.bind(('127.0.0.1', 0))

    def __str__(self) -> str:
        return str(self._socket.getsockname()[1])


class IronicTestCase(TestCase):
    """A test over Ironic's configuration, which is put back afterwards."""

    def setUp(self) -> None:
        super().setUp()
        self.cfg = self.useFixture(config_fixture.Config(CONF))
        self.cfg.set_default('host', 'host.test')
        # Drivers write files there when they are loaded; else root alone may.
        scratch = self.useFixture(fixtures.TempDir()).path
        self.cfg.set_default('tftp_root', scratch, 'pxe')
        self.cfg.set_default('http_root', scratch, 'deploy')
        CONF(
            [],
            project='ironic',
            default_config_files=[],
            default_config_dirs=[],
        )
        conf.register_opts(CONF)

    def config(self, group: str | None = None, **options: typing.Any) -> None:
        """Override options for this test.

        :param group: section of ironic.conf, None for ``[DEFAULT]``.
        """
        self.cfg.config(group=group, **options)


class StatsdTestCase(IronicTestCase):
    """A test of the metrics that arrive at statsd.

    :ivar listener: the socket at which they do.
    """

    def setUp(self) -> None:
        super().setUp()
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.listener.close)
        self.listener.bind(('127.0.0.1', 0))
        self.listener.settimeout(20)
        self.config(
            group='metrics',
            backend='statsd',
            prepend_host=False,
            global_prefix='ironic',
        )
        self.config(
            group='metrics_statsd',
            statsd_host='127.0.0.1',
            statsd_port=self.listener.getsockname()[1],
        )
