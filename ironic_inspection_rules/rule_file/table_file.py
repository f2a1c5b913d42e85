# SPDX-License-Identifier: Apache-2.0

"""Reads the tables of rule files, and the files that contain their rows.

A rule file may define tables, which its rules read. The rows of a table are
either in the rule file itself or in a separate file beside it, the file of
rows::

    tables:
      racks: {key: serial, rows: [{serial: A1, rack: r1}]}
      owners: {key: serial, file: owners.csv}
"""

from collections.abc import Iterable, Iterator, Sequence
import dataclasses
import functools
import os
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import table_check
from ironic_inspection_rules.engine.language import table_form
from ironic_inspection_rules.engine.language import table_members
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import table_rows

FILE = 'file'
"""The member of a table that names the file with its rows."""

_BESIDE_ROWS = tuple(name for name in table_members.MEMBERS if name != 'rows')
MEMBERS = (*_BESIDE_ROWS, FILE, 'rows')

Problem = exceptions.Problem

# Parts of a position: lines and columns are counted from one.
_FIRST_LINE = 1
_START_OF_LINE = 1


@dataclasses.dataclass(frozen=True)
class FileTable:
    """A table of a rule file with its rows, as written and not yet checked.

    :param written: the table as it is written in the rule file.
    :param rows: the rows from the rule file or from a separate file; None if
        they are not a list.
    """

    written: document.WrittenTable
    rows: table_rows.Rows | None

    @property
    def name(self) -> str:
        """The name of the table, by which rules refer to it."""
        return self.written.name

    @property
    def entry(self) -> typing.Any:
        """The JSON form of the table, as it is posted to Ironic.

        It has the rows themselves instead of the name of their file: the table
        ``{'key': 'serial', 'file': 'racks.csv'}`` becomes ``{'key': 'serial',
        'rows': [{'serial': 'A1', …}]}``.
        """
        if self.rows is None:
            # The rows are not a list. Keep this error in the posted table.
            return self.written.entry
        without_file = {
            name: value
            for name, value in self.written.entry.items()
            if name != FILE
        }
        return {**without_file, 'rows': self.rows.rows}

    @functools.cached_property
    def table(self) -> table.Table:
        """The built table. It is built only once: 100,000 rows take seconds.

        :raises: :class:`.exceptions.InvalidTables` if the table is invalid.
        """
        header: Sequence[str] = ()
        if self.rows is not None:
            # A file without rows may still name its columns.
            header = self.rows.columns
        return table_form.read(self.name, self.entry, header)

    def locate(self, pointer: str) -> tuple[str, document.Place]:
        """Return the file that contains a value of the table, and the place.

        - A value outside of the rows is in the rule file, e.g. the key of the
          table: ``/key`` may give ``('rules.yaml', (3, 10))``.
        - A row, or a value in a row, is in the file of rows. Only its line is
          known: ``/rows/12/cpus`` may give ``('racks.csv', (14, 1))``.
        - All rows, or a row that does not exist, are at the start of the file
          of rows.

        Rows that are in the rule file itself have their place there. If a
        value does not exist, the place of the closest value that contains it
        is returned.

        :param pointer: RFC 6901 pointer into the entry.
        """
        tokens = _split_pointer(pointer)
        is_in_rows = tokens[:1] == ('rows',)
        if self.rows is None or not is_in_rows:
            return self.written.path, self.written.place(pointer)
        line = _find_line(self.rows, tokens)
        if line is not None:
            return self.rows.path, (line, _START_OF_LINE)
        # The pointer is to all rows, or to a row that does not exist.
        has_separate_file = self.rows.path != self.written.path
        if has_separate_file:
            return self.rows.path, (_FIRST_LINE, _START_OF_LINE)
        return self.written.path, self.written.place(pointer)


def _find_line(rows: table_rows.Rows, tokens: data_path.Path) -> int | None:
    """Return the line of a row, or of a value in it.

    :param tokens: ``('rows', '12')`` for a row, ``('rows', '12', 'cpus')`` for
        a value in it.
    :returns: None if the tokens are those of all rows, ``('rows',)``, or of a
        row that does not exist.
    """
    if len(tokens) < 2:
        return None
    row_number = int(tokens[1])
    if row_number >= len(rows.rows):
        return None
    column = None
    if len(tokens) > 2:
        column = tokens[2]
    return rows.line(row_number, column)


def _split_pointer(pointer: str) -> data_path.Path:
    """Return the tokens of a pointer: ``('rows', '12')`` for ``/rows/12``.

    An empty pointer refers to the whole value and has no tokens.
    """
    if not pointer:
        return ()
    return data_path.parse(pointer)


