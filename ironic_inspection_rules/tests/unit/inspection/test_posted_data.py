# SPDX-License-Identifier: Apache-2.0

"""The data of a machine, as they were before rules changed them."""

from ironic_inspection_rules.inspection import posted_data
from ironic_inspection_rules.tests.unit import base


class PostedDataTestCase(base.TestCase):

    def test_what_rules_found_is_kept_and_not_what_they_left(self):
        posted = posted_data.PostedData()
        now = {'a': 1, 'b': [2], 'gone': 3, 'logs': 'x'}
        posted.take({'cpu': 1}, now)
        for changes in ({'b': [4], 'made': 5}, {'b': [6], 'a': 7}):
            before = dict(now)
            now.update(changes)
            now.pop('gone', None)
            posted.set_aside(before, now)
        self.assertEqual({'a': 1, 'b': [2], 'gone': 3},
                         posted.found_plugin_data())
        self.assertEqual({'b': [6], 'made': 5, 'a': 7, 'logs': 'x'},
                         posted.plugin_data)
