# SPDX-License-Identifier: Apache-2.0

"""Tables of rule files, with the files that contain their rows."""

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

    ``rows`` come from the table itself or from a separate file. They are None
    if they are not a list.
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

        For ``{'key': 'serial', 'file': 'racks.csv'}``, this replaces ``file``
        with ``rows``, which has the rows of the file.
        """
        if self.rows is None:
            return self.written.entry
        entry = {
            name: value
            for name, value in self.written.entry.items()
            if name != FILE
        }
        return {**entry, 'rows': self.rows.rows}

    @functools.cached_property
    def table(self) -> table.Table:
        """The table, built once because 100,000 rows take seconds.

        :raises: :class:`.exceptions.InvalidTables`
        """
        header: Sequence[str] = ()
        if self.rows is not None:
            # A file without rows may still name its columns.
            header = self.rows.columns
        return table_form.read(self.name, self.entry, header)

    def locate(self, pointer: str) -> tuple[str, document.Place]:
        """Return the file that contains a value, and its position there.

        For example, ``/rows/12/cpus`` may give ``('racks.csv', (14, 1))``,
        because rows may be in a separate file. A value in a row has the
        position of the start of its line. If there is no value at the pointer,
        return the position of the closest value that contains it.

        :param pointer: RFC 6901 pointer into the entry.
        """
        # The member of the table, optionally followed by row and column.
        tokens = _split_pointer(pointer)
        if self.rows is None or tokens[:1] != ('rows',):
            # The value is not in the rows, e.g. it is the key of the table.
            return self.written.path, self.written.place(pointer)
        if len(tokens) > 1:
            row_number = int(tokens[1])
            column = None
            if len(tokens) > 2:
                column = tokens[2]
            if row_number < len(self.rows.rows):
                line = self.rows.line(row_number, column)
                return self.rows.path, (line, _START_OF_LINE)
        # The pointer is to all rows, or to a row that the file does not have.
        if self.rows.path != self.written.path:
            return self.rows.path, (_FIRST_LINE, _START_OF_LINE)
        return self.written.path, self.written.place(pointer)


def _split_pointer(pointer: str) -> data_path.Path:
    """Return the tokens of a pointer: ``('rows', '12')`` for ``/rows/12``.

    An empty pointer refers to the whole value and has no tokens.
    """
    if not pointer:
        return ()
    return data_path.parse(pointer)


@dataclasses.dataclass(frozen=True)
class FileTables:
    """The tables of several files, by name.

    ``is_given`` is whether any file has the member ``tables``. If no file has
    it, the stored tables are kept.
    """

    tables: typing.Mapping[str, FileTable] = dataclasses.field(
        default_factory=dict
    )
    is_given: bool = False

    @property
    def entries(self) -> dict[str, typing.Any] | None:
        """The member ``tables`` of a request.

        It is None if no file has this member: the stored tables are kept.
        """
        if not self.is_given:
            return None
        return {
            name: file_table.entry for name, file_table in self.tables.items()
        }

    def without_built(self) -> 'FileTables':
        """Return copies of the tables without what was built from them.

        A built table holds all its rows a second time, for look-ups. Using the
        copies instead frees that memory.
        """
        # A copy does not have the cached property "table" of the original.
        tables = {
            name: dataclasses.replace(file_table)
            for name, file_table in self.tables.items()
        }
        return dataclasses.replace(self, tables=tables)

    def format_problem(self, problem: Problem) -> str | None:
        """Return a problem as text with its file and line.

        :param problem: a problem at a pointer such as
            ``/tables/NAME/rows/12/cpus``.
        :returns: ``racks.csv:14:1: …``; None if the problem is not in a table
            of these files.
        """
        error = self.find_error(problem)
        if error is None:
            return None
        return str(error)

    def find_error(
        self, problem: Problem
    ) -> exceptions.InvalidDocument | None:
        """Convert a problem to an error with its file and line.

        :param problem: a problem at a pointer such as
            ``/tables/NAME/rows/12/cpus``.
        :returns: None if the problem is not in a table of these files.
        """
        tokens = _split_pointer(problem.pointer)
        if len(tokens) < 2 or tokens[0] != 'tables':
            return None
        file_table = self.tables.get(str(tokens[1]))
        if file_table is None:
            return None
        inside = tokens[2:]
        path, place = file_table.locate(data_path.pointer(inside))
        # Shorten the label "racks.rows.12.cpus" to "racks.cpus", because the
        # line already identifies the row.
        if inside[:1] == ('rows',):
            inside = inside[2:]
        label = '.'.join(map(str, (file_table.name, *inside)))
        return exceptions.InvalidDocument(
            path, f'{label}: {problem.sentence}', place
        )


NO_TABLES = FileTables()


def load(documents: Iterable[document.Document]) -> FileTables:
    """Read the tables of rule files, and the files with their rows.

    :raises: :class:`.exceptions.InvalidDocument` if a file cannot be read, or
        if two tables have the same name.
    """
    by_name: dict[str, FileTable] = {}
    is_given = False
    for rule_file in documents:
        if rule_file.tables is None:
            continue
        # An empty member counts too: it says that there are no tables.
        is_given = True
        for written_table in rule_file.tables:
            other = by_name.get(written_table.name)
            if other is not None:
                line, _column = other.written.place()
                raise exceptions.InvalidDocument(
                    written_table.path,
                    _('the table "%(name)s" is also at %(path)s:%(line)d')
                    % {
                        'name': suggestion.shown(written_table.name),
                        'path': other.written.path,
                        'line': line,
                    },
                    written_table.place(),
                )
            by_name[written_table.name] = FileTable(
                written_table, _read_rows(written_table)
            )
    return FileTables(by_name, is_given)


def problems(tables: FileTables) -> Iterator[exceptions.InvalidDocument]:
    """Yield the problems of tables, with their files and lines.

    Building a table finds its problems. Each table caches the result, so that
    it is not built again when it is needed later.
    """
    for file_table in tables.tables.values():
        try:
            file_table.table  # noqa: B018 - builds it
        except exceptions.InvalidTables as exc:
            written_table = file_table.written
            for problem in exc.problems:
                error = tables.find_error(problem)
                yield error or exceptions.InvalidDocument(
                    written_table.path, str(problem), written_table.place()
                )


def build(tables: FileTables) -> dict[str, table.Table]:
    """Build the tables of rule files.

    :raises: :class:`.exceptions.InvalidDocument` with all problems, where
        each problem has its file and line.
    """
    errors = list(problems(tables))
    if errors:
        # Raise one error with all problems, at the position of the first.
        first, *others = errors
        raise exceptions.InvalidDocument(
            first.path,
            exceptions.listed([first.reason, *map(str, others)]),
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
        problem = next(iter(table_check.find_problems(rule, tables)), None)
        if problem is not None:
            raise exceptions.InvalidDocument(
                written_rule.source.path,
                f'{written_rule.label}: {file_rule.count_from_one(problem)}',
                written_rule.place(problem.pointer),
            )


@dataclasses.dataclass(frozen=True)
class ReadFile:
    """A file that was read: its text, or the reason why it has none."""

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

    A file of rows may be among the rule files and end in ``.yaml``. It is
    skipped if a table in these files names it. Each file is read only once, so
    that everything known about a file comes from the same content.

    :raises: :class:`.exceptions.InvalidDocument` if a folder has no rule
        files.
    """
    files = [_read_or_keep_error(path) for path in document.list_files(paths)]
    # Real paths of the files that tables name, and of files with such tables.
    named_by_tables: set[str] = set()
    with_tables: set[str] = set()
    for read_file in files:
        paths_of_rows = _list_files_of_rows(read_file)
        named_by_tables.update(paths_of_rows)
        if paths_of_rows:
            with_tables.add(os.path.realpath(read_file.path))
    # A file that has tables is a rule file, even if a table names it.
    files_of_rows = named_by_tables - with_tables
    rule_files = []
    for read_file in files:
        # "-" is standard input, even if a file has this name.
        is_standard_input = read_file.path == document.STDIN
        real_path = os.path.realpath(read_file.path)
        if is_standard_input or real_path not in files_of_rows:
            rule_files.append(read_file)
    return rule_files