@dataclasses.dataclass(frozen=True)
class FileTables:
    """The tables of several rule files.

    :param tables: the tables by name.
    :param is_given: whether any file has the member ``tables``. If no file has
        it, applying the files keeps the stored tables.
    """

    tables: typing.Mapping[str, FileTable] = dataclasses.field(
        default_factory=dict
    )
    is_given: bool = False

    @property
    def entries(self) -> dict[str, typing.Any] | None:
        """The JSON form of the tables by name, as it is posted to Ironic.

        It is None if no file has the member ``tables``: the stored tables are
        kept.
        """
        if not self.is_given:
            return None
        return {
            name: file_table.entry for name, file_table in self.tables.items()
        }

    def without_built(self) -> 'FileTables':
        """Return copies of these tables that are not built.

        A built table holds all its rows a second time, for look-ups. Dropping
        the original tables and using the copies frees this memory.
        """
        # A copy does not have the cached property "table" of the original.
        tables = {
            name: dataclasses.replace(file_table)
            for name, file_table in self.tables.items()
        }
        return dataclasses.replace(self, tables=tables)

    def format_problem(self, problem: Problem) -> str | None:
        """Return a problem of a request as text with its file and line.

        :param problem: a problem at a pointer into the request, e.g.
            ``/tables/racks/rows/12/cpus``.
        :returns: ``racks.csv:14:1: racks.cpus: …``; None if the problem is not
            in a table of these files.
        """
        error = self.find_error(problem)
        if error is None:
            return None
        return str(error)

    def find_error(
        self, problem: Problem
    ) -> exceptions.InvalidDocument | None:
        """Convert a problem of a request to an error with its file and line.

        :param problem: a problem at a pointer into the request, e.g.
            ``/tables/racks/rows/12/cpus``.
        :returns: the error ``racks.csv:14:1: racks.cpus: …``; None if the
            problem is not in a table of these files.
        """
        tokens = _split_pointer(problem.pointer)
        is_in_table = len(tokens) >= 2 and tokens[0] == 'tables'
        if not is_in_table:
            return None
        file_table = self.tables.get(str(tokens[1]))
        if file_table is None:
            return None
        # The place of the problem in its table, e.g. ('rows', '12', 'cpus').
        tokens_inside = tokens[2:]
        pointer_inside = data_path.pointer(tokens_inside)
        path, place = file_table.locate(pointer_inside)
        # Shorten the label "racks.rows.12.cpus" to "racks.cpus", because the
        # line already identifies the row.
        if tokens_inside[:1] == ('rows',):
            tokens_inside = tokens_inside[2:]
        label = '.'.join(map(str, (file_table.name, *tokens_inside)))
        return exceptions.InvalidDocument(
            path, f'{label}: {problem.sentence}', place
        )


NO_TABLES = FileTables()


def load(documents: Iterable[document.Document]) -> FileTables:
    """Read the tables of rule files, and the files with their rows.

    Only the members of the tables and their names are checked here.

    :param documents: the contents of the rule files.
    :raises: :class:`.exceptions.InvalidDocument` if a file of rows cannot be
        read, if a table has a wrong member, or if two tables have the same
        name.
    """
    table_by_name: dict[str, FileTable] = {}
    is_given = False
    for rule_file in documents:
        if rule_file.tables is None:
            continue
        # An empty member "tables" counts too: it says that there are no
        # tables.
        is_given = True
        for written_table in rule_file.tables:
            other = table_by_name.get(written_table.name)
            if other is not None:
                line, _column = other.written.place()
                raise exceptions.InvalidDocument(
                    written_table.path,
                    _('the table "%(name)s" is also at %(path)s:%(line)d')
                    % {
                        'name': suggestion.shorten(written_table.name),
                        'path': other.written.path,
                        'line': line,
                    },
                    written_table.place(),
                )
            rows = _read_rows(written_table)
            table_by_name[written_table.name] = FileTable(written_table, rows)
    return FileTables(table_by_name, is_given)


def find_problems(tables: FileTables) -> Iterator[exceptions.InvalidDocument]:
    """Yield the problems of tables, each with its file and line.

    The tables are built to find their problems. They keep the result, so that
    they are not built again when they are needed later.
    """
    for file_table in tables.tables.values():
        try:
            file_table.table  # noqa: B018 - builds it
        except exceptions.InvalidTables as exc:
            written_table = file_table.written
            for problem in exc.problems:
                error = tables.find_error(problem)
                # A problem of unknown place is reported at the table.
                yield error or exceptions.InvalidDocument(
                    written_table.path, str(problem), written_table.place()
                )


