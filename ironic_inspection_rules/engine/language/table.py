# SPDX-License-Identifier: Apache-2.0

"""Tables of a rule set: what is expected of machines, as rows with keys.

A table is built once, checked as a whole, and shared by all threads of a
process: nothing in it changes. A look-up takes the same time whatever the
number of rows.
"""

import collections.abc
import dataclasses
import math
import re
import typing

from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem
Row = typing.Mapping[str, typing.Any]

MEMBERS = ('key', 'of', 'types', 'secret', 'expect', 'rows')
"""The members of a table in its JSON form."""

TYPES = ('integer', 'number', 'boolean', 'string')
MOST_ROWS = 100_000
MOST_COLUMNS = 100
MOST_BYTES = 32 * 2 ** 20
LONGEST_KEY = 255
LONGEST_NAME = 63

_NAME = re.compile(rf'[A-Za-z_][A-Za-z0-9_-]{{0,{LONGEST_NAME - 1}}}')
_INTEGER = re.compile(r'[+-]?[0-9]{1,30}')
_NUMBER = re.compile(r'[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?')
# The characters that databases refuse.
_UNSTORABLE = re.compile('[\0\ud800-\udfff]')
_KINDS: typing.Mapping[str, tuple[type, ...]] = {
    'integer': (int,), 'number': (int, float), 'boolean': (bool,),
    'string': (str,)}
_OF_KEY = budget.Limits(time=1.0, operations=10_000)
_OF_MACHINE = (*interpolation.OF_NODE, 'inventory', 'plugin_data')


