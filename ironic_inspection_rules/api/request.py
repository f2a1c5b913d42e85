# SPDX-License-Identifier: Apache-2.0

"""Validation of what clients send: bodies, parameters, limits.

The *body* of a request is checked twice. :func:`check_body`, a WSGI layer
outside Ironic, checks its size and encoding. Later, when the policies have
been checked, :func:`parse_body` parses it and :func:`validate` compares it
with a schema. A body that may contain large tables is *put aside* by the
guard: Ironic does not get it, but only :func:`parse_body`.

The *query* is the parameters of the URL. A *converter* is a function that
checks and converts the text of one parameter.
"""

import codecs
import collections
from collections.abc import Callable, Iterable, Mapping, Sequence
import contextlib
import dataclasses
from http import client as http_client
import io
import itertools
import json
import math
import mmap
import sys
from typing import Any
import uuid

from ironic import api
from ironic.common import args
from ironic.common import exception as ironic_exception
import jsonschema
from oslo_utils import uuidutils
import webob
from webob import dec
from webob import exc as webob_exc
from webob import request as webob_request

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import json_pieces
from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import body_limit

_FROM_RAMDISKS = 'continue_inspection'
"""The end of the path to which a ramdisk posts inspection data."""

_PIECE = 65536
"""Number of bytes of a body that are read, checked or parsed at a time."""

LARGE = (
    'inspection_rules',
    'inspection_rules/evaluate',
    'inspection_rules/replay',
)
"""Paths below ``/v1`` of calls whose bodies may contain large tables."""

_BODY = 'ironic_inspection_rules.body'
"""Key in the WSGI environment for the body of a request to :data:`LARGE`."""

_TOO_DEEP = _('The request is nested too deeply')

NO_OBJECT = _('The request must be a JSON object')


@dec.wsgify.middleware
def check_body(request: webob.Request, app: Callable) -> Any:
    """Refuse bodies that are too large, too deep, or not UTF-8.

    This is needed because Ironic limits only bodies that claim to be JSON, but
    parses other bodies as JSON, too. Its oldest releases limit no bodies.

    * A content type with another encoding than UTF-8, or with a multipart
      form, is refused even if there is no body.
    * A body that is larger than the limit is refused.
    * A body that is not UTF-8 is refused, with a better message than Ironic's.
    * The body of a call that may post large tables is put aside for
      :func:`parse_body`, which checks its depth, and the application gets an
      empty body. Otherwise Ironic would keep the body until the request is
      answered, and pecan would parse it twice to look for arguments.
    * Any other body is refused if it is nested too deeply, unless Ironic
      checks this.

    :returns: the application, which continues with the request.
    :raises: an error of webob if the body is refused.
    """
    environ = request.environ
    content_type = environ.get('CONTENT_TYPE') or ''
    _check_content_type(content_type)
    if not request.is_body_readable:
        return app
    path_of_url = environ.get('PATH_INFO', '').strip('/')
    is_from_ramdisk = path_of_url.endswith(_FROM_RAMDISKS)
    is_limited_by_ironic = 'json' in content_type and body_limit.IS_OF_IRONIC
    limit = body_limit.find_size_limit(path_of_url)
    # Compare the whole path, unlike the path for ramdisks above: a node may be
    # named "rack-inspection_rules".
    may_be_large = path_of_url.removeprefix('v1/') in LARGE
    # None if the body is larger than the limit.
    sent = _read_within(request, limit.most_bytes, may_be_large)
    if sent is None:
        if is_from_ramdisk and is_limited_by_ironic:
            # Ironic refuses the body, and logs the reason for operators.
            return app
        raise _make_refusal(
            webob_exc.HTTPRequestEntityTooLarge, _too_large_message(limit)
        )
    if not _is_utf_8(sent):
        raise _make_refusal(
            webob_exc.HTTPBadRequest, _('The request must be encoded in UTF-8')
        )
    if may_be_large:
        # Put the body aside; the application gets an empty one.
        environ[_BODY] = sent
        environ['CONTENT_LENGTH'] = '0'
        return app
    if not is_limited_by_ironic:
        if not budget.is_within_depth(bytes(sent), body_limit.depth()):
            raise _make_refusal(webob_exc.HTTPBadRequest, _TOO_DEEP)
    # The application reads so many bytes. A body that came in chunks had no
    # length before.
    environ['CONTENT_LENGTH'] = str(len(sent))
    return app