def build(tables: FileTables) -> dict[str, table.Table]:
    """Check the tables of rule files, and return the built tables by name.

    :raises: :class:`.exceptions.InvalidDocument` with all problems, each with
        its file and line.
    """
    errors = list(find_problems(tables))
    if errors:
        # Raise one error with all problems, at the place of the first problem.
        first, *others = errors
        raise exceptions.InvalidDocument(
            first.path,
            exceptions.join_problems([first.reason, *map(str, others)]),
            first.place,
        )
    return {
        name: file_table.table for name, file_table in tables.tables.items()
    }


def check_rules(
    written: Sequence[file_rule.WrittenRule],
    rules: Sequence[model.Rule],
    tables: table.Tables,
) -> None:
    """Check that the tables and columns that rules read exist.

    :param written: the rules as they are in their files.
    :param rules: the same rules, parsed.
    :param tables: all tables of the rule set.
    :raises: :class:`.exceptions.InvalidDocument` at the first problem.
    """
    for written_rule, rule in zip(written, rules, strict=True):
        problems_of_rule = table_check.find_problems(rule, tables)
        first_problem = next(iter(problems_of_rule), None)
        if first_problem is None:
            continue
        problem_for_author = file_rule.count_from_one(first_problem)
        raise exceptions.InvalidDocument(
            written_rule.source.path,
            f'{written_rule.label}: {problem_for_author}',
            written_rule.place(first_problem.pointer),
        )


@dataclasses.dataclass(frozen=True)
class ReadFile:
    """A file that was read, or the error why it could not be read.

    :param text: the content of the file; empty if there is an error.
    """

    path: str
    text: str = ''
    error: exceptions.InvalidDocument | None = None

    @functools.cached_property
    def document(self) -> document.Document:
        """The content of the file, parsed once.

        :raises: :class:`.exceptions.InvalidDocument` if the file cannot be
            read or is not a file of rules.
        """
        if self.error is not None:
            raise self.error
        return document.parse(self.path, self.text)


def read_files(paths: Iterable[str]) -> list[ReadFile]:
    """Read files and folders of rules, and skip files of rows.

    A file of rows may be in the same folder as the rule files, and may end in
    ``.yaml`` as well. It is recognized because a table in one of these files
    names it. Each file is read only once, so that everything known about a
    file comes from the same content.

    :param paths: files, folders, and ``-`` for standard input.
    :returns: the rule files. A file that could not be read is one of them, and
        has its error.
    :raises: :class:`.exceptions.InvalidDocument` if a folder has no rule
        files.
    """
    files = [_read_or_keep_error(path) for path in document.list_files(paths)]
    # The real paths of the files that tables name, and of the files in which
    # these tables are.
    named_by_tables: set[str] = set()
    with_tables: set[str] = set()
    for read_file in files:
        paths_of_rows = _list_files_of_rows(read_file)
        named_by_tables.update(paths_of_rows)
        if paths_of_rows:
            with_tables.add(os.path.realpath(read_file.path))
    # A file with tables is a rule file, even if a table names it by mistake.
    files_of_rows = named_by_tables - with_tables
    rule_files = []
    for read_file in files:
        # "-" is standard input, even if a file has this name.
        is_standard_input = read_file.path == document.STDIN
        real_path = os.path.realpath(read_file.path)
        if is_standard_input or real_path not in files_of_rows:
            rule_files.append(read_file)
    return rule_files


def read_documents(paths: Iterable[str]) -> list[document.Document]:
    """Read rule files and folders of rule files, see :func:`read_files`.

    :raises: :class:`.exceptions.InvalidDocument` if a folder has no rule
        files, or if a file cannot be read, or contains the inventory of a
        machine, or rules without their actions.
    """
    return [read_file.document for read_file in read_files(paths)]


def _read_or_keep_error(path: str) -> ReadFile:
    """Read a file. If that fails, return the file with its error.

    The error may not matter, because the file may be a file of rows. These
    files are read in another way, and may have other encodings, e.g. UTF-16.
    """
    try:
        return ReadFile(path, document.read(path))
    except exceptions.InvalidDocument as exc:
        return ReadFile(path, error=exc)


