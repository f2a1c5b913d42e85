# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import sys

from ironic_inspection_rules import escapes
from ironic_inspection_rules.tests.unit import base


class Terminal(io.StringIO):
    def isatty(self):
        return True


class ShownTestCase(base.TestCase):
    def test_what_is_no_text_becomes_an_escape(self):
        for character, shown in (
            ('\x1b', '\\x1b'),
            ('\x07', '\\x07'),
            ('\r', '\\r'),
            ('\x00', '\\x00'),
            ('\x7f', '\\x7f'),
            ('\x9b', '\\x9b'),
            ('\u202e', '\\u202e'),
            ('\u2066', '\\u2066'),
            ('\u2028', '\\u2028'),
            ('\u2029', '\\u2029'),
            ('\x85', '\\x85'),
            ('\u061c', '\\u061c'),
            ('\ud800', '\\ud800'),
        ):
            self.assertEqual(
                f'a{shown}b', escapes.escape_text(f'a{character}b')
            )

    def test_text_stays(self):
        text = 'a\tb\nDisk „1“ größer, 中文, עברית, 🙂 \\x1b'
        self.assertEqual(text, escapes.escape_text(text))


class GuardTestCase(base.TestCase):
    TEXT = 'a\x1b[32mb\x1b[0m\x1b[2Jc\x9b31m'

    def test_a_file_gets_no_control_character(self):
        stream = io.StringIO()
        guard = escapes.EscapingStream(stream)
        guard.write(self.TEXT)
        guard.writelines(['\r', '\n'])
        self.assertEqual(
            'a\\x1b[32mb\\x1b[0m\\x1b[2Jc\\x9b31m\\r\n', stream.getvalue()
        )

    def test_a_terminal_gets_colours_and_no_other(self):
        stream = Terminal()
        escapes.EscapingStream(stream).write(self.TEXT)
        self.assertEqual(
            'a\x1b[32mb\x1b[0m\\x1b[2Jc\\x9b31m', stream.getvalue()
        )

    def test_a_stream_of_few_characters_shows_the_others(self):
        stream = io.TextIOWrapper(io.BytesIO(), encoding='ascii')
        escapes.EscapingStream(stream).write('é')
        stream.seek(0)
        self.assertEqual('\\xe9', stream.read())

    def test_standard_streams_are_guarded_for_a_while(self):
        output, errors = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(errors),
        ):
            with escapes.escape_output():
                print('\x1b')
                print('\x07', file=sys.stderr)
            print('\x1b')
        self.assertEqual(
            ('\\x1b\n\x1b\n', '\\x07\n'),
            (output.getvalue(), errors.getvalue()),
        )