def _check_content_type(content_type: str) -> None:
    """Refuse a content type with another charset than UTF-8, or multipart.

    :param content_type: the header of the request, e.g. ``application/json;
        charset=utf-8``; empty if there is none.
    :raises: HTTPUnsupportedMediaType if the content type is refused.
    """
    # JSON is always UTF-8 (RFC 8259), so the header need not name a charset.
    charset = webob_request.detect_charset(content_type) or 'utf-8'
    try:
        # Any text in ASCII is valid UTF-8.
        is_utf_8 = codecs.lookup(charset).name in ('utf-8', 'ascii')
    except LookupError:
        # There is no such charset.
        is_utf_8 = False
    if not is_utf_8:
        raise _make_refusal(
            webob_exc.HTTPUnsupportedMediaType,
            _('The request must be encoded in UTF-8'),
        )
    if content_type.strip().lower().startswith('multipart/'):
        raise _make_refusal(
            webob_exc.HTTPUnsupportedMediaType, _('The request must be JSON')
        )


def _read_within(
    request: webob.Request, most_bytes: int, may_be_large: bool
) -> bytes | memoryview | None:
    """Read the body of a request, unless it is too large.

    This consumes the input stream of the request and replaces it with a new
    stream for the application. It has the same body, or an empty body if
    ``may_be_large`` is true.

    :param most_bytes: maximum number of bytes.
    :param may_be_large: whether the call may post large tables.
    :returns: the body; None if it is too large. If its length in the header is
        too large, the body is not read at all.
    """
    length = request.content_length
    if length is not None and length > most_bytes:
        return None
    bytes_to_read = length
    if bytes_to_read is None:
        # The body comes in chunks, without its length in a header. Reading one
        # byte more than allowed shows whether it is too large.
        bytes_to_read = most_bytes + 1
    stream = request.environ['wsgi.input']
    sent: bytes | memoryview
    if may_be_large:
        sent = _read_into_own_memory(stream, bytes_to_read)
        request.environ['wsgi.input'] = io.BytesIO()
    else:
        sent = stream.read(bytes_to_read)
        request.environ['wsgi.input'] = io.BytesIO(sent)
    if len(sent) > most_bytes:
        return None
    return sent