def _list_files_of_rows(read_file: ReadFile) -> list[str]:
    """Return the real paths of the files of rows that a rule file names.

    A table names its file of rows by ``file: racks.csv``. Errors in the rule
    file are ignored here, because they are reported when it is parsed.
    """
    if read_file.path == document.STDIN:
        # Rules from standard input cannot name files.
        return []
    # Parsing YAML is slow, and most files have no tables. Both words must be
    # in the text of a file that names a file of rows.
    if 'tables' not in read_file.text or 'file' not in read_file.text:
        return []
    try:
        tables = read_file.document.tables or ()
    except exceptions.InvalidDocument:
        return []
    folder = os.path.dirname(read_file.path)
    paths = []
    for written_table in tables:
        name = None
        if isinstance(written_table.entry, dict):
            name = written_table.entry.get(FILE)
        # The operating system does not allow NUL in a path.
        if isinstance(name, str) and '\0' not in name:
            paths.append(os.path.realpath(os.path.join(folder, name)))
    return paths


def _read_rows(written_table: document.WrittenTable) -> table_rows.Rows | None:
    """Return the rows of a table, from a separate file or from the rule file.

    A table must have either ``file``, the name of the separate file, or
    ``rows``.

    :returns: None if the table is not a mapping or its rows are not a list.
        The check of the table reports that.
    :raises: :class:`.exceptions.InvalidDocument` if the table has an unknown
        member, if it has both or neither of ``file`` and ``rows``, or if the
        file cannot be read.
    """
    members = written_table.entry
    if not isinstance(members, dict):
        return None
    for name in members:
        if name not in MEMBERS:
            raise _error_at(
                written_table,
                suggestion.unknown_message(_('member'), name, MEMBERS),
                data_path.pointer([name]),
            )
    # A list of rows is not among the members, but in "written_table.rows".
    # Only rows that are not a list are still among the members.
    has_rows = written_table.rows is not None or 'rows' in members
    if FILE not in members:
        if not has_rows:
            raise _error_at(
                written_table, _('a table has "%s" or "rows"') % FILE, ''
            )
        return written_table.rows
    if has_rows:
        raise _error_at(
            written_table,
            _('a table has either "%s" or "rows"') % FILE,
            f'/{FILE}',
        )
    # The types of the columns, by which the cells of a CSV file are converted.
    types = members.get('types')
    if not isinstance(types, dict):
        # Ignore wrong types: the check of the table reports them.
        types = {}
    try:
        path = _path_beside(written_table.path, members[FILE])
    except exceptions.OperationError as exc:
        raise _error_at(written_table, str(exc), f'/{FILE}') from exc
    return table_rows.read(path, types)


def _error_at(
    written_table: document.WrittenTable, reason: str, pointer: str
) -> exceptions.InvalidDocument:
    """Return an error at the position of a value in a table.

    :param pointer: RFC 6901 pointer into the table.
    """
    return exceptions.InvalidDocument(
        written_table.path,
        f'{written_table.name}: {reason}',
        written_table.place(pointer),
    )


def _path_beside(rule_file: str, name: typing.Any) -> str:
    """Return the path of a file of rows, which must be beside its rule file.

    The file must be in the folder of the rule file or below it. Files
    elsewhere, such as ``/etc/shadow`` and ``../secrets.csv``, are rejected:
    otherwise the author of a rule file could read files with the permissions
    of the user who applies it.

    :param rule_file: the path of the rule file.
    :param name: the value of ``file`` in the table, e.g. ``racks.csv``. It may
        have any type.
    :raises: :class:`.exceptions.OperationError` with the reason why the name
        is rejected.
    """
    if not isinstance(name, str) or not name:
        raise exceptions.OperationError(_('must be the name of a file'))
    if '\0' in name:
        raise exceptions.OperationError(
            _('the name of a file has no character NUL')
        )
    if rule_file == document.STDIN:
        raise exceptions.OperationError(
            _(
                'rules that are piped in have no file beside them; write the '
                'rows under "rows"'
            )
        )
    # On Windows, a backslash separates folders.
    names_in_path = name.replace('\\', '/').split('/')
    if os.path.isabs(name) or '..' in names_in_path:
        raise exceptions.OperationError(
            _('must be a file in the folder of the rule file, not "%s"')
            % suggestion.shorten(name)
        )
    folder = os.path.dirname(rule_file)
    path = os.path.join(folder, name)
    # Resolve links before the check. A link may refer to a file elsewhere, but
    # Kubernetes mounts files as links to other files in the same folder, which
    # must be allowed.
    real_folder = os.path.realpath(folder or os.curdir)
    real_path = os.path.realpath(path)
    if os.path.commonpath([real_folder, real_path]) != real_folder:
        raise exceptions.OperationError(
            _(
                '"%s" is a link to a file outside of the folder of the rule '
                'file'
            )
            % suggestion.shorten(name)
        )
    if not os.path.exists(real_path):
        raise exceptions.OperationError(
            _('there is no file "%s" beside the rule file')
            % suggestion.shorten(name)
        )
    return path