def documents(paths: Iterable[str]) -> list[document.Document]:
    """Read rule files and folders of rule files, see :func:`read_files`.

    :raises: :class:`.exceptions.InvalidDocument` if a folder has no rule
        files, or if a file cannot be read, or contains the inventory of a
        machine, or rules without their actions.
    """
    return [read_file.document for read_file in read_files(paths)]


def _read_or_keep_error(path: str) -> ReadFile:
    """Read a file; if that fails, keep the error.

    The error may not matter, because the file may turn out to be a file of
    rows, which is read in another way.
    """
    try:
        return ReadFile(path, document.read(path))
    except exceptions.InvalidDocument as exc:
        # A file of rows may have an encoding that rule files must not have,
        # e.g. UTF-16.
        return ReadFile(path, error=exc)


def _list_files_of_rows(read_file: ReadFile) -> list[str]:
    """Return the real paths of the files of rows that a rule file names.

    A table names such a file by ``file: racks.csv``.
    """
    text = read_file.text
    # Most files have no tables, and parsing YAML is slow. Rules from standard
    # input cannot name files.
    if (
        read_file.path == document.STDIN
        or 'tables' not in text
        or 'file' not in text
    ):
        return []
    try:
        tables = read_file.document.tables or ()
    except exceptions.InvalidDocument:
        # Ignore the error: the command that reads the rules reports it.
        return []
    folder = os.path.dirname(read_file.path)
    paths = []
    for written_table in tables:
        name = None
        if isinstance(written_table.entry, dict):
            name = written_table.entry.get(FILE)
        # Ignore any other value: reading the rows reports it.
        if isinstance(name, str) and '\0' not in name:
            paths.append(os.path.realpath(os.path.join(folder, name)))
    return paths


