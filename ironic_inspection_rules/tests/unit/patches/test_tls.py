# SPDX-License-Identifier: Apache-2.0

import fixtures
from requests import adapters

from ironic_inspection_rules import releases
from ironic_inspection_rules.patches import name
from ironic_inspection_rules.patches import tls
from ironic_inspection_rules.tests.unit import base


class MakeAdapterTestCase(base.IronicTestCase):
    def test_it_is_ironics_where_ironic_has_one(self):
        made = tls.make_adapter(max_retries=3)
        self.assertEqual(3, made.max_retries.total)
        if releases.major(name.release()) > 38:
            self.assertIs(tls.ADAPTER.find(), type(made))

    def test_it_is_a_plain_one_where_ironic_has_none(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.patches.tls.ADAPTER',
                name.Name('ironic.common.image_service', 'NoAdapter', ''),
            )
        )
        self.assertIs(adapters.HTTPAdapter, type(tls.make_adapter()))
