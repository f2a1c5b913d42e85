# SPDX-License-Identifier: Apache-2.0

"""Files that change while they are read."""

import os

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.rule_file import file_content
from ironic_inspection_rules.tests.unit.rule_file import files

WHOLE = b'serial,rack\nA1,R1\nA2,R2\n'


class Writer:
    """An open file that somebody writes to while it is read.

    :param before: is called before the file is read.
    :param after: is called when it has been read.
    """

    def __init__(self, stream, before=lambda: None, after=lambda: None):
        self._stream = stream
        self._before = before
        self._after = after

    def fileno(self):
        return self._stream.fileno()

    def read(self, most):
        self._before()
        data = self._stream.read(most)
        self._after()
        return data


class ReadTestCase(files.FilesTestCase):
    def setUp(self):
        super().setUp()
        self.path = self.directory / 'rows.csv'
        self.save(WHOLE)

    def save(self, data, time=1):
        """Write the file in its place, at a time in seconds."""
        with self.path.open('r+b' if self.path.exists() else 'wb') as stream:
            stream.write(data)
            stream.truncate()
        os.utime(self.path, (time, time))

    def read(self, most=-1, **changes):
        with self.path.open('rb') as stream:
            return file_content.read(
                'rows.csv', Writer(stream, **changes), most
            )

    def refused(self, **changes):
        self.save(WHOLE)
        error = self.assertRaises(
            exceptions.InvalidDocument, self.read, **changes
        )
        self.assertEqual(
            'rows.csv: the file changed while it was read; try again',
            str(error),
        )

    def test_file_is_read_to_its_end(self):
        self.assertEqual(WHOLE, self.read())

    def test_large_file_is_read_as_far_as_is_asked_for(self):
        self.assertEqual(WHOLE[:5], self.read(5))

    def test_file_that_is_cut_in_a_row_is_refused(self):
        self.refused(before=lambda: self.save(WHOLE[:-3]))
        self.refused(after=lambda: self.save(WHOLE[:-3]))

    def test_file_that_grows_is_refused(self):
        self.refused(before=lambda: self.save(WHOLE + b'A3,R3\n'))

    def test_file_with_other_rows_of_the_same_size_is_refused(self):
        other = WHOLE.replace(b'A1', b'A9')
        self.refused(before=lambda: self.save(other, time=2))
        self.refused(after=lambda: self.save(other, time=3))

    def test_part_of_a_file_that_is_written_anew_at_once_is_refused(self):
        # Both have the same time and size.
        self.refused(
            before=lambda: self.save(WHOLE[:-3]),
            after=lambda: self.save(WHOLE),
        )

    def test_file_that_is_replaced_is_read_as_it_was(self):
        def replace():
            other = self.directory / 'other.csv'
            other.write_bytes(b'serial\nB1\n')
            os.replace(other, self.path)

        self.assertEqual(WHOLE, self.read(before=replace))
        self.assertEqual(b'serial\nB1\n', self.read())

    def test_file_that_says_no_size_is_read(self):
        with open('/proc/self/cmdline', 'rb') as stream:
            self.assertNotEqual(b'', file_content.read('cmdline', stream))

    def test_pipe_has_no_size(self):
        reading, writing = os.pipe()
        with open(reading, 'rb') as stream:
            with open(writing, 'wb') as other:
                other.write(WHOLE)
            self.assertEqual(WHOLE, file_content.read('-', stream))
