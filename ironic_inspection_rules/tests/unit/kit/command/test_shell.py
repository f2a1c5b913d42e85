# SPDX-License-Identifier: Apache-2.0

"""The commands on files, as someone calls them."""

import contextlib
import errno
import io
import json
import logging
import os
import pathlib
import subprocess
import sys
import warnings
from xml.etree import ElementTree

import fixtures
import yaml

from ironic_inspection_rules.kit.command import shell
from ironic_inspection_rules.tests.unit.rule_file import files

GOOD = '- actions: [{op: set-attribute, args: {path: /extra/a, value: 1}}]\n'
FAILS = '- actions: [{op: fail, args: [x]}]\n'
BREAKS = (
    '- actions: [{op: set-attribute, args: {path: /extra/a, '
    'value: "{plugin_data.gone}"}}]\n'
)


class CallTestCase(files.FilesTestCase):
    def setUp(self):
        super().setUp()
        root = logging.getLogger()
        self.addCleanup(root.setLevel, root.level)
        self.addCleanup(setattr, root, 'handlers', root.handlers[:])

    def call(self, *arguments):
        """Call the command.

        :returns: what it returns and what it prints.
        """
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = shell.main(arguments)
        return code, output.getvalue()


class ShellTestCase(CallTestCase):
    def test_without_a_command_it_tells_what_there_is(self):
        code, output = self.call()
        self.assertEqual(0, code)
        for name in ('convert', 'lint', 'test'):
            self.assertIn(f'\n  {name} ', output)

    def test_an_interruption_before_it_runs_is_no_traceback(self):
        def interrupt(*_args, **_kwargs):
            raise KeyboardInterrupt

        self.patch(shell.Shell, '__init__', interrupt)
        self.assertEqual((130, ''), self.call('lint', 'x'))

    def test_a_machine_may_say_what_no_terminal_can_show(self):
        rules = self.write(
            'rules.yaml', GOOD.replace('value: 1', 'value: "{plugin_data.a}"')
        )
        machine = self.write(
            'machine.json',
            json.dumps({'inventory': {}, 'plugin_data': {'a': 'x\ud800\xe9'}}),
        )
        output = io.TextIOWrapper(io.BytesIO(), encoding='ascii')
        with contextlib.redirect_stdout(output):
            code = shell.main(['test', rules, '--inventory', machine])
        output.seek(0)
        self.assertEqual(0, code)
        self.assertIn('x\\ud800\\xe9', output.read())

    def test_a_file_without_rules_is_told(self):
        empty = self.write('empty.yaml', '')
        machine = self.write('machine.json', '{"inventory": {}}')
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code, _output = self.call(
                'test', empty, '--coverage', '--inventory', machine
            )
        self.assertEqual(
            (0, f'{empty}: warning: the file holds no rules\n'),
            (code, errors.getvalue()),
        )

    def test_what_is_not_utf_8_is_told_in_words(self):
        path = self.directory / 'rules.yaml'
        path.write_bytes(b'- a\xff')
        code, output = self.call('lint', str(path))
        self.assertEqual(1, code)
        self.assertIn('the file is not text in UTF-8: byte 4 is 0xff', output)

    def test_rules_of_stock_ironic_are_told_with_what_converts_them(self):
        stock = self.write(
            'stock.yaml',
            GOOD.replace(
                '- ',
                '- conditions: [{op: eq, args: {values: '
                '["{inventory.hostname}", None]}}]\n  ',
            ),
        )
        stored = self.write(
            'stored.yaml',
            GOOD.replace(
                'op: set-attribute, args: {path: /extra/a',
                'op: set-plugin-data, args: {plugin_data: {}, path: a',
            ),
        )
        machine = self.write('machine.json', '{"inventory": {}}')
        for expected, *call in (
            (0, 'test', stock, '--inventory', machine),
            (1, 'test', stored, '--inventory', machine),
            (0, 'diff', stock, stock),
            (1, 'diff', stored, stored),
            (1, 'convert', stock),
            (1, 'convert', stored),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                self.assertEqual(expected, self.call(*call)[0], call)
            self.assertIn('rule of stock Ironic', errors.getvalue(), call)
            self.assertIn('convert --from ironic', errors.getvalue(), call)
            self.assertIn('yaml:1:', errors.getvalue(), call)

    def test_rules_of_ironic_inspector_are_told_with_what_converts_them(self):
        old = self.write(
            'old.yaml',
            """
            - conditions: [{field: memory_mb, op: ge, value: 1}]
              actions: [{action: fail, message: x}]
            - actions: [{action: fail, message: y}]
              conditions: [{field: memory_mb, op: ge, value: 2}]""",
        )
        machine = self.write('machine.json', '{"inventory": {}}')
        for times, *call in (
            (1, 'lint', old, '-f', 'json'),
            (2, 'diff', old, old),
            (1, 'prove', old, '--ask', 'conflict'),
            (1, 'test', old, '--inventory', machine),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                code, output = self.call(*call)
            told = output + errors.getvalue()
            self.assertEqual(0, code, told)
            # Once for each file.
            self.assertEqual(times, told.count('a rule of ironic-inspector'))
            self.assertIn('ironic-inspection-rules convert', told)

    def test_a_wrong_call_is_told_from_what_commands_return(self):
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(64, self.call('lint')[0])

    def test_ironic_is_not_needed(self):
        rules = self.write('rules.yaml', GOOD)
        script = (
            'import sys\n'
            'sys.modules["ironic"] = None\n'
            'from ironic_inspection_rules.kit.command import shell\n'
            'sys.exit(shell.main(sys.argv[1:]))\n'
        )
        result = subprocess.run(
            [sys.executable, '-c', script, 'lint', rules],
            capture_output=True,
            text=True,
        )
        self.assertEqual(
            (0, '', ''), (result.returncode, result.stdout, result.stderr)
        )

    def test_eventlet_is_not_the_concern_of_who_calls(self):
        def warn(_shell, argv):
            warnings.warn('\nEventlet is deprecated. It is', stacklevel=1)
            return 0

        self.useFixture(
            fixtures.MonkeyPatch(f'{shell.__name__}.Shell.run', warn)
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            self.assertEqual(0, shell.main(['lint']))
        self.assertEqual([], caught)


class ClosedStreamTestCase(CallTestCase):
    """Python has None where a standard stream is closed at its start."""

    def test_an_output_that_is_closed_is_named(self):
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', None))
        rules = self.write('rules.yaml', '- actions: []')
        for words in (('schema',), ('lint', rules)):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors):
                self.assertEqual(1, shell.main(words))
            self.assertIn(os.strerror(errno.EBADF), errors.getvalue())
            self.assertIn('stdout', errors.getvalue())

    def test_the_status_does_not_need_a_place_for_errors(self):
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', None))
        rules = self.write('rules.yaml', GOOD)
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(0, shell.main(['lint', rules]))
            self.assertEqual(1, shell.main(['lint', '/not/there']))

    def test_an_input_that_is_closed_is_named(self):
        self.useFixture(fixtures.MonkeyPatch('sys.stdin', None))
        code, output = self.call('lint', '-')
        self.assertEqual(1, code)
        self.assertIn(os.strerror(errno.EBADF), output)


class LintTestCase(CallTestCase):
    def test_all_commands_take_folders_and_what_is_piped_in(self):
        machine = self.write('a.json', '{"inventory": {}}')
        folder = pathlib.Path(machine).with_name('rules')
        folder.mkdir()
        folder.joinpath('b.yaml').write_text(GOOD)
        for words in (
            ('test', None, '--inventory', machine),
            ('diff', str(folder), None),
            ('lint', None),
        ):
            for path in (str(folder), '-'):
                self.useFixture(
                    fixtures.MonkeyPatch('sys.stdin', io.StringIO(GOOD))
                )
                self.assertEqual(
                    0, self.call(*(word or path for word in words))[0], words
                )

    def test_a_folder_is_all_files_in_it(self):
        path = pathlib.Path(self.write('bad.yaml', '- actions: []'))
        self.write('good.json', GOOD)
        code, output = self.call('lint', str(path.parent))
        self.assertEqual(1, code)
        self.assertIn('bad.yaml:1', output)

    def test_a_dash_is_what_is_piped_in(self):
        self.useFixture(
            fixtures.MonkeyPatch('sys.stdin', io.StringIO('- actions: []'))
        )
        code, output = self.call('lint', '-')
        self.assertEqual(1, code)
        self.assertIn('-:1:', output)

    def test_what_is_piped_in_is_not_mended_but_checked(self):
        self.useFixture(
            fixtures.MonkeyPatch('sys.stdin', io.StringIO('- actions: []'))
        )
        _code, expected = self.call('lint', '-')
        self.useFixture(
            fixtures.MonkeyPatch('sys.stdin', io.StringIO('- actions: []'))
        )
        code, output = self.call('lint', '--fix', '-')
        self.assertEqual(1, code)
        self.assertEqual(expected, output)

    def test_nothing_found_is_nothing_said(self):
        self.assertEqual(
            (0, ''), self.call('lint', self.write('rules.yaml', GOOD))
        )

    def test_anything_found_is_1(self):
        path = self.write('rules.yaml', '- actions: [{op: log}]\n')
        code, output = self.call('lint', path)
        self.assertEqual(1, code)
        self.assertIn('rules.yaml:1:13', output)
        self.assertTrue(
            output.endswith('1 error, 0 warnings, 0 notes; files: 1\n')
        )

    def test_json_is_for_programs(self):
        path = self.write('rules.yaml', '- actions: [{op: log}]\n')
        code, output = self.call('lint', '-f', 'json', path)
        self.assertEqual(1, code)
        (found,) = json.loads(output)
        self.assertEqual(
            (path, 1, 13, 'error', 'invalid', '#1'),
            tuple(
                found[name]
                for name in (
                    'path',
                    'line',
                    'column',
                    'level',
                    'check',
                    'rule',
                )
            ),
        )

    def test_mending_ends_with_whether_something_is_left(self):
        rules = self.write('rules.yaml', FAILS)
        self.assertEqual(
            (0, f'{rules}:1: mended: arguments have names: msg\n'),
            self.call('lint', '--fix', rules),
        )
        left = self.write('left.yaml', FAILS.replace('[x]', '[x, 1, 2]'))
        self.assertEqual(1, self.call('lint', '--fix', left)[0])

    def test_a_note_is_no_problem(self):
        rules = self.write(
            'rules.yaml',
            GOOD.replace('value: 1', 'value: "{inventory[pci_devices]}"'),
        )
        code, output = self.call('lint', rules)
        self.assertEqual(0, code)
        self.assertIn('Redfish only', output)
        self.assertEqual(
            1, self.call('lint', '--interface', 'agent', rules)[0]
        )
        self.assertEqual(64, self.call('lint', '--ironic', 'x', rules)[0])

    def test_rules_that_no_inventory_matches(self):
        rules = self.write(
            'rules.yaml',
            GOOD.replace(
                '- actions',
                '- conditions: [{op: is-none, args: '
                '{value: "{inventory.memory}"}}]\n  actions',
            ),
        )
        machine = self.write('machines/one.json', files.INVENTORY)
        code, output = self.call(
            'lint', rules, '--inventory', os.path.dirname(machine)
        )
        self.assertEqual(1, code)
        self.assertIn('unmatched-rule', output)

    def test_sarif_is_for_reviews(self):
        path = self.write('rules.yaml', GOOD)
        code, output = self.call('lint', '-f', 'sarif', path)
        self.assertEqual((0, '2.1.0'), (code, json.loads(output)['version']))

    def test_checks_can_be_left_out(self):
        path = self.write(
            'rules.yaml', '- actions: [{op: log, args: {msg: "{x}"}}]\n'
        )
        self.assertEqual(1, self.call('lint', path)[0])
        self.assertEqual(
            (0, ''), self.call('lint', '--ignore', 'unknown-field', path)
        )


class TestTestCase(CallTestCase):
    def setUp(self):
        super().setUp()
        self.inventory = self.write('a.json', files.INVENTORY)

    def try_rules(self, rules, *arguments):
        return self.call(
            'test',
            self.write('rules.yaml', rules),
            '--inventory',
            self.inventory,
            *arguments,
        )

    def test_coverage_below_the_threshold_is_told_by_the_code(self):
        for threshold, code in (('50', 0), ('51', 3)):
            found, output = self.try_rules(
                '- {description: big, conditions: [{op: gt, args: {values: '
                '["{inventory[memory][physical_mb]}", 5000]}}], actions: '
                '[{op: log, args: {msg: x}}]}\n'
                '- actions: [{op: log, args: {msg: y}}]\n',
                '--inventory',
                self.write(
                    'b.json', {**files.INVENTORY, 'memory': {'physical_mb': 2}}
                ),
                self.write('c.json', files.INVENTORY),
                '--threshold',
                threshold,
            )
            self.assertEqual(code, found, output)
            self.assertIn('condition 1 (gt) was never true', output)
            self.assertIn('action 1 (log) never ran', output)

    def test_what_would_be_ignored_is_a_wrong_call(self):
        for options in (
            ('--coverage', '--expect', 'x'),
            ('--update',),
            ('--threshold', 'nan'),
            ('--threshold', '101'),
            ('--threshold', 'x'),
            ('--threshold', '1_0'),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                self.assertEqual(
                    64, self.try_rules(GOOD, *options)[0], options
                )
            if options[0] == '--threshold':
                self.assertIn('is no number from 0 to 100', errors.getvalue())

    def test_coverage_as_json_has_the_numbers(self):
        code, output = self.try_rules(FAILS, '--coverage', '-f', 'json')
        self.assertEqual(0, code)
        self.assertEqual(
            [{'ran': 1}], json.loads(output)['rules'][0]['actions']
        )

    def test_what_it_returns(self):
        for rules, code in ((GOOD, 0), (FAILS, 2), (BREAKS, 1)):
            self.assertEqual(code, self.try_rules(rules)[0])

    def test_an_error_of_a_rule_is_one_whatever_is_reported(self):
        for options in (
            ('--coverage',),
            ('--threshold', '100'),
            ('--coverage', '-f', 'json'),
            ('--coverage', '--html', str(self.directory / 'page.html')),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                code, _output = self.try_rules(BREAKS, *options)
            self.assertEqual(1, code, options)
            self.assertIn('1 inspection ends in an error', errors.getvalue())

    def test_an_error_counts_more_than_a_failure(self):
        other = self.write('b.json', {'inventory': {}, 'gone': 1})
        rules = BREAKS + FAILS
        self.assertEqual(
            2,
            self.call(
                'test', self.write('r.yaml', rules), '--inventory', other
            )[0],
        )
        self.assertEqual(1, self.try_rules(rules, '--inventory', other)[0])

    def test_what_audit_rules_would_do_is_told_apart(self):
        text = (FAILS + GOOD).replace('- actions', '- mode: audit\n  actions')
        code, output = self.try_rules(text)
        self.assertEqual(0, code)
        before, apart = output.split('audit: ', 1)
        self.assertIn('nothing would change', before)
        self.assertIn('would fail', apart)
        self.assertIn('+ /extra/a: 1', apart)

    def test_expectations_may_name_parts(self):
        expected = self.write('expected.yaml', '')
        rules = GOOD + (
            '- actions: [{op: add-trait, args: [CUSTOM_A]}, '
            '{op: fail, args: [too old to boot]}]\n'
        )
        self.try_rules(rules, '--expect', expected, '--update')
        (machine,) = yaml.safe_load(open(expected))
        told = yaml.safe_load(open(expected))[machine]
        self.assertEqual(
            ('fail: too old to boot', ['CUSTOM_A']),
            (told['error'], told['traits']),
        )
        for part, code in (
            ({'error': {'contains': 'old'}}, 0),
            ({'error': {'matches': 'old'}}, 1),
            ({'error': {'matches': 'fail: .*boot'}}, 0),
            ({'traits': {'has': ['CUSTOM_A']}}, 0),
            ({'traits': {'has': ['CUSTOM_B']}}, 1),
            ({'traits': {'is': []}}, 1),
            ({'error': {'matches': '('}}, 1),
        ):
            self.write('expected.yaml', yaml.safe_dump({machine: part}))
            self.assertEqual(
                code, self.try_rules(rules, '--expect', expected)[0], part
            )

    def test_junit_has_a_case_for_each_machine(self):
        for rules, tag in (
            (GOOD, None),
            (FAILS, 'failure'),
            (BREAKS, 'error'),
        ):
            _code, output = self.try_rules(rules, '-f', 'junit')
            suite = ElementTree.fromstring(output.split('?>\n')[1])
            (case,) = suite
            self.assertEqual('1', suite.get('tests'))
            self.assertEqual([tag] if tag else [], [each.tag for each in case])
        expected = self.write('expected.yaml', '{}')
        code, output = self.try_rules(
            GOOD, '-f', 'junit', '--expect', expected
        )
        self.assertEqual(1, code)
        self.assertIn('nothing is expected', output)

    def test_a_file_that_is_not_good_is_1(self):
        self.assertEqual(1, self.try_rules('- actions: [{op: no}]')[0])
        self.assertEqual(1, self.try_rules(GOOD, '--node', 'none')[0])

    def test_one_machine_is_shown_in_detail(self):
        _code, output = self.try_rules(GOOD)
        self.assertIn('+ /extra/a: 1', output)
        _code, output = self.try_rules(
            GOOD, '--inventory', self.write('b.json', files.INVENTORY)
        )
        self.assertNotIn('+ /extra/a: 1', output)

    def test_programs_get_all_there_is(self):
        for how, load in (('json', json.loads), ('yaml', yaml.safe_load)):
            _code, output = self.try_rules(GOOD, '-f', how)
            (result,) = load(output)
            self.assertEqual(
                (self.inventory, 'ok', None),
                (result['inventory'], result['result'], result['error']),
            )
            self.assertEqual(
                [
                    {
                        'object': 'node',
                        'op': 'add',
                        'path': '/extra/a',
                        'value': 1,
                    }
                ],
                result['changes'],
            )
            self.assertTrue(result['rules'][0]['matched'], (how, load))

    def test_expectations_decide_what_it_returns(self):
        expected = str(self.directory / 'expected.yaml')
        self.assertEqual(
            0, self.try_rules(FAILS, '--expect', expected, '--update')[0]
        )
        self.assertEqual(0, self.try_rules(FAILS, '--expect', expected)[0])
        code, output = self.try_rules(GOOD, '--expect', expected)
        self.assertEqual(1, code)
        self.assertIn('-result: failed\n', output)
        self.assertIn('+result: ok\n', output)

    def test_an_inventory_that_is_not_there_has_no_expectation(self):
        expected = str(self.directory / 'expected.yaml')
        self.try_rules(GOOD, '--expect', expected, '--update')
        with open(expected) as stream:
            before = stream.read()
        wrong = str(self.directory / 'wrong.json')
        message = f'{wrong}: {os.strerror(errno.ENOENT)}'
        options = ('--inventory', wrong, '--expect', expected)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code, _output = self.try_rules(GOOD, *options, '--update')
        self.assertEqual(1, code)
        self.assertIn(message, errors.getvalue())
        with open(expected) as stream:
            self.assertEqual(before, stream.read())
        code, output = self.try_rules(GOOD, *options)
        self.assertEqual(1, code)
        self.assertIn(message, output)

    def test_a_page_is_written(self):
        path = self.directory / 'page.html'
        self.try_rules(GOOD, '--html', str(path))
        self.assertIn('<title>rules.yaml on machines, ', path.read_text())
        self.try_rules(GOOD, '--coverage', '--html', str(path))
        self.assertIn('<title>Coverage', path.read_text())


class ConvertTestCase(CallTestCase):
    OLD = '- actions: [{action: set-attribute, path: extra/a, value: "%s"}]'

    def test_rules_are_written_as_yaml(self):
        code, output = self.call(
            'convert', self.write('rules.yaml', self.OLD % 1)
        )
        self.assertEqual(0, code)
        (rule,) = yaml.safe_load(output)
        self.assertEqual('set-attribute', rule['actions'][0]['op'])

    def test_a_file_without_rules_is_named(self):
        path = self.write('rules.yaml', '')
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code, _output = self.call('convert', path)
        self.assertEqual(0, code)
        self.assertEqual(
            f'{path}: warning: the file holds no rules\n', errors.getvalue()
        )

    def test_rules_of_stock_ironic_keep_their_meaning(self):
        path = self.write(
            'rules.yaml',
            (
                '- actions: [{op: set-attribute, args: {path: extra/a, '
                'value: "{inventory[memory][physical_mb]}"}}]\n'
            ),
        )
        code, output = self.call('convert', '--from', 'ironic', path)
        self.assertEqual(0, code)
        (rule,) = yaml.safe_load(output)
        self.assertEqual(
            {
                'path': '/extra/a',
                'value': (
                    '{inventory.memory.physical_mb | '
                    "default('{inventory[memory][physical_mb]}')!s}"
                ),
            },
            rule['actions'][0]['args'],
        )

    def test_what_stock_ironic_did_and_no_rule_can_is_1(self):
        path = self.write(
            'rules.yaml',
            (
                '- actions:\n'
                '  - {op: log, args: {msg: a}}\n'
                '  - op: set-attribute\n'
                '    args: {path: /reservation, value: x}\n'
            ),
        )
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code, output = self.call('convert', '--from', 'ironic', path)
        self.assertEqual(1, code)
        self.assertIn('rules.yaml:3:', errors.getvalue())
        self.assertIn(
            '"reservation" of a node cannot be changed', errors.getvalue()
        )
        self.assertIn('"reservation"', output)

    def test_what_a_rule_does_otherwise_than_in_stock_ironic_is_1(self):
        for conditions, action, what in (
            (
                '{op: in-net, args: {address: "{inventory[bmc_address]}", '
                'subnet: 10.0.0.0/8}}',
                '{op: log, args: {msg: a}}',
                'is no IP address',
            ),
            (
                '',
                '{op: del-attribute, args: {path: /extra/a}}',
                'nothing to delete',
            ),
            (
                '',
                '{op: extend-attribute, args: {path: /extra/a, value: x}}',
                'something else than a list',
            ),
        ):
            path = self.write(
                'rules.yaml',
                f'- conditions: [{conditions}]\n  actions: [{action}]\n',
            )
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                code, output = self.call('convert', '--from', 'ironic', path)
            self.assertEqual(1, code)
            self.assertIn('rules.yaml:', errors.getvalue())
            self.assertIn(what, ' '.join(errors.getvalue().split()))
            self.assertEqual(1, len(yaml.safe_load(output)))

    def test_what_had_no_effect_in_stock_ironic_is_no_difference(self):
        path = self.write(
            'rules.yaml',
            (
                '- scope: x\n  even: 1\n'
                '  conditions: [{op: eq, args: {values: [1, 1]}}]\n'
                '  actions: [{op: fail, args: {msg: a}}]\n'
                '- phase: x\n  actions: [{op: fail, args: {msg: a}}]\n'
            ),
        )
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code, output = self.call('convert', '--from', 'ironic', path)
        self.assertEqual((0, ''), (code, errors.getvalue()))
        self.assertIn('had no effect', output)

    def test_anything_lost_is_1(self):
        path = self.write('rules.yaml', self.OLD % '{data}')
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code, _output = self.call(
                'convert', path, '-o', str(self.directory / 'new.yaml')
            )
        self.assertEqual(1, code)
        self.assertIn('rules.yaml:1:13: #1: ', errors.getvalue())
        self.assertIn('left out', (self.directory / 'new.yaml').read_text())
