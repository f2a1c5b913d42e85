# SPDX-License-Identifier: Apache-2.0

"""What has one right mending is mended, and nothing else is touched."""

import difflib
import json
import os
import stat

import hypothesis
from hypothesis import strategies
import yaml

from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.authoring import mended_file
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.rule_file import files

BEFORE = """\
# About the set.
- description:   'Odd   spacing'   # keep
  priorty: 5
  conditions:
  # About the first.
  - op: eq     # compare
    args:
    - "{inventory[memory][phyiscal_mb]}"   # the field
    # between
    - 4096

  - {op: "!is-emptty", args: ["{node.drivr}"]}
  - op: one-of
    args:
      - "{inventory.system_vendor.manufacturer | uper}"
      -
        - DELL
        - HPE
  actions:
  - op: set-attribute
    args:
    - /extra/a
    - a: 1
      b: |
        text
         more
  - op: set-attribute
    args: [/extra/b, {x: 1,  y:  [2,3]}]   # flow
  - op: set-atribute
    args: {paht: /extra/c, value: "{invntory.cpu}"}
  - {op: add-trait, args: {name: custom_gpu-x}}
"""

DIFF = """\
-  priorty: 5
+  priority: 5
-    - "{inventory[memory][phyiscal_mb]}"   # the field
-    # between
-    - 4096
+      values:
+      - "{inventory[memory][physical_mb]}"   # the field
+      # between
+      - 4096
-  - {op: "!is-emptty", args: ["{node.drivr}"]}
+  - {op: "!is-empty", args: {value: "{node.driver}"}}
-      - "{inventory.system_vendor.manufacturer | uper}"
-      -
+      value: "{inventory.system_vendor.manufacturer | upper}"
+      values:
-    - /extra/a
-    - a: 1
-      b: |
-        text
-         more
+      path: /extra/a
+      value:
+        a: 1
+        b: |
+          text
+           more
-    args: [/extra/b, {x: 1,  y:  [2,3]}]   # flow
-  - op: set-atribute
-    args: {paht: /extra/c, value: "{invntory.cpu}"}
-  - {op: add-trait, args: {name: custom_gpu-x}}
+    args: {path: /extra/b, value: {x: 1,  y:  [2,3]}}   # flow
+  - op: set-attribute
+    args: {path: /extra/c, value: "{inventory.cpu}"}
+  - {op: add-trait, args: {name: CUSTOM_GPU_X}}
"""

SAME = (
    {
        'op': 'any-of',
        'conditions': [{'op': 'is-none', 'args': ['{node.name}']}],
    },
    {'op': 'eq', 'args': [[1, 2]]},
    {'op': 'eq', 'args': ['a', 'b']},
    {'op': '! ne', 'args': [1, '{node.name}', 2]},
    {'op': 'in-net', 'args': ['{inventory[bmc_address]}', '10.0.0.0/8']},
)


class Mark(plugin.Action):
    """``mark``: write in two places."""

    def writes(self, arguments):
        yield plugin.Write('plugin_data', 'marks')
        yield plugin.Write('node', arguments['name'], argument='name')

    def __call__(self, target, name: str = '/name'):
        pass


def mended(text):
    return mended_file.mend_text('x', text, registry.installed())[0]


MERGED = """\
- actions:
  - &fail {op: fail, args: {mgs: x}}
- actions:
  - {<<: *fail}
- actions:
  - {op: fail, args: {mgs: x}}
"""


