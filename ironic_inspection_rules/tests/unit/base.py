# SPDX-License-Identifier: Apache-2.0

"""Base classes of unit tests, which use no service and leave nothing behind.

Tests must not need the network either.
"""

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
"""How many random inputs a test tries.

If the environment variable is set, every run of a test tries other inputs.
"""

# There is no deadline, because the duration of an example depends more on the
# machine than on the code. By default the inputs are always the same, so that
# a change does not fail because of a problem that it did not cause.
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
    """A test without Ironic.

    oslotest captures logs and output, and sets HOME to a temporary directory.
    It stops a test that hangs after ``OS_TEST_TIMEOUT`` seconds, if this
    environment variable is set. The clock of phases stands still, because
    phases could otherwise exceed their time limit on a busy machine. Proxies
    are ignored, because all servers of tests run on this machine.

    :ivar phase_clock: the clock of phases.
    """

    def setUp(self) -> None:
        super().setUp()
        self.phase_clock = self.useFixture(clock.Clock(budget))
        self.useFixture(fixtures.EnvironmentVariable('no_proxy', '*'))


class DeadPort(fixtures.Fixture):
    """A TCP port of 127.0.0.1 that is taken, but on which nobody listens.

    ``str()`` returns the number of the port.
    """

    def _setUp(self) -> None:
        self._socket = socket.socket()
        self.addCleanup(self._socket.close)
        self._socket.bind(('127.0.0.1', 0))

    def __str__(self) -> str:
        return str(self._socket.getsockname()[1])


class IronicTestCase(TestCase):
    """A test that uses Ironic's configuration and restores it afterwards."""

    def setUp(self) -> None:
        super().setUp()
        self.cfg = self.useFixture(config_fixture.Config(CONF))
        self.cfg.set_default('host', 'host.test')
        # Drivers write files to these directories when they are loaded, and
        # only root may write to the default directories.
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

        :param group: the section of ironic.conf; None for ``[DEFAULT]``.
        """
        self.cfg.config(group=group, **options)


class StatsdTestCase(IronicTestCase):
    """A test of the metrics that are sent to statsd.

    :ivar listener: the socket that receives the metrics.
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