@dataclasses.dataclass(frozen=True, slots=True)
class TableDefinition:
    """What a table is, without its rows.

    ``key`` is a template over the columns of a row, or the name of a column.
    ``of`` is the same of a machine: a template over its data, None for a
    table that is only looked up by keys that rules have. ``types`` are the
    types of columns, ``secret`` the columns that only sensitive rules read,
    ``expect`` templates over the data of a machine, by column.
    """

    name: str
    key: str
    of: str | None = None
    types: typing.Mapping[str, str] = dataclasses.field(default_factory=dict)
    secret: tuple[str, ...] = ()
    expect: typing.Mapping[str, str] = dataclasses.field(
        default_factory=dict)

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the JSON form, without name and rows."""
        return {'key': self.key, 'of': self.of, 'types': dict(self.types),
                'secret': list(self.secret), 'expect': dict(self.expect)}


class KeyTemplate:
    """The template of a key, of a row or of a machine.

    :param pieces: literal text and fields.
    :raises: :class:`.exceptions.OperationError` if a field cannot be read.
    """

    __slots__ = ('_parts',)

    def __init__(self, pieces: typing.Iterable[str | interpolation.Field]
                 ) -> None:
        self._parts = [
            template.compile_field(piece)
            if isinstance(piece, interpolation.Field) else piece
            for piece in pieces]

    def text(self, roots: budget.View) -> str | None:
        """Return the key.

        :returns: None if a field of it is missing or null, or all of it is
            empty: a key of several columns has no text in place of one.
        :raises: :class:`.exceptions.OperationError` if it cannot be computed,
            or a field is a list or a mapping.
        """
        texts = []
        for part in self._parts:
            value = rendered(part, roots)
            text = '' if value == '' else key_text(value)
            if text is None:
                return None
            texts.append(text)
        joined = ''.join(texts)
        roots.budget.take(joined)
        return joined or None


class Table:
    """A table whose definition and rows were checked.

    :param definition: of the table.
    :param index: the rows by key, in their order.
    :param columns: the names of all columns, in the order they first appear.
    :param masked: whether the values of secret columns are hidden.
    """

    __slots__ = ('_index', '_key', '_masked', '_of', '_secret', 'columns',
                 'definition', 'expect')

    def __init__(self, definition: TableDefinition,
                 index: typing.Mapping[str, Row],
                 columns: typing.Sequence[str],
                 masked: bool = False) -> None:
        self.definition = definition
        self.columns = tuple(columns)
        self.expect: typing.Mapping[str, typing.Any] = {
            column: template.compile_value(text)
            for column, text in definition.expect.items()}
        self._index = index
        self._masked = masked
        self._secret = frozenset(definition.secret)
        self._key = _key_template(definition, None)
        self._of: KeyTemplate | None = None
        if definition.of is not None:
            self._of = KeyTemplate(interpolation.parse(definition.of))

    def __repr__(self) -> str:
        # Reasons and errors show it, never its rows.
        return f'<table {self.definition.name}>'

    def __reduce__(self) -> tuple[typing.Any, ...]:
        # Templates are made again where rules are tried in other processes.
        return Table, (self.definition, dict(self._index), self.columns,
                       self._masked)

    def __len__(self) -> int:
        return len(self._index)

    @property
    def is_masked(self) -> bool:
        """Return whether secret columns are hidden."""
        return self._masked

    @property
    def keys(self) -> collections.abc.KeysView[str]:
        """Return the keys of the rows, in their order."""
        return self._index.keys()

    @property
    def pairs(self) -> collections.abc.ItemsView[str, Row]:
        """Return key and row with all columns, in their order."""
        return self._index.items()

    @property
    def rows(self) -> collections.abc.ValuesView[Row]:
        """Return the rows with all columns, in their order."""
        return self._index.values()

    @property
    def has_of(self) -> bool:
        """Return whether the table knows the row of a machine."""
        return self._of is not None

    @property
    def known_columns(self) -> frozenset[str]:
        """Return the columns that rows have, and the secret ones.

        An export leaves out the secret columns.
        """
        return self._secret.union(self.columns)

    @property
    def open(self) -> 'Table':
        """Return the same rows with secret columns."""
        if not self._masked:
            return self
        return Table(self.definition, self._index, self.columns)

    @property
    def masked(self) -> 'Table':
        """Return the same rows as rules see them that are not sensitive."""
        if self._masked or not self._secret:
            return self
        return Table(self.definition, self._index, self.columns, True)

    def row(self, key: str) -> typing.Any:
        """Return the row of a key, or :data:`.path.ABSENT`."""
        row = self._index.get(key)
        if row is None:
            return data_path.ABSENT
        return disclosure.row(row, self._secret) if self._masked else row

    def find_row(self, value: typing.Any) -> str | None:
        """Return the key of a row, None for what is no row of the table."""
        # A machine may send any mapping.
        allowance = budget.Budget(_OF_KEY)
        try:
            key = self._key.text(budget.View({interpolation.ITEM: value},
                                             allowance))
        except exceptions.OperationError:
            return None
        if key is None or self.row(key) != value:
            return None
        return key

    def key_of_machine(self, roots: budget.View) -> str | None:
        """Return the key of a machine.

        :param roots: the data of the machine by root name.
        :returns: None where ``of`` is missing, null or empty, or cannot be
            computed.
        :raises: :class:`.exceptions.BudgetExceeded`
        """
        if self._of is None:
            return None
        try:
            return self._of.text(roots)
        except exceptions.BudgetExceeded:
            raise
        except exceptions.OperationError:
            return None


Tables = typing.Mapping[str, Table]


def shown_row(row: Row, secret: typing.Collection[str]
              ) -> dict[str, typing.Any]:
    """Return a row without its secret columns."""
    return {column: value for column, value in row.items()
            if column not in secret}


def rendered(value: typing.Any, roots: budget.View) -> typing.Any:
    """Return the value of a template, or a value that has no fields."""
    if isinstance(value, rendering.Template):
        return value.render(roots)
    return value


def is_missing(value: typing.Any) -> bool:
    """Return whether the value of a template is that of no field."""
    return isinstance(value, rendering.Missing | data_path.Absent)


def key_text(value: typing.Any) -> str | None:
    """Return a value as the text of a key; a number is its text.

    :returns: None if it is missing, null or empty.
    :raises: :class:`.exceptions.OperationError` if it is a list or a mapping.
    """
    if value is None or value == '' or is_missing(value):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, int | float):
        return str(value)
    raise exceptions.OperationError(
        _('a key is text or a number, not %s') % suggestion.kind_of(value))


def find(table: Table, key: typing.Any, default: typing.Any) -> typing.Any:
    """Return the row of any value as key, or a default.

    :raises: :class:`.exceptions.OperationError` if the value is no key.
    """
    text = key_text(key)
    row = data_path.ABSENT if text is None else table.row(text)
    return default if row is data_path.ABSENT else row


def name_of_row(roots: budget.View, value: typing.Any) -> str | None:
    """Return what stands for a row where nobody is told what is in it.

    :param roots: the data that a rule sees by root name.
    :param value: any mapping.
    :returns: None if it is no row of the tables.
    """
    tables: Tables = roots.get(interpolation.TABLES) or {}
    for name, found in tables.items():
        key = found.find_row(value)
        if key is not None:
            return f'<row {key!r} of {name}>'
    return None


def convert(text: str, kind: str | None) -> typing.Any:
    """Return the value of a cell of CSV.

    :param kind: the type of its column; None is text.
    :returns: null for an empty cell, if its column is not text.
    :raises: :class:`.exceptions.OperationError` if it is not of the type.
    """
    if kind is None or kind == 'string':
        return text
    written = text.strip()
    if not written:
        return None
    if kind == 'integer' and _INTEGER.fullmatch(written):
        return int(written)
    if kind == 'number':
        if _INTEGER.fullmatch(written):
            return int(written)
        if _NUMBER.fullmatch(written) and math.isfinite(float(written)):
            return float(written)
    if kind == 'boolean':
        try:
            return strutils.bool_from_string(written, strict=True)
        except ValueError:
            pass
    raise exceptions.OperationError(_not_of_type(text, kind))


def tables_from(entries: typing.Any) -> dict[str, Table]:
    """Build all tables of a rule set.

    :param entries: the JSON form of each by name.
    :raises: :class:`.exceptions.InvalidTables` with the problems of all.
    """
    if not isinstance(entries, dict):
        raise exceptions.InvalidTables([Problem(
            '/tables', _('must be a mapping of names to tables, not %s')
            % suggestion.kind_of(entries))])
    built: dict[str, Table] = {}
    problems: list[Problem] = []
    for name, entry in entries.items():
        try:
            built[name] = table_from(name, entry)
        except exceptions.InvalidTables as exc:
            problems += exc.problems
    if problems:
        raise exceptions.InvalidTables(exceptions.first_of(problems))
    return built


def table_from(name: str, entry: typing.Any,
               header: typing.Sequence[str] = ()) -> Table:
    """Build a table.

    :param entry: its JSON form: a mapping with ``key``, ``rows`` and, if it
        has them, ``of``, ``types``, ``secret``, ``expect``.
    :param header: its columns, if these are known whatever the rows are.
    :raises: :class:`.exceptions.InvalidTables` with problems at pointers such
        as ``/tables/NAME/rows/12/cpus``.
    """
    place = '/tables' + data_path.pointer([name])
    reader = _Reader(name, header)
    problems = exceptions.first_of(
        problem.below(place) for problem in reader.read(entry))
    if problems:
        raise exceptions.InvalidTables(problems)
    return reader.table()


class _Reader:
    """Reads one table; ``table`` builds it if there were no problems."""

    def __init__(self, name: str, header: typing.Sequence[str]) -> None:
        self._name = name
        self._index: dict[str, Row] = {}
        self._columns: dict[str, None] = dict.fromkeys(header)
        self._definition: TableDefinition

    def table(self) -> Table:
        return Table(self._definition, self._index, tuple(self._columns))

    def read(self, entry: typing.Any) -> typing.Iterator[Problem]:
        """Yield the problems of a table."""
        if not isinstance(self._name, str) or not _NAME.fullmatch(self._name):
            yield Problem('', _(
                'the name of a table is at most %d letters, digits, "_" and '
                '"-", and begins with a letter or "_"') % LONGEST_NAME)
            return
        if not isinstance(entry, dict):
            yield Problem('', _('a table must be a mapping, not %s')
                          % suggestion.kind_of(entry))
            return
        problems = list(_shape(entry))
        yield from problems
        if problems:
            # Without them nothing can be said of rows.
            return
        self._definition = TableDefinition(
            self._name, entry['key'], entry.get('of'),
            dict(entry.get('types') or {}), _secret_columns(entry),
            dict(entry.get('expect') or {}))
        rows = entry['rows']
        problems = list(self._read_columns(rows))
        yield from problems
        if problems:
            return
        known = None
        if rows or self._columns:
            known = {*self._columns, *self._definition.secret}
            yield from self._check_names(known)
        key: KeyTemplate | None = None
        try:
            key = _key_template(self._definition, known)
        except exceptions.InvalidTables as exc:
            yield from exc.problems
        yield from _machine_templates(self._definition)
        yield from self._read_rows(rows, key)

    def _read_columns(self, rows: typing.Any) -> typing.Iterator[Problem]:
        """Check the names of columns, and the size of all rows."""
        size = 0
        for column in self._columns:
            yield from _column_name('/rows', column)
        # Most rows have the same columns: the size of their names.
        known: dict[tuple[typing.Any, ...], int] = {}
        for number, row in enumerate(rows):
            if not isinstance(row, dict):
                yield Problem(f'/rows/{number}',
                              _('a row must be a mapping, not %s')
                              % suggestion.kind_of(row))
                continue
            names = tuple(row)
            if names not in known:
                for column in names:
                    if column not in self._columns:
                        yield from _column_name(f'/rows/{number}', column)
                        self._columns[column] = None
                known[names] = sum(_size(column) + 6 for column in names)
            size += known[names] + sum(map(_size, row.values()))
            if len(self._columns) > MOST_COLUMNS:
                yield Problem(f'/rows/{number}',
                              _('there are more than %d columns')
                              % MOST_COLUMNS)
                return
            if size > MOST_BYTES:
                yield Problem(f'/rows/{number}',
                              _('the table is larger than %d bytes')
                              % MOST_BYTES)
                return

    def _check_names(self, known: typing.Collection[str]
                     ) -> typing.Iterator[Problem]:
        """Yield the columns that are named and that no row has."""
        for member in ('types', 'expect'):
            for column in getattr(self._definition, member):
                if column not in known:
                    yield suggestion.unknown_at(
                        f'/{member}{data_path.pointer([column])}',
                        _('column'), column, known)
        for number, column in enumerate(self._definition.secret):
            if column in self._columns:
                continue
            # An export has no secret columns, but a slip would leave a
            # secret open to everybody.
            near = suggestion.slip(column, self._columns)
            if near is not None:
                yield Problem(f'/secret/{number}',
                              _('unknown column "%s"') % column,
                              _('did you mean "%s"?') % near)

    def _read_rows(self, rows: list[dict[str, typing.Any]],
                   key: KeyTemplate | None) -> typing.Iterator[Problem]:
        types = self._definition.types
        secret = frozenset(self._definition.secret)
        numbers: dict[str, int] = {}
        for number, row in enumerate(rows):
            place = f'/rows/{number}'
            yield from _cells(place, row, types, secret)
            if key is None:
                continue
            try:
                text = key.text(budget.View({interpolation.ITEM: row}))
            except exceptions.OperationError as exc:
                yield Problem(place, _('the key cannot be read: %s') % exc)
                continue
            if text is None:
                yield Problem(place, _('the row has no key: %s is missing, '
                                       'null or empty')
                              % self._definition.key)
                continue
            if len(text) > LONGEST_KEY:
                yield Problem(place, _('the key is longer than %d characters')
                              % LONGEST_KEY)
                continue
            if text in numbers:
                # Each has its place, a file its lines.
                detail = _('two rows have the key "%s"') % (
                    suggestion.shown(text))
                yield Problem(f'/rows/{numbers[text]}', detail)
                yield Problem(place, detail)
                continue
            numbers[text] = number
            self._index[text] = row


def _secret_columns(entry: dict[str, typing.Any]) -> tuple[str, ...]:
    columns = entry.get('secret')
    return () if columns is None else tuple(columns)


def _shape(entry: dict[str, typing.Any]) -> typing.Iterator[Problem]:
    """Yield the problems of members: names, presence, types."""
    for name in entry:
        if name not in MEMBERS:
            yield suggestion.unknown_at(data_path.pointer([name]),
                                        _('member'), str(name), MEMBERS)
    key = entry.get('key')
    if key is None:
        yield Problem('/key', _('is required: a template over columns, or '
                                'the name of a column'))
    elif not isinstance(key, str) or not key.strip():
        yield Problem('/key', _('must be text that is not empty'))
    of = entry.get('of')
    if of is not None and (not isinstance(of, str) or not of.strip()):
        yield Problem('/of', _('must be text that is not empty, or null'))
    yield from _mapping_shapes(entry)
    yield from _secret_shape(entry.get('secret'))
    rows = entry.get('rows')
    if not isinstance(rows, list):
        yield Problem('/rows', _('is required: a list of mappings')
                      if rows is None else _('must be a list, not %s')
                      % suggestion.kind_of(rows))
    elif len(rows) > MOST_ROWS:
        yield Problem('/rows', _('must not have more than %(most)d rows, '
                                 'has %(rows)d')
                      % {'most': MOST_ROWS, 'rows': len(rows)})
    yield from _unstorable_texts(entry)


def _mapping_shapes(entry: dict[str, typing.Any]
                    ) -> typing.Iterator[Problem]:
    """Yield the problems of the members that map columns to something."""
    for member in ('types', 'expect'):
        value = entry.get(member)
        if value is not None and not isinstance(value, dict):
            yield Problem(f'/{member}', _('must be a mapping, not %s')
                          % suggestion.kind_of(value))
    for column, kind in _items(entry.get('types')):
        if kind not in TYPES:
            yield suggestion.not_one_of_at(
                '/types' + data_path.pointer([column]), kind, TYPES)
    for column, text in _items(entry.get('expect')):
        if not isinstance(text, str):
            yield Problem('/expect' + data_path.pointer([column]),
                          _('must be text with fields, not %s')
                          % suggestion.kind_of(text))


def _unstorable_texts(entry: dict[str, typing.Any]
                      ) -> typing.Iterator[Problem]:
    for path, value in data_path.walk(
            {name: entry[name] for name in entry if name != 'rows'}):
        texts = [*value] if isinstance(value, dict) else [value]
        for text in texts:
            if isinstance(text, str) and _UNSTORABLE.search(text):
                yield Problem(data_path.pointer(path), _unstorable())


def _secret_shape(secret: typing.Any) -> typing.Iterator[Problem]:
    if secret is None:
        return
    if not isinstance(secret, list):
        yield Problem('/secret', _('must be a list of columns, not %s')
                      % suggestion.kind_of(secret))
        return
    for number, column in enumerate(secret):
        if not isinstance(column, str) or not column:
            yield Problem(f'/secret/{number}',
                          _('must be the name of a column'))
        elif column in secret[:number]:
            yield Problem(f'/secret/{number}', _('"%s" is named twice')
                          % suggestion.shown(column))


def _items(value: typing.Any) -> list[tuple[typing.Any, typing.Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _size(value: typing.Any) -> int:
    """Return about how many bytes a value has as JSON in UTF-8."""
    if value.__class__ is str:
        if value.isascii():
            return len(value)
        return len(value.encode(errors='surrogatepass'))
    if value.__class__ not in (dict, list):
        return 0
    size = 0
    for _path, part in data_path.walk(value):
        if isinstance(part, dict):
            size += sum(map(_size, part))
        elif isinstance(part, str):
            size += _size(part)
        size += 4
    return size


def _column_name(place: str, column: typing.Any) -> typing.Iterator[Problem]:
    if not isinstance(column, str):
        yield Problem(place, _('the name of a column must be text, not %s')
                      % suggestion.kind_of(column))
    elif not column.strip():
        yield Problem(place, _('a column has no name'))
    elif len(column) > LONGEST_KEY:
        yield Problem(place, _('the name of a column is longer than %d '
                               'characters') % LONGEST_KEY)
    elif _UNSTORABLE.search(column):
        yield Problem(place, _('the name of a column %s') % _unstorable())


def _cells(place: str, row: Row, types: typing.Mapping[str, str],
           secret: typing.Collection[str]) -> typing.Iterator[Problem]:
    """Yield the problems of the values of one row."""
    for column, value in row.items():
        kind = types.get(column)
        if kind is not None and value is not None:
            is_of_type = isinstance(value, _KINDS[kind]) and (
                kind == 'boolean' or not isinstance(value, bool))
            if not is_of_type:
                shown = disclosure.row({column: value}, secret)[column]
                yield Problem(place + data_path.pointer([column]),
                              _not_of_type(shown, kind))
                continue
        if value.__class__ is str:
            # Most text is ASCII, in which NUL is found fast.
            if '\0' in value or (not value.isascii()
                                 and _UNSTORABLE.search(value)):
                yield Problem(place + data_path.pointer([column]),
                              _unstorable())
        elif value.__class__ is float:
            if not math.isfinite(value):
                yield Problem(place + data_path.pointer([column]),
                              _('must be a finite number'))
        elif value.__class__ in (dict, list):
            yield from _nested(place + data_path.pointer([column]), value)


def _nested(place: str, value: typing.Any) -> typing.Iterator[Problem]:
    try:
        budget.Budget(budget.Limits(math.inf, math.inf)).measure(value)
    except exceptions.BudgetExceeded as exc:
        yield Problem(place, str(exc))
        return
    for _path, part in data_path.walk(value):
        if isinstance(part, float) and not math.isfinite(part):
            yield Problem(place, _('must be a finite number'))
        texts = [*part] if isinstance(part, dict) else [part]
        if any(isinstance(text, str) and _UNSTORABLE.search(text)
               for text in texts):
            yield Problem(place, _unstorable())


def _key_template(definition: TableDefinition,
                  known: typing.Collection[str] | None) -> KeyTemplate:
    """Compile the key to a template over ``item``, which is a row.

    :param known: the columns; None if nobody knows them.
    :raises: :class:`.exceptions.InvalidTables`
    """
    key = definition.key
    problems: list[Problem] = []
    pieces: list[str | interpolation.Field] = []
    if '{' not in key and '}' not in key:
        pieces.append(interpolation.Field(key, interpolation.ITEM, (key,)))
    for piece in interpolation.parse(key) if not pieces else ():
        if not isinstance(piece, interpolation.Field):
            pieces.append(piece)
        elif piece.root is None:
            problems.append(Problem('/key', _('{%s} is no path over a column')
                                    % suggestion.shown(piece.text)))
        else:
            pieces.append(piece._replace(
                root=interpolation.ITEM, steps=(piece.root, *piece.steps)))
    fields = [piece for piece in pieces
              if isinstance(piece, interpolation.Field)]
    if not fields and not problems:
        problems.append(Problem('/key', _('reads no column')))
    for field in fields:
        column = field.steps[0]
        if column in definition.secret:
            problems.append(Problem('/key', _(
                'reads the secret column "%s"; keys are shown')
                % suggestion.shown(column)))
        elif known is not None and column not in known:
            problems.append(suggestion.unknown_at(
                '/key', _('column'), column, known))
    if problems:
        raise exceptions.InvalidTables(problems)
    try:
        return KeyTemplate(pieces)
    except exceptions.OperationError as exc:
        raise exceptions.InvalidTables([Problem('/key', str(exc))]) from exc


def _machine_templates(definition: TableDefinition
                       ) -> typing.Iterator[Problem]:
    """Yield the problems of the templates over the data of a machine."""
    texts = {'/expect' + data_path.pointer([column]): text
             for column, text in definition.expect.items()}
    if definition.of is not None:
        texts['/of'] = definition.of
    for place, text in texts.items():
        try:
            compiled = template.compile_value(text)
        except exceptions.OperationError as exc:
            yield Problem(place, str(exc))
            continue
        if not isinstance(compiled, rendering.Template):
            yield Problem(place, _('reads nothing of a machine; write a '
                                   'field such as {inventory.cpu.count}'))
        for field in effects.fields(text):
            if field.root in _OF_MACHINE:
                if place != '/of' and disclosure.is_secret(field.steps):
                    yield Problem(place, _(
                        '{%s} is a secret of the machine, which cannot be '
                        'compared') % suggestion.shown(field.text))
                continue
            if field.root is None:
                yield Problem(place, _('{%s} is no path')
                              % suggestion.shown(field.text))
            else:
                yield suggestion.unknown_at(place, _('root'), field.root,
                                            _OF_MACHINE)


def _not_of_type(value: typing.Any, kind: str) -> str:
    return _('must be of type %(kind)s, not %(value)s') % {
        'kind': kind, 'value': suggestion.quoted(value)}


def _unstorable() -> str:
    return _('must not hold the characters NUL and U+D800 to U+DFFF')