def _read_rows(written_table: document.WrittenTable) -> table_rows.Rows | None:
    """Read the rows of a table, from their own file or from the rule file.

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
                suggestion.unknown(_('member'), name, MEMBERS),
                data_path.pointer([name]),
            )
    # The document keeps a list of rows in "written.rows". Rows that are not a
    # list are still in the members, and the check of the table reports them.
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
    """Return the path of a file in the folder of a rule file, or below it.

    A table names the file by ``file: racks.csv``. Files elsewhere, such as
    ``/etc/shadow`` and ``../secrets.csv``, are rejected: otherwise the author
    of a rule file could read files with the permissions of the user who
    applies it.

    :raises: :class:`.exceptions.OperationError` with the reason why the name
        is not the name of such a file.
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
    # A backslash separates folders on Windows.
    parts = name.replace('\\', '/').split('/')
    if os.path.isabs(name) or '..' in parts:
        raise exceptions.OperationError(
            _('must be a file in the folder of the rule file, not "%s"')
            % suggestion.shown(name)
        )
    folder = os.path.dirname(rule_file)
    path = os.path.join(folder, name)
    inside = os.path.realpath(folder or os.curdir)
    target = os.path.realpath(path)
    # Resolve links before the check. Kubernetes mounts files as links to other
    # files in the same folder, which must be allowed.
    if os.path.commonpath([inside, target]) != inside:
        raise exceptions.OperationError(
            _(
                '"%s" is a link to a file outside of the folder of the rule '
                'file'
            )
            % suggestion.shown(name)
        )
    if not os.path.exists(target):
        raise exceptions.OperationError(
            _('there is no file "%s" beside the rule file')
            % suggestion.shown(name)
        )
    return path