class MendTestCase(files.FilesTestCase):
    def mend(self, path):
        return mended_file.mend(path, registry.installed())

    def test_what_is_merged_from_elsewhere_is_left(self):
        self.assertEqual(
            '{msg: x}'.join(MERGED.rsplit('{mgs: x}', 1)), mended(MERGED)
        )

    def test_only_what_is_mended_changes(self):
        path = self.write('rules.yaml', BEFORE)
        self.assertLess(0, len(self.mend(path)))
        with open(path) as stream:
            changed = ''.join(
                line
                for line in difflib.unified_diff(
                    BEFORE.splitlines(True), stream.readlines(), n=0
                )
                if not line.startswith(('---', '+++', '@@'))
            )
        self.assertEqual(DIFF, changed)
        self.assertEqual([], lint.lint([path], registry.installed()))

    def test_the_conditions_of_an_action_are_mended(self):
        self.assertEqual(
            """\
- actions:
  - {op: fail, args: {msg: x}, when: [{op: is-none, args: {value: 1}}]}
  - op: fail
    args: {msg: x}
    when:
    - {op: matches, args: {value: '{node.name}', regex: a}, multiple: any}
    - op: any-of
      conditions: [{op: eq, args: {values: ['{node.name}', 'x']}}]
""",
            mended("""\
- actions:
  - {op: fail, args: {msg: x}, wehn: [{op: is-none, args: {value: 1}}]}
  - op: fail
    args: {msg: x}
    when:
    - {op: matchs, args: {value: '{node.nam}', regx: a}, multipl: any}
    - op: any-off
      conditions: [{op: eqq, args: ['{node.name}', 'x']}]
"""),
        )

    def test_a_second_time_nothing_is_written(self):
        path = self.write('rules.yaml', BEFORE)
        self.mend(path)
        before = os.stat(path)
        self.assertEqual([], self.mend(path))
        after = os.stat(path)
        self.assertEqual(
            (before.st_ino, before.st_mtime_ns),
            (after.st_ino, after.st_mtime_ns),
        )

    def test_a_file_that_is_no_rules_stays(self):
        for text in ('- {actions: [\n', '\x00', 'x: y\n', '- 5\n', ''):
            path = self.write('rules.yaml', text)
            self.assertEqual([], self.mend(path), text)

    def test_the_mode_stays_and_nothing_is_left_behind(self):
        path = self.write('rules.yaml', BEFORE)
        os.chmod(path, 0o640)
        self.mend(path)
        self.assertEqual(0o640, stat.S_IMODE(os.stat(path).st_mode))
        self.assertEqual(['rules.yaml'], os.listdir(self.directory))

    def test_a_link_stays_one(self):
        path = self.write('rules.yaml', BEFORE)
        link = f'{path}.link'
        os.symlink(path, link)
        self.mend(link)
        self.assertTrue(os.path.islink(link))
        self.assertIn(
            'priority', self.directory.joinpath('rules.yaml').read_text()
        )

    def test_ends_of_lines_and_tabs_of_json_stay(self):
        text = BEFORE.replace('\n', '\r\n')
        self.assertEqual(mended(BEFORE), mended(text).replace('\r\n', '\n'))
        self.assertNotIn('\n', mended(text).replace('\r\n', ''))
        self.assertEqual(
            '[\n\t{"actions":\t[{"op": "log",\n\t\t"args":\t'
            '{"msg": "\\u00e9"}}]}]',
            mended(
                '[\n\t{"actions":\t[{"op": "log",\n\t\t"args":\t'
                '["\\u00e9"]}]}]'
            ),
        )

    def test_what_an_alias_shares_stays(self):
        text = (
            '- actions:\n'
            '  - {op: set-attribute, args: &a [/extra/a, "{x}"]}\n'
            '  - {op: set-plugin-data, args: *a}\n'
            '  - {op: log, args: [x]}\n'
        )
        self.assertEqual(text.replace('[x]', '{msg: x}'), mended(text))

    def test_what_may_be_meant_otherwise_stays(self):
        for action in (
            '{op: log, args: {msgg: x, msgs: y}}',
            '{op: log, args: [1, 2, 3]}',
            '{op: log, args: {msg: "{plugin_data[rot_disk]}"}}',
            '{op: log, args: {msg: "{inventory.disks[0].sz}"}}',
            '{op: set-attribute, args: {path: '
            '/driver_info/ipmi_usernam, value: x}}',
        ):
            text = (
                f'- conditions: [{{op: gx, args: {{values: [1, 2]}}}}]\n'
                f'  actions: [{action}]\n'
            )
            self.assertEqual(text, mended(text))

    def test_names_of_choices_and_items(self):
        self.assertEqual(
            '- phase: early\n  actions:\n'
            '  - op: log\n    args: {msg: "{item.path}"}\n'
            '    loop: [{path: x}]\n',
            mended(
                '- phase: eraly\n  actions:\n'
                '  - op: log\n    args: {msg: "{item.paht}"}\n'
                '    loop: [{path: x}]\n'
            ),
        )

    def test_ops_of_others_are_mended_too(self):
        ops = registry.Registry({}, {'mark': Mark()})
        for before, after in (
            (
                '{op: mark, args: {name: /resource_clas}}',
                '{op: mark, args: {name: /resource_class}}',
            ),
            ('{op: mark, args: []}', '{op: mark, args: {}}'),
            ('{op: mark, args: !!seq []}', '{op: mark, args: !!seq []}'),
        ):
            self.assertEqual(
                f'- actions: [{after}]\n',
                mended_file.mend_text('x', f'- actions: [{before}]\n', ops)[0],
            )

    def test_the_old_language_stays(self):
        text = '- actions: [{action: fail, mesage: x}]\n'
        self.assertEqual(text, mended(text))


STYLES = (
    json.dumps,
    lambda rules: json.dumps(rules, indent=4),
    lambda rules: yaml.safe_dump(rules, default_flow_style=False),
    lambda rules: yaml.safe_dump(
        rules, default_flow_style=False, indent=6, width=20
    ),
    lambda rules: yaml.safe_dump(rules, default_flow_style=True, width=30),
    lambda rules: yaml.safe_dump(rules, default_flow_style=None),
    lambda rules: yaml.safe_dump(rules, default_style='"', width=20),
    lambda rules: yaml.safe_dump(rules, default_style='|'),
)

VALUES = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.text('ab {}:-#\n\'"|é', max_size=12),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(
            strategies.text('ab: ', max_size=4), inner, max_size=3
        )
    ),
    max_leaves=6,
)


class MeaningTestCase(base.TestCase):
    @hypothesis.settings(derandomize=True, database=None)
    @hypothesis.given(
        value=VALUES,
        style=strategies.sampled_from(STYLES),
        conditions=strategies.lists(strategies.sampled_from(SAME), max_size=3),
    )
    def test_a_rule_does_the_same_as_before(self, value, style, conditions):
        actions = [
            {'op': 'set-attribute', 'args': ['/extra/a', value]},
            {'op': 'log', 'args': ['x', 'debug']},
        ]
        text = style([{'conditions': conditions, 'actions': actions}])

        after = mended(text)

        self.assertEqual(self.bound(text), self.bound(after))
        written = document.parse('x', after).entries[0]
        for operation in written['actions']:
            self.assertIsInstance(operation['args'], dict, after)

    def bound(self, text):
        """What the ops of a file get."""
        (rule,) = file_rule.list_rules(document.parse('x', text))
        parsed = file_rule.parse(rule.entry, registry.installed())
        return [
            [
                (each.op.name, each.inverted, each.arguments)
                for operation in operations
                for each in operation.all
            ]
            for operations in file_rule.operations(
                parsed, registry.installed()
            )
        ]
