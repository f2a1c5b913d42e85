# SPDX-License-Identifier: Apache-2.0

"""A real Ironic, held against the OpenAPI document of the rules API."""

import importlib.util
import pathlib
import subprocess

import ironic_inspection_rules
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration.base import action
from ironic_inspection_rules.tests.live import service

DESCRIPTION = (
    pathlib.Path(ironic_inspection_rules.__file__)
    .parents[1]
    .joinpath('api-ref', 'source', 'openapi.yaml')
)

# What a schema cannot say: which ops there are and what arguments they take.
# A request that names no microversion is answered as Ironic does.
UNFIT_CHECKS = 'positive_data_acceptance,missing_required_header'


class OpenAPITestCase(base.TestCase):
    def test_generated_requests_get_only_what_is_described(self):
        if not DESCRIPTION.exists():
            self.skipTest('not a checkout: no API reference')
        if importlib.util.find_spec('schemathesis') is None:
            self.skipTest('schemathesis is not installed')

        # Whom the examples of the description are about.
        self.create_rule(action('set-attribute', '/extra/described', 1))
        mac = base.new_mac()
        self.assert_inspected(
            self.client.inspect(
                self.client.enroll([mac], name='described'),
                base.ramdisk_data(mac),
            )
        )

        run = subprocess.run(
            [
                *service.console_script('schemathesis'),
                'run',
                str(DESCRIPTION),
                '--url',
                self.ironic.url,
                '--phases',
                'examples,fuzzing,stateful',
                '--max-examples',
                '12',
                '--seed',
                '1',
                '--continue-on-failure',
                '--exclude-checks',
                UNFIT_CHECKS,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.ironic.directory,
        )

        self.assertEqual(0, run.returncode, run.stdout)
