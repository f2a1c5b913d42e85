# SPDX-License-Identifier: Apache-2.0

"""What all pages have in common."""

import base64
import hashlib
import math
import re

from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data

HOSTILE = '</script><img src=x onerror=alert(1)> & "'


class ShellTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.page = shell.render(
            HOSTILE, ['fleet.css', 'fleet.js'], {'name': HOSTILE}
        )

    def test_data_stays_data(self):
        self.assertEqual({'name': HOSTILE}, page_data.read(self.page))
        self.assertNotIn('<img', self.page)
        self.assertEqual(2, self.page.count('</script>'))

    def test_a_browser_reads_whatever_a_machine_says(self):
        page = shell.render(
            '', [], {'x': [math.nan, {'y': -math.inf}, 1.5], 'z': 'a\ud800<'}
        )
        page.encode()
        self.assertEqual(
            {'x': ['NaN', {'y': '-Infinity'}, 1.5], 'z': 'a\ud800<'},
            page_data.read(page),
        )
        self.assertEqual(
            '["NaN","\\udfff"]',
            shell.dump_json((math.nan, '\udfff'), separators=(',', ':')),
        )

    def test_messages_call_rules_by_their_descriptions(self):
        first = '52a081a3-5a21-5071-b757-1d7d6249e6a2'
        other = 'cd613e30-d8f1-4adf-91b7-584a2265b1f5'
        self.assertEqual(
            f'Rule “Size (big)”, fail: {other} is not {first}',
            shell.with_rule_names(
                f'Rule {first} (Size (big)), fail: {other} is not {first}',
                {first: 'Size (big)', other: None},
            ),
        )

    def test_nothing_is_loaded_from_anywhere(self):
        self.assertEqual(
            {'http://www.w3.org/2000/svg'},
            set(re.findall(r'https?://[^\'"\s]*', self.page)),
        )
        self.assertIn("default-src 'none'", self.page)

    def test_only_its_own_script_and_style_may_run(self):
        for directive, tag in (
            ('script-src', 'script'),
            ('style-src', 'style'),
        ):
            text = re.search(f'<{tag}>(.*?)</{tag}>', self.page, re.DOTALL)[1]
            digest = base64.b64encode(
                hashlib.sha256(text.encode()).digest()
            ).decode()
            self.assertIn(f"{directive} 'sha256-{digest}'", self.page)
