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

"""What the page about moving from ironic-inspector says."""

import os
import pathlib
import sys

import fixtures

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit import base

PAGE = 'admin/moving-from-inspector.rst'


class MovingTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        if not guide.exists(PAGE):
            self.skipTest('not a checkout: no documentation')
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        for name, text in guide.files(PAGE).items():
            self.directory.joinpath(name).write_text(text)
        script = self.directory / 'ironic-inspection-rules'
        script.write_text(
            f'#!{sys.executable}\nimport sys\n'
            'from ironic_inspection_rules.command import shell\n'
            'sys.exit(shell.main())\n')
        script.chmod(0o755)

    def test_each_command_prints_what_the_page_says(self):
        steps = [step for step in guide.steps(PAGE)
                 if not step.command.startswith(('openstack', 'export'))]
        self.assertGreater(len(steps), 5)
        path = f'{self.directory}:{os.environ["PATH"]}'
        for step in steps:
            self.assertEqual(step.output, guide.carry_out(
                step, str(self.directory), {**os.environ, 'PATH': path}),
                step.command)
