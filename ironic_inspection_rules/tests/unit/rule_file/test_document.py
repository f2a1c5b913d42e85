# SPDX-License-Identifier: Apache-2.0

"""Rules as people keep them."""

import contextlib
import io
import json
import os
import pathlib
import sys
import textwrap
from unittest import mock

import fixtures
import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import yaml_text
from ironic_inspection_rules.tests.unit import base


class LoadTestCase(base.TestCase):
    def load(self, text):
        path = self.useFixture(fixtures.TempDir()).join('rules')
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(textwrap.dedent(text))
        return document.load(path)

    def refused(self, text):
        return str(
            self.assertRaises(exceptions.InvalidDocument, self.load, text)
        )

    def test_a_list_of_rules_and_a_single_rule_are_read(self):
        self.assertEqual(
            ({'a': 1}, {'b': [2]}), self.load('[{"a": 1}, {"b": [2]}]').entries
        )
        self.assertEqual(({'a': 1},), self.load('a: 1').entries)
        self.assertEqual((), self.load('').entries)

    def test_what_merges_another_may_have_an_alias(self):
        self.assertEqual(
            (
                {'a': 1, 'b': 1},
                {'a': 2, 'b': 1},
                {'a': 3, 'b': 1},
                {'a': 2, 'b': 1},
            ),
            self.load("""
                - &one {a: 1, b: 1}
                - &two {<<: *one, a: 2}
                - {<<: *two, a: 3}
                - *two
                """).entries,
        )
        self.assertIn(
            'key "a" is there twice',
            self.refused('[&one {a: 1}, {<<: *one, a: 2, a: 3}]'),
        )
        for key in ('1', '[a]'):
            self.assertIn(
                'keys must be text',
                self.refused(
                    f'[{{a: &one {{{key}: 1}}}}, {{<<: *one, actions: []}}]'
                ),
            )

    def test_rules_among_variables_are_found(self):
        self.assertEqual(
            (
                {'actions': [1]},
                {'actions': [2]},
                {'actions': [3]},
                {'actions': [1], 'a': 4},
            ),
            self.load("""
                rule_a: &a {actions: [1]}
                size: 5
                names: [a, 5]
                all: "{{ ours + rule_b }}"
                ours:
                  - "{{ rule_a }}"
                  - actions: [2]
                  - actions: [3]
                rule_b: {<<: *a, a: 4}
            """).entries,
        )

    def test_what_is_listed_beside_a_rule_is_one(self):
        self.assertEqual(
            ({'actions': [1]}, {'action': [2]}, 'a', '{{ rule_a }}'),
            self.load("""
                ours:
                  - actions: [1]
                  - action: [2]
                  - a
                  - "{{ rule_a }}"
                names: [a]
            """).entries,
        )

    def test_what_has_actions_elsewhere_is_no_rule(self):
        for text in (
            'a: {b: {actions: [1]}}',
            'a: {b: [{actions: [1]}]}',
            'a: [[{actions: [1]}]]',
            'a: [{actions: x}]',
            'a: {actions: x}',
        ):
            self.assertEqual(
                (yaml.safe_load(text),), self.load(text).entries, text
            )

    def test_what_is_not_read_is_refused(self):
        good = 'rules: [{actions: [1]}]'
        for text, place, said in (
            (f'rules_more: 5\n{good}', '1:1', 'did you mean "rules"?'),
            (f'{good}\nrule: []', '2:1', 'did you mean "rules"?'),
            (
                f'{good}\ndefaults: {{priority: 5}}',
                '2:1',
                'unknown member of the file "defaults"',
            ),
            (
                f'{good}\ntabels: {{a: {{rows: [{{actions: [1]}}]}}}}',
                '2:1',
                '"tables"',
            ),
            (f'a: 1\n{good}\nb: 2', '1:1', 'unknown member of the file "b"'),
            (
                good.replace('rules', 'ours') + '\ndefaults: {priority: 5}',
                '2:1',
                '"defaults" is neither a rule',
            ),
            (
                good.replace('rules', 'ours') + '\nrows: [{serial: 1}]',
                '2:1',
                '"rows" is neither a rule',
            ),
        ):
            message = self.refused(text)
            self.assertIn(f':{place}: ', message)
            self.assertIn(said, message)

    def test_what_is_not_read_needs_no_quotes(self):
        self.assertNotIn(
            'quotes', self.refused('base: &one {a: 1}\nrules: [{<<: *one}]')
        )

    def test_a_member_is_there_once(self):
        self.assertIn(
            ':2:1: key "rules" is there twice',
            self.refused('rules: []\nrules: []'),
        )

    def test_the_answers_of_the_api_are_read(self):
        rules = '[{"actions": [1]}]'
        for text in (
            f'{{"rules": {rules}, "message": "x", "revision": 5}}',
            f'{{"rules": {rules}, "revision": 5, "created_at": "x",'
            '"user_id": null, "project_id": null, "message": null,'
            '"changes": [{"uuid": "x"}], "links": []}',
            f'{{"inspection_rules": {rules}, "next": "x","warnings": []}}',
        ):
            self.assertEqual(({'actions': [1]},), self.load(text).entries)

    def test_an_object_of_kubernetes_is_refused_as_one(self):
        self.assertEqual(
            'm.yaml:2:1: this is a ConfigMap of Kubernetes, not a file of '
            'rules; write the text of data.a.yaml or data.b.yaml to a file '
            'and give that',
            str(
                self.assertRaises(
                    exceptions.InvalidDocument,
                    document.parse,
                    'm.yaml',
                    """
apiVersion: v1
kind: ConfigMap
data:
  a.yaml: "[]"
  b.yaml: "[]"
""".lstrip('\n').join(('\n', '')),
                )
            ),
        )
        self.assertIn(
            'write the text of data.a (decoded from base64) or stringData.b '
            'to a file',
            self.refused(
                '{apiVersion: v1, kind: Secret, data: {a: W10=}, '
                'stringData: {b: "[]"}}'
            ),
        )
        self.assertIn(
            'a Pod of Kubernetes, not a file of rules',
            self.refused('{apiVersion: v1, kind: Pod}'),
        )

    def test_only_nothing_is_no_entry(self):
        for text, entry in (
            ('5', 5),
            ('"x"', 'x'),
            ('""', ''),
            ('null', None),
            ('~', None),
            ('2026-01-01', '2026-01-01'),
        ):
            self.assertEqual((entry,), self.load(text).entries)
        self.assertEqual((), self.load('---\n---\n# nothing\n').entries)

    def test_a_list_of_something_else_is_read_as_it_is(self):
        for text in ('[{"rules": 1}, 5]', '{"rules": [], "a": 1}'):
            listed = document.load_list('a.json', text).entries
            self.assertEqual(
                yaml.safe_load(f'[{text}]')
                if text.startswith('{')
                else yaml.safe_load(text),
                list(listed),
            )

    def test_a_body_may_have_no_rules(self):
        for text in (
            '{"rules": []}',
            '{"inspection_rules": []}',
            '{"rules": [], "revision": 5}',
            'rules:',
        ):
            self.assertEqual((), self.load(text).entries, text)

    def test_all_of_the_list_of_a_body_are_rules(self):
        for name in ('rules', 'inspection_rules'):
            self.assertEqual(
                ({'description': 'a'}, 1),
                self.load(f'{name}: [{{description: a}}, 1]').entries,
            )

    def test_the_error_names_what_stands_in_the_place_of_a_list(self):
        for value in ('{}', 'a', '{description: a}'):
            self.assertIn(
                ':1:8: expected a list of rules under "rules"',
                self.refused(f'rules: {value}'),
            )

    def test_a_machine_is_refused_as_one(self):
        for text in (
            'inventory: {cpu: {}}',
            'interfaces: []',
            '{"inventory": {}, "plugin_data": {}}',
        ):
            self.assertIn('inventory of a machine', self.refused(text))
        self.assertEqual(
            ({'actions': [1]},),
            self.load('inventory: [{actions: [1]}]').entries,
        )

    def test_a_list_of_the_api_without_details_is_refused_as_one(self):
        listed = '{description: a, priority: 0, links: []}'
        self.assertIn(
            'detail=true', self.refused(f'inspection_rules: [{listed}]')
        )
        for more in ('actions: [1]', 'actions: null'):
            self.load(f'[{listed[:-1]}, {more}}}]')

    def test_what_json_lacks_is_refused_with_its_line(self):
        for text in ('.inf', '-.Inf', '.nan', '1.0e+999', '!!binary aGk='):
            self.assertIn(
                f':2:3: JSON has no value such as {text}',
                self.refused(f'- 1\n- {text}'),
            )

    def test_types_of_yaml_that_json_lacks_are_refused(self):
        for value in (
            '!!set {a, b}',
            '!!omap [a: 1]',
            '!!python/tuple [a]',
            '!!python/object:os.x {a: b}',
            '!local {a: 1}',
            '!local [a]',
        ):
            error = self.assertRaises(
                exceptions.InvalidDocument,
                document.parse,
                'r.yaml',
                f'- actions: {value}',
            )
            self.assertIn(value.partition(' ')[0], error.reason)
            self.assertEqual((1, 12), error.place)
        read = document.parse('r.yaml', '- !!map {actions: !!seq [!!str 5]}')
        self.assertEqual(({'actions': ['5']},), read.entries)

    def test_what_is_read_is_json(self):
        tags = 'binary bool float int map merge null omap pairs seq set str'
        values = (
            '2026-01-01',
            '2026-01-01T10:00:00Z',
            'aGk=',
            '0x1F',
            '1:30',
            '1.5',
            'yes',
            '~',
            '""',
            '[a]',
            '{a: b}',
            '{? a, ? b}',
        )
        read = []
        for tag in (
            '',
            '!!timestamp',
            *(f'!!{name}' for name in tags.split()),
        ):
            for value in values:
                with contextlib.suppress(exceptions.InvalidDocument):
                    text = f'- {tag} {value}'
                    read += document.load_list('r.yaml', text).entries
        self.assertEqual(read, json.loads(json.dumps(read)))
        self.assertIn('2026-01-01', read)

    def test_what_is_not_of_its_type_is_refused_with_its_place(self):
        for value, said in (
            ('0x_', 'must be in quotes: write "0x_"'),
            ('=', 'must be in quotes: write "="'),
            ('<<', 'must be in quotes: write "<<"'),
            ('!!int abc', 'must be in quotes: write "!!int abc"'),
            ('!!int ""', 'must be in quotes'),
            ('!!bool maybe', 'must be in quotes'),
            ('!!float x', 'must be in quotes'),
            ('9' * 5000, 'the number has too many digits'),
            (f'-{"9" * 5000}', 'the number has too many digits'),
            (f'0x{"f" * 9000}', 'the number has too many digits'),
            (f'1{":59" * 9000}', 'the number has too many digits'),
        ):
            exc = self.assertRaises(
                exceptions.InvalidDocument,
                self.load,
                f'- description: a\n  actions: [{{op: {value}}}]\n',
            )
            self.assertIn(said, exc.reason)
            self.assertEqual((2, 18), exc.place)

    def test_a_machine_has_no_number_that_cannot_be_written(self):
        exc = self.assertRaises(
            exceptions.InvalidDocument,
            document.load_mapping,
            'machine',
            f'{{"inventory": {{"a": {"9" * 5000}}}}}',
        )
        self.assertIn('the number has too many digits', exc.reason)

    def test_what_is_in_a_machine_is_no_rule(self):
        text = (
            'inventory: {}\n'
            'plugin_data: {inspection_rules: {main: []}, a: {actions: 1}}'
        )
        self.assertIn(
            'inventory of a machine',
            self.refused(text.replace(', a: {actions: 1}', '')),
        )
        self.assertEqual(
            {'inventory', 'plugin_data'},
            document.load_mapping('m.yaml', text).keys(),
        )

    def test_a_machine_has_finite_numbers(self):
        for number in ('NaN', '-Infinity', '1e999'):
            error = self.assertRaises(
                exceptions.InvalidDocument,
                document.load_mapping,
                'm.json',
                f'{{"inventory": {{"size": {number}}}}}',
            )
            self.assertEqual(
                f'm.json: JSON has no value such as {number}', str(error)
            )

    def test_a_character_that_yaml_does_not_allow_has_a_place(self):
        error = self.assertRaises(
            exceptions.InvalidDocument,
            document.parse,
            'rules.yaml',
            '# äö\n- description: ä\aö\n',
        )
        self.assertEqual((2, 17), error.place)
        self.assertNotIn('\n', error.reason)

    def test_numbers_of_json_are_no_texts(self):
        loaded = self.load('[{"a": [1e5, 2.5E+3, -1E-1, 10], "b": "1e5"}]')
        self.assertEqual(
            ({'a': [100000.0, 2500.0, -0.1, 10], 'b': '1e5'},), loaded.entries
        )
        # YAML has no such number.
        self.assertEqual(({'a': '1e5'},), self.load('[{a: 1e5}]').entries)

    def test_numbers_of_json_are_numbers_beside_a_text_with_a_tab(self):
        loaded = self.load('[{"a": "x\ty", "b": 1e5}]')
        self.assertEqual(({'a': 'x\ty', 'b': 100000.0},), loaded.entries)

    def test_numbers_of_json_are_finite(self):
        for number in ('1e400', '-1E400', 'NaN', 'Infinity', '-Infinity'):
            error = self.assertRaises(
                exceptions.InvalidDocument,
                document.parse,
                'r.json',
                f'[{{"actions": [{number}]}}]',
            )
            self.assertEqual(
                f'JSON has no value such as {number}', error.reason
            )
            self.assertEqual((1, 15), error.place)

    def test_what_is_nested_too_deeply_is_refused(self):
        for deep in (
            '[' * 100_000,
            '{"a":' * 100_000,
            '- ' * 5000,
            '[' * 101 + ']' * 101,
        ):
            self.assertIn('nested too deeply', self.refused(deep))
        self.load('[' * 99 + ']' * 99)

    def test_aliases_that_stand_for_too_much_are_refused(self):
        lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
        for number in range(1, 9):
            items = ', '.join([f'*a{number - 1}'] * 10)
            lines.append(f'a{number}: &a{number} [{items}]')

        self.assertIn('aliases', self.refused('\n'.join(lines)))

    def test_aliases_that_make_it_deep_are_refused(self):
        lines = [
            '- &a0 []',
            *(f'- &a{number} [*a{number - 1}]' for number in range(1, 200)),
        ]

        self.assertIn('nested too deeply', self.refused('\n'.join(lines)))
        self.assertIn('nested too deeply', self.refused('- &a [*a]'))

    def test_aliases_stand_for_what_they_name(self):
        self.assertEqual(
            ({'a': [1], 'b': [[1], [1]]},),
            self.load('a: &a [1]\nb: [*a, *a]').entries,
        )

    def test_what_yaml_says_is_told_with_its_place(self):
        for text, place in (('a: *a', '1:4'), ('- a: 1\n- {b: 2}}', '2:9')):
            error = self.assertRaises(
                yaml.MarkedYAMLError,
                list,
                yaml.compose_all(text, yaml_text.Loader),
            )
            self.assertIn(f':{place}: {error.problem}', self.refused(text))

    def test_several_yaml_documents_are_one_list(self):
        self.assertEqual(
            ({'a': 1}, {'b': 2}), self.load('a: 1\n---\n- b: 2\n').entries
        )

    def test_json_may_be_indented_with_tabs(self):
        self.assertEqual(
            ({'a': ['x\ty']},), self.load('{\n\t"a": [\n\t\t"x\\ty"]}').entries
        )

    def test_dates_stay_text(self):
        self.assertEqual(
            ({'a': '2026-01-01'},), self.load('a: 2026-01-01').entries
        )

    def test_anchors_and_merges_work(self):
        self.assertEqual(
            (
                {
                    'x': {'op': 'log', 'args': [1]},
                    'y': {'op': 'log', 'args': [2]},
                },
            ),
            self.load("""
                x: &x {op: log, args: [1]}
                y: {<<: *x, args: [2]}
            """).entries,
        )

    def test_the_place_of_each_value_is_known(self):
        loaded = self.load('- a: 1\n- b:\n  - c/d: 2\n')

        self.assertEqual((1, 3), loaded.place(0))
        self.assertEqual((3, 10), loaded.place(1, '/b/0/c~1d'))

    def test_the_place_of_what_is_absent_is_that_around_it(self):
        loaded = self.load('- a: 1\n- b: [2]\n')

        self.assertEqual(loaded.place(1, '/b'), loaded.place(1, '/b/7/c'))
        self.assertEqual(loaded.place(0), loaded.place(0, '/nothing'))

    def test_errors_say_where(self):
        self.assertIn(
            ':3:1: key "a" is there twice', self.refused('a: 1\nb: 2\na: 3\n')
        )
        self.assertIn('keys must be text', self.refused('1: a'))

    def test_what_contains_itself_is_refused(self):
        self.refused('&a [*a]')

    def test_a_file_that_is_not_there_is_named(self):
        error = self.assertRaises(
            exceptions.InvalidDocument, document.load, '/nowhere/at.all'
        )

        self.assertIn('/nowhere/at.all', str(error))

    def test_a_file_that_changes_meanwhile_is_refused(self):
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'a.yaml')
        path.write_text('[]')
        known = os.fstat

        def changing(descriptor):
            found = known(descriptor)
            with path.open('a') as stream:
                stream.write('\n')
            return found

        with mock.patch.object(os, 'fstat', changing):
            error = self.assertRaises(
                exceptions.InvalidDocument, document.load, str(path)
            )
        self.assertEqual(str(path), error.path)

    def test_what_is_piped_in_is_read_as_a_file_is(self):
        for handler in ('strict', 'surrogateescape'):
            for text, read in (
                (b'\xef\xbb\xbfa: \xc3\xb6', {'a': 'ö'}),
                (b'a: \xff', None),
            ):
                self.patch(
                    sys,
                    'stdin',
                    io.TextIOWrapper(io.BytesIO(text), 'utf-8', handler),
                )
                if read:
                    self.assertEqual((read,), document.load('-').entries)
                    continue
                error = self.assertRaises(
                    exceptions.InvalidDocument, document.load, '-'
                )
                self.assertEqual(
                    '-: the file is not text in UTF-8: byte 4 is 0xff',
                    str(error),
                )

    def test_files_of_a_folder_are_known_by_their_endings_in_any_case(self):
        folder = self.useFixture(fixtures.TempDir())
        names = ('a.JSON', 'b.YAML', 'c.Yml', 'd.yaml')
        for name in (*names, 'e.txt'):
            with open(folder.join(name), 'w', encoding='utf-8') as stream:
                stream.write('[]')

        self.assertEqual(
            list(map(folder.join, names)), document.list_files([folder.path])
        )

    def test_what_is_hidden_in_a_folder_is_not_meant(self):
        # As Kubernetes mounts the files of a ConfigMap.
        folder = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, '.rules'
        )
        inner = folder / '..2026_01_01'
        inner.mkdir(parents=True)
        (inner / 'a.yaml').write_text('[]')
        (folder / '..data').symlink_to(inner.name)
        (folder / 'a.yaml').symlink_to('..data/a.yaml')
        (folder / '.b.yaml').write_text('[]')

        self.assertEqual(
            [str(folder / 'a.yaml')], document.list_files([str(folder)])
        )
