# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import pathlib

import fixtures

from ironic_inspection_rules.ha import claim
from ironic_inspection_rules.tests.unit import base


class ClaimTestCase(base.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path

    def claim(self, member: str) -> claim.Claim:
        return claim.Claim(f'file://{self.directory}', member, 'lock', 1.0)

    def test_one_holds_and_another_does_not(self) -> None:
        with self.claim('first') as first, self.claim('second') as second:
            self.assertTrue(first.hold())
            self.assertFalse(second.hold())
            self.assertTrue(first.hold())

    def test_exit_frees_the_lock(self) -> None:
        with self.claim('second') as second:
            with self.claim('first') as first:
                first.hold()
            self.assertTrue(second.hold())

    def test_another_file_of_the_name_is_not_ours(self) -> None:
        with self.claim('first') as first:
            first.hold()
            path = pathlib.Path(self.directory, 'lock')
            path.rename(path.with_suffix('.old'))
            path.touch()
            self.assertRaises(claim.LockLost, first.hold)
