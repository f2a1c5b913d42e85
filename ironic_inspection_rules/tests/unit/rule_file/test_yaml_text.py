# SPDX-License-Identifier: Apache-2.0

"""YAML as people like to read it."""

import yaml

from ironic_inspection_rules.rule_file import yaml_text
from ironic_inspection_rules.tests.unit import base


class DumpTestCase(base.TestCase):
    def test_what_is_in_two_places_is_written_twice(self):
        shared = {'ä': [1, 2]}
        for dumper in (yaml_text.Dumper, yaml_text.FastDumper):
            text = yaml_text.dump({'b': shared, 'a': [shared]}, Dumper=dumper)
            self.assertEqual(
                'b:\n  ä:\n  - 1\n  - 2\na:\n- ä:\n  - 1\n  - 2\n', text
            )
            self.assertEqual(
                {'b': shared, 'a': [shared]}, yaml.safe_load(text)
            )