def _read_into_own_memory(stream: Any, bytes_to_read: int) -> memoryview:
    """Read a large body into memory that belongs only to this body.

    The operating system gets this memory back when the body is dropped. Memory
    of the heap could stay in the process, see :mod:`.json_pieces`.

    :param stream: the input stream of the request.
    :param bytes_to_read: maximum number of bytes to read.
    """
    # Memory cannot be mapped for zero bytes.
    mapped = mmap.mmap(
        -1, max(bytes_to_read, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    )
    # tell() is the number of bytes that were written so far.
    while mapped.tell() < bytes_to_read:
        piece = stream.read(min(bytes_to_read - mapped.tell(), _PIECE))
        if not piece:
            break
        mapped.write(piece)
    return memoryview(mapped)[: mapped.tell()]


def _is_utf_8(sent: bytes | memoryview) -> bool:
    """Return whether bytes are valid UTF-8.

    The bytes are decoded in pieces, because the whole text would take up to
    four times their memory.
    """
    decoder = codecs.getincrementaldecoder('utf-8')()
    try:
        for start in range(0, len(sent), _PIECE):
            decoder.decode(sent[start : start + _PIECE])
        # This fails if the last piece ends in the middle of a character.
        decoder.decode(b'', final=True)
    except UnicodeDecodeError:
        return False
    return True


def _too_large_message(limit: body_limit.SizeLimit) -> str:
    """Return the message for a client whose body is too large.

    If the limit is an option of Ironic, the message names the option.
    """
    if limit.option is None:
        return (
            _('The request must not have more than %d bytes')
            % limit.most_bytes
        )
    return _(
        'The request must not have more than %(limit)d bytes; the limit '
        "is the option %(option)s of Ironic's API"
    ) % {'limit': limit.most_bytes, 'option': limit.option}


def _make_refusal(
    kind: type[webob_exc.HTTPError], reason: str
) -> webob_exc.HTTPError:
    return kind(json_body=fault(reason))


def fault(
    reason: str, problems: Iterable[exceptions.Problem] = ()
) -> dict[str, Any]:
    """Return the body of an error response, in Ironic's form.

    For example, ``{'faultcode': 'Client', 'faultstring': 'bad rule',
    'debuginfo': None, 'problems': [{'pointer': '/rules/0', …}]}``.

    :param reason: the whole message, including all problems.
    :param problems: the same problems as separate items, for clients that
        show them in their own way. The member is left out if there are none.
    """
    error: dict[str, Any] = {
        'faultcode': 'Client',
        'faultstring': reason,
        'debuginfo': None,
    }
    if problems:
        error['problems'] = list(map(_represent_problem, problems))
    return error


def _represent_problem(problem: exceptions.Problem) -> dict[str, Any]:
    """Return the fields of a problem that are set, for an answer."""
    fields = dataclasses.asdict(problem)
    return {name: value for name, value in fields.items() if value is not None}


def parse_body() -> Any:
    """Parse the body of the request.

    Callers check the policies first, because parsing a large body takes time.
    :func:`check_body` and Ironic have checked the size and the charset of the
    body, but not the depth of a body that :func:`check_body` has put aside.

    :returns: the document; None if there is no body.
    :raises: Invalid if the body is not valid JSON, or is nested too deeply.
    :raises: InvalidBody, with the place, if an object has a member twice.
    :raises: ClientSideError (415) if the content type is not JSON.
    """
    if not api.request.content_type.endswith('json'):
        raise ironic_exception.ClientSideError(
            _('The request must have the content type application/json'),
            status_code=http_client.UNSUPPORTED_MEDIA_TYPE,
        )
    put_aside = api.request.environ.pop(_BODY, None)
    if put_aside is None:
        return parse(api.request.body)
    return _parse_large(put_aside)


def parse(sent: bytes, lenient: bool = False) -> Any:
    """Parse a body as JSON in one piece, more strictly than Python does.

    * NaN and Infinity, which are not valid JSON (RFC 8259 "Numbers"), are
      refused. Python's parser accepts them: they could be stored, but not sent
      in an answer.
    * An object with a member twice is refused. Python's parser drops the first
      one, so a rule could silently lose an action.

    :param sent: the body, in UTF-8.
    :param lenient: whether an object may have a member twice. A call that
        Ironic has as well must accept what Ironic accepts.
    :returns: the document; None for an empty body.
    :raises: Invalid if the body is not valid JSON; for NaN and Infinity, with
        their place.
    :raises: InvalidBody with the place of a member that is there twice. The
        place is ``/`` if a later member of the same name has replaced it.
    """
    reader = _Reader(lenient)
    try:
        # A byte order mark may be ignored (RFC 8259).
        text = sent.decode('utf-8-sig')
        document = None
        if text:
            document = reader.decoder.decode(text)
    except (json.JSONDecodeError, UnicodeError, RecursionError) as exc:
        raise exceptions.Invalid(
            _('The request is not valid JSON: %s') % exc
        ) from exc
    except ValueError as exc:
        # Python limits the number of digits of an integer. Its own message
        # advises to call a function of Python.
        raise exceptions.Invalid(
            _(
                'The request is not valid JSON: a number has more than %d '
                'digits'
            )
            % sys.get_int_max_str_digits()
        ) from exc
    # The reader has collected what Python's parser accepts but the API
    # refuses. Only the first of each is reported.
    if reader.non_finite_numbers:
        raise _not_finite_error(document, reader.non_finite_numbers[0])
    if reader.double_members:
        owner, name = reader.double_members[0]
        raise exceptions.InvalidBody(
            [_problem_of_double_member(document, owner, name)]
        )
    return document


def _not_finite_error(document: Any, text: str) -> exceptions.Invalid:
    """Return the error for a number that JSON does not have, with its place.

    :param document: the whole parsed body.
    :param text: the number as it was posted, e.g. ``NaN``.
    """
    place = _place_of_non_finite_number(document)
    return exceptions.Invalid(
        _(
            'The request is not valid JSON: %(place)s: %(text)s is no '
            'JSON number'
        )
        % {
            'place': exceptions.shorten(place) or '/',
            'text': exceptions.shorten(text),
        }
    )


def _parse_large(sent: memoryview) -> Any:
    """Parse a large body that :func:`check_body` has put aside.

    The depth is checked here and not in :func:`check_body`, because this takes
    a second for the largest bodies: a caller whom the policy does not allow
    must not cause this work.

    :raises: the same errors as :func:`parse`, and Invalid if the body is
        nested too deeply.
    """
    if len(sent) > _PIECE:
        # Parsing in pieces takes less memory, but its errors do not say what
        # is wrong and where. After such an error, parse the body again as a
        # whole, to get a better error.
        with contextlib.suppress(ValueError, RecursionError):
            return _parse_pieces(sent)
    if not budget.is_within_depth(bytes(sent), body_limit.depth()):
        raise exceptions.Invalid(_TOO_DEEP)
    return parse(bytes(sent))


def _parse_pieces(sent: memoryview) -> Any:
    """Parse a body in pieces, which takes less memory.

    :raises: Invalid if the body is nested too deeply; ValueError or
        RecursionError for any other document that is refused.
    """
    pieces = (
        bytes(sent[start : start + _PIECE])
        for start in range(0, len(sent), _PIECE)
    )
    reader = _Reader()
    parser = json_pieces.Parser(pieces, body_limit.depth(), reader.decoder)
    try:
        document = parser.parse()
    except json_pieces.TooDeep as exc:
        raise exceptions.Invalid(_TOO_DEEP) from exc
    if reader.non_finite_numbers or reader.double_members:
        raise ValueError('a number that is not finite, or a member twice')
    return document


class _Reader:
    """Decodes JSON, and records values that only the API refuses.

    A document is decoded with ``decoder``. While it is decoded, the decoder
    calls methods of this class, which fill two lists:

    ``non_finite_numbers``
        The texts of NaN, infinity, and numbers that are too large for a float.
    ``double_members``
        Pairs of an object that has a member twice, and the name of the member.

    :param lenient: whether an object may have a member twice, as Ironic
        allows; then ``double_members`` stays empty.
    """

    def __init__(self, lenient: bool = False) -> None:
        self.non_finite_numbers: list[str] = []
        self.double_members: list[tuple[dict[str, Any], str]] = []
        self._equal_texts = text_cache.TextInterner()
        # The function that builds the dict of an object; None for Python's.
        build_object = None
        if not lenient:
            build_object = self.read_object
        self.decoder = json.JSONDecoder(
            object_pairs_hook=build_object,
            parse_float=self.read_float,
            parse_constant=self.read_float,
        )

    def read_float(self, text: str) -> float:
        """Read a float, NaN or infinity; record it if it is not finite."""
        number = float(text)
        if not math.isfinite(number):
            self.non_finite_numbers.append(text)
        return number

    def read_object(self, members: list[tuple[str, Any]]) -> dict[str, Any]:
        """Build the dict of a JSON object; called by the decoder.

        An object that has a member twice is recorded in ``double_members``.
        Equal texts in the document share one string to save memory, because
        the rows of a large table repeat the names of columns and many values.

        :param members: names and values, in the order of the document.
        """
        decoded = self._equal_texts.build_mapping(members)
        has_double_name = len(decoded) < len(members)
        if has_double_name:
            counts = collections.Counter(name for name, _value in members)
            double_names = [
                name for name, count in counts.items() if count > 1
            ]
            # Only the first double name is reported.
            self.double_members.append((decoded, double_names[0]))
        return decoded


def _problem_of_double_member(
    document: Any, owner: dict[str, Any], name: str
) -> exceptions.Problem:
    """Return the problem of an object that has a member twice.

    :param document: the whole parsed body.
    :param owner: the object, which has only the last of the two members. If it
        was inside another double member, it may be missing from the document;
        the problem then has an empty pointer.
    :param name: the name of the member.
    """
    pointer = ''
    for parts, value in path.walk(document):
        # Compare by identity, because other objects may be equal to it.
        if value is owner:
            pointer = path.pointer([*parts, name])
            break
    return exceptions.Problem(
        pointer,
        _('key "%(name)s" is there twice (%(place)s)')
        % {
            'name': suggestion.shorten(name),
            'place': exceptions.shorten(pointer) or '/',
        },
    )


def _place_of_non_finite_number(document: Any) -> str:
    """Return the place of the first number that is not finite.

    :returns: a JSON pointer; empty if the document has lost the number to a
        later member of the same name.
    """
    for parts, value in path.walk(document):
        if isinstance(value, float) and not math.isfinite(value):
            return path.pointer(parts)
    return ''


def _is_integer(_checker: Any, value: Any) -> bool:
    # jsonschema accepts 1.0 as an integer, but 1.0 is not a number of rows.
    # True is not a number either, although bool is a subclass of int.
    return type(value) is int


_Validator = jsonschema.validators.extend(
    jsonschema.Draft7Validator,
    type_checker=jsonschema.Draft7Validator.TYPE_CHECKER.redefine(
        'integer', _is_integer
    ),
)


def validate(document: Any, schema: Mapping[str, Any]) -> Any:
    """Check a body against a JSON Schema, and fill in missing members.

    For example, if the schema has the members ``rules`` and ``tables``, the
    body ``{'rules': []}`` is returned as ``{'rules': [], 'tables': None}``.
    Members of objects inside the body are not filled in.

    :param document: the parsed body, of any type.
    :raises: InvalidBody with the first problems and their places.
    """
    errors = _Validator(schema).iter_errors(document)
    # Report only the first errors, because a document could have very many.
    problems = []
    for error in itertools.islice(errors, exceptions.MOST_PROBLEMS):
        pointer = path.pointer(error.absolute_path)
        problems.append(exceptions.Problem(pointer, _describe_error(error)))
    if problems:
        raise exceptions.InvalidBody(problems)
    if 'properties' not in schema:
        # The body is checked elsewhere, and is returned unchanged.
        return document
    all_members_absent = dict.fromkeys(schema['properties'])
    return {**all_members_absent, **document}


_NAMES_OF_TYPES = {'array': 'list'}
"""Words for types of JSON Schema in messages."""


def _describe_error(error: jsonschema.ValidationError) -> str:
    """Return a message of this project for an error of JSON Schema.

    For example, ``"limit" must be of the type integer``. There are messages
    for unknown and missing members, wrong types and unknown words. For any
    other error, e.g. of a maximum, the message is ``"limit" must be`` and the
    description of the member in the schema.
    """
    # The path of the member, e.g. "nodes/owner"; empty for the whole request.
    name = '/'.join(map(str, error.absolute_path))
    if error.validator == 'additionalProperties':
        return suggestion.all_unknown_message(
            _('member of the request'),
            error.instance,
            error.schema['properties'],
        )
    if error.validator == 'type' and not name:
        return NO_OBJECT
    if error.validator == 'type':
        # Null stands for a missing member, so the message leaves it out.
        types = [
            _NAMES_OF_TYPES.get(kind, kind)
            for kind in error.validator_value
            if kind != 'null'
        ]
        return _('"%(name)s" must be of the type %(type)s') % {
            'name': name,
            'type': ' or '.join(types),
        }
    if error.validator == 'required':
        missing = [
            member
            for member in error.validator_value
            if member not in error.instance
        ]
        return _('"%s" is needed') % '", "'.join(missing)
    if error.validator == 'enum':
        # None stands for a missing member, so the message leaves it out.
        values = [
            value for value in error.validator_value if value is not None
        ]
        return f'"{name}" {suggestion.choice_message(error.instance, values)}'
    return _('"%(name)s" must be %(what)s') % {
        'name': name,
        'what': error.schema['description'],
    }


Converter = Callable[[str, str], Any]
"""Converts a query parameter; called with its name and its text."""


def parse_query(parameters: Mapping[str, Converter]) -> dict[str, Any]:
    """Read and convert the query parameters of the request's URL.

    :param parameters: the converters of all allowed parameters, by name.
    :returns: the converted values by name; None for a parameter that is not
        given.
    :raises: Invalid for unknown or repeated parameters; the error of the
        converter if one parameter is wrong; InvalidQuery with all problems if
        several are wrong.
    """
    # The values are texts, or lists of texts for parameters that are given
    # several times: {'limit': '10', 'scope': ['a', 'b']}.
    sent = api.request.GET.mixed()
    # All errors are collected, so that the client gets them at once.
    refusals: list[Exception] = []
    unknown = suggestion.all_unknown_message(
        _('query parameter'), sent, parameters
    )
    if unknown:
        refusals.append(exceptions.Invalid(unknown))
    values: dict[str, Any] = {}
    for name, convert in parameters.items():
        values[name] = None
        if name not in sent:
            continue
        text = sent[name]
        if not isinstance(text, str):
            refusals.append(
                exceptions.Invalid(
                    _('Query parameter %s was given several times') % name
                )
            )
            continue
        if '\0' in text:
            # PostgreSQL refuses this character in a query.
            refusals.append(
                exceptions.Invalid(
                    _('Query parameter %s must not have the character NUL')
                    % name
                )
            )
            continue
        try:
            values[name] = convert(name, text)
        except (exceptions.Invalid, ironic_exception.IronicException) as exc:
            refusals.append(exc)
    if len(refusals) == 1:
        raise refusals[0]
    if refusals:
        raise exceptions.InvalidQuery(refusals)
    return values


def convert_integer(name: str, value: str) -> int:
    """Convert a query parameter to an integer.

    Ironic's own converter accepts every text that Python's int() accepts, e.g.
    ``1_0``.
    """
    try:
        return int(arguments.read_number(value, int))
    except ValueError as exc:
        raise exceptions.Invalid(
            _('Expected an integer for %(name)s: %(value)s')
            % {'name': name, 'value': value}
        ) from exc


def make_word_converter(known: Sequence[str]) -> Converter:
    """Return a converter that accepts only known words."""

    def convert(name: str, value: str) -> str:
        if value not in known:
            raise exceptions.Invalid(
                f'"{name}" {suggestion.choice_message(value, known)}'
            )
        return value

    return convert


def make_fields_converter(known: Sequence[str]) -> Converter:
    """Return the converter of the parameter ``fields``, a list of names.

    It converts ``uuid,links,scope`` to ``['uuid', 'scope']``, and refuses
    unknown names. ``links`` is dropped, because answers with links always have
    them.

    :param known: the allowed names; include ``links`` if the answers have
        links.
    """

    def convert(name: str, value: str) -> list[str]:
        wanted = args.string_list(name, value)
        unknown = suggestion.all_unknown_message(_('field'), wanted, known)
        if unknown:
            raise exceptions.Invalid(unknown)
        return [field for field in wanted if field != 'links']

    return convert


SORT_DIR = make_word_converter(('asc', 'desc'))
"""Converter of the sort direction of a list."""


def make_uuid_converter(kind: str) -> Converter:
    """Return a converter that changes a UUID to its stored form.

    :param kind: the owner of the UUID for the message, e.g. ``a rule``.
    """

    def convert(_name: str, value: str) -> str:
        if not uuidutils.is_uuid_like(value):
            raise exceptions.Invalid(
                _(
                    'Expected the UUID of %(kind)s, got "%(value)s"; a list '
                    'of them has it'
                )
                % {'kind': kind, 'value': suggestion.shorten(value)}
            )
        return str(uuid.UUID(value))

    return convert


def convert_marker(name: str, value: str) -> str:
    """Convert the marker of a list, a UUID, to its stored form."""
    return str(uuid.UUID(args.uuid(name, value)))


RULE_UUID = make_uuid_converter(_('a rule'))


def convert_rule_uuid(text: str) -> str:
    """Convert the UUID of a rule to its stored form.

    :raises: Invalid if the text is not a UUID.
    """
    return RULE_UUID('uuid', text)
