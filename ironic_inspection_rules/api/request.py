# SPDX-License-Identifier: Apache-2.0

"""Validation of what clients send: bodies, parameters, limits."""

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
"""How the path of posted inspection data ends."""

_PIECE = 65536
"""Bytes of a body that are read, checked or parsed at once."""

LARGE = (
    'inspection_rules',
    'inspection_rules/evaluate',
    'inspection_rules/replay',
)
"""The paths below ``/v1`` of calls whose bodies may have large tables."""

_BODY = 'ironic_inspection_rules.body'
"""Where the environment of a request to :data:`LARGE` paths has its body."""

_TOO_DEEP = _('The request is nested too deeply')

NO_OBJECT = _('The request must be a JSON object')


@dec.wsgify.middleware
def guard(request: webob.Request, app: Callable) -> Any:
    """Refuse bodies that are too large, too deep, or not UTF-8.

    Ironic limits only the size and the depth of bodies that claim to be JSON,
    but parses other bodies as JSON, too; its oldest releases limit neither.
    Its framework answers a bare 400 to a body that is not UTF-8.

    A header that claims another encoding, or a form in parts, is refused even
    without a body.

    The body of a call that may post large tables is put aside for
    :func:`body`, which counts its depth, and the application finds an empty
    body. Otherwise Ironic would keep the body until the request is answered,
    and pecan would parse it twice to look for arguments.

    :returns: the application, which goes on with the request.
    :raises: an error of webob for a body that is refused.
    """
    environ = request.environ
    content_type = environ.get('CONTENT_TYPE') or ''
    _check_content_type(content_type)
    if not request.is_body_readable:
        return app
    path_of_url = environ.get('PATH_INFO', '').strip('/')
    is_from_ramdisk = path_of_url.endswith(_FROM_RAMDISKS)
    is_limited_by_ironic = 'json' in content_type and body_limit.IS_OF_IRONIC
    limit = body_limit.of_size(path_of_url)
    # Not by the end of the path, as for ramdisks: a node of Ironic may be
    # named "rack-inspection_rules".
    may_be_large = path_of_url.removeprefix('v1/') in LARGE
    # None if the body has more bytes than the limit.
    sent = _read_within(request, limit.most_bytes, may_be_large)
    if sent is None:
        if is_from_ramdisk and is_limited_by_ironic:
            # Ironic refuses it, and logs the reason for operators of ramdisks.
            return app
        raise _make_refusal(
            webob_exc.HTTPRequestEntityTooLarge, _too_large_message(limit)
        )
    if not _is_utf_8(sent):
        raise _make_refusal(
            webob_exc.HTTPBadRequest, _('The request must be encoded in UTF-8')
        )
    if may_be_large:
        environ[_BODY] = sent
        sent = b''
    elif not is_limited_by_ironic and budget.is_deeper(
        bytes(sent), body_limit.depth()
    ):
        raise _make_refusal(webob_exc.HTTPBadRequest, _TOO_DEEP)
    # A body that came in chunks had no length, and one that was put aside has
    # none any more.
    environ['CONTENT_LENGTH'] = str(len(sent))
    return app


def _check_content_type(content_type: str) -> None:
    """Check that a body claims to be UTF-8, and no form in parts.

    :param content_type: the header of the request, such as ``application/json;
        charset=utf-8``; empty if there is none.
    :raises: HTTPUnsupportedMediaType
    """
    # JSON is always UTF-8 (RFC 8259), so a header need not name a charset.
    charset = webob_request.detect_charset(content_type) or 'utf-8'
    try:
        is_utf_8 = codecs.lookup(charset).name in ('utf-8', 'ascii')
    except LookupError:
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

    The stream of the request is used up by this, and replaced: the
    application finds the same body in the new one, or an empty body if it may
    be large.

    :param most_bytes: maximum number of bytes.
    :param may_be_large: whether the call may post large tables.
    :returns: None if the body has more bytes. If the header says so, the body
        is not read at all.
    """
    length = request.content_length
    if length is not None and length > most_bytes:
        return None
    bytes_to_read = length
    if bytes_to_read is None:
        # The body comes in chunks, without its length in a header. One byte
        # more than is allowed shows that it is too large.
        bytes_to_read = most_bytes + 1
    stream = request.environ['wsgi.input']
    sent: bytes | memoryview
    for_application = b''
    if may_be_large:
        sent = _read_into_own_memory(stream, bytes_to_read)
    else:
        for_application = stream.read(bytes_to_read)
        sent = for_application
    request.environ['wsgi.input'] = io.BytesIO(for_application)
    if len(sent) > most_bytes:
        return None
    return sent


def _read_into_own_memory(stream: Any, bytes_to_read: int) -> memoryview:
    """Read a large body into memory that is mapped for it alone.

    The system gets this memory back when the body is dropped. Large blocks of
    the heap would leave memory in the process, see :mod:`.json_pieces`.

    :param bytes_to_read: the number of bytes after which reading stops.
    """
    # Memory cannot be mapped for zero bytes.
    mapped = mmap.mmap(
        -1, max(bytes_to_read, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    )
    while mapped.tell() < bytes_to_read:
        piece = stream.read(min(bytes_to_read - mapped.tell(), _PIECE))
        if not piece:
            break
        mapped.write(piece)
    return memoryview(mapped)[: mapped.tell()]


def _is_utf_8(sent: bytes | memoryview) -> bool:
    """Return whether bytes are text in UTF-8.

    They are decoded piece by piece: the whole text would take up to four times
    the memory of the bytes.
    """
    decoder = codecs.getincrementaldecoder('utf-8')()
    try:
        for start in range(0, len(sent), _PIECE):
            decoder.decode(sent[start : start + _PIECE])
        # Fails if the last piece has ended within a character.
        decoder.decode(b'', final=True)
    except UnicodeDecodeError:
        return False
    return True


def _too_large_message(limit: body_limit.SizeLimit) -> str:
    """Return the message to a client whose body is too large.

    It names the option of Ironic that is the limit, if there is one.
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
    """Return the body of an answer that refuses a request, in Ironic's form.

    For example, ``{'faultcode': 'Client', 'faultstring': 'bad rule',
    'debuginfo': None, 'problems': [{'pointer': '/rules/0', …}]}``.

    :param reason: the whole message, with all problems in it.
    :param problems: the same problems one by one, for clients that show them
        in their own way. Without any, the answer has no such member.
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
    """Return the fields of a problem for an answer, without those not set."""
    fields = dataclasses.asdict(problem)
    return {name: value for name, value in fields.items() if value is not None}


def body() -> Any:
    """Parse the body of the request.

    The policies are checked before, as a large body takes time to parse.
    :func:`guard` and Ironic have checked its size and its charset. They have
    not checked the depth of a body that :func:`guard` has put aside.

    :returns: the document, None if there is no body.
    :raises: Invalid if the body is no JSON, or is nested too deeply.
    :raises: InvalidBody if an object has a member twice, with its place.
    :raises: ClientSideError (415) if the body does not claim to be JSON.
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

    Python accepts NaN and infinity, which are no JSON (RFC 8259 "Numbers"):
    they could be stored, but not answered. Of two members with the same name,
    Python drops the first, and a rule would lose an action without a word.

    A call that Ironic has as well must take what Ironic takes, whatever
    content type the body claims to be, so such a call is lenient.

    :param lenient: whether an object may have a member twice.
    :returns: the document, None for an empty body.
    :raises: Invalid, with the place of a number that JSON does not have;
        InvalidBody with the place of a member that is there twice. The place
        is ``/`` if a later member of the same name has replaced it.
    """
    reader = _Reader(lenient)
    try:
        # A byte order mark may be ignored (RFC 8259).
        text = sent.decode('utf-8-sig')
        document = None
        if text:
            document = reader.decoder.decode(text)
    except (ValueError, RecursionError) as exc:
        raise exceptions.Invalid(
            _('The request is not valid JSON: %s') % exc
        ) from exc
    if reader.unusual:
        place = _place_of_unusual_number(document)
        raise exceptions.Invalid(
            _(
                'The request is not valid JSON: %(place)s: %(text)s is no '
                'JSON number'
            )
            % {
                'place': exceptions.shortened(place) or '/',
                'text': exceptions.shortened(reader.unusual[0]),
            }
        )
    if reader.doubled:
        raise exceptions.InvalidBody(
            [_problem_of_double_member(document, *reader.doubled[0])]
        )
    return document


def _parse_large(sent: memoryview) -> Any:
    """Parse a body that :func:`guard` has put aside, as it may be large.

    Its depth is counted here, not by :func:`guard`: for the largest bodies,
    that takes a second, so the policy must allow the caller first.

    :raises: as :func:`parse`, and Invalid if it is nested too deeply.
    """
    if len(sent) > _PIECE:
        # Pieces take less memory than the text of the whole body. They do not
        # show what is wrong with a body, and where: so a body that is refused
        # in pieces is parsed again as a whole.
        with contextlib.suppress(ValueError, RecursionError):
            return _parse_pieces(sent)
    if budget.is_deeper(bytes(sent), body_limit.depth()):
        raise exceptions.Invalid(_TOO_DEEP)
    return parse(bytes(sent))


def _parse_pieces(sent: memoryview) -> Any:
    """Parse a body piece by piece, which takes less memory.

    :raises: Invalid if it is nested too deeply; ValueError or RecursionError
        for any other document that is refused.
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
    if reader.unusual or reader.doubled:
        raise ValueError('a number that is not finite, or a member twice')
    return document


class _Reader:
    """Decodes JSON, and notes values that the API refuses, unlike Python.

    ``unusual`` has NaN, infinity, and numbers that are too large for a float;
    ``doubled`` has objects with a member that is there twice, and its name.
    Its ``decoder`` decodes a document.

    :param lenient: whether an object may have a member twice, as in what
        Ironic would take; then ``doubled`` stays empty.
    """

    def __init__(self, lenient: bool = False) -> None:
        self.unusual: list[str] = []
        self.doubled: list[tuple[dict[str, Any], str]] = []
        self._equal_texts = text_cache.EqualTexts()
        hook = None
        if not lenient:
            hook = self.read_object
        self.decoder = json.JSONDecoder(
            object_pairs_hook=hook,
            parse_float=self.read_float,
            parse_constant=self.read_float,
            parse_int=_read_integer,
        )

    def read_float(self, text: str) -> float:
        """Read a number with a fraction, or NaN; note it if not finite."""
        number = float(text)
        if not math.isfinite(number):
            self.unusual.append(text)
        return number

    def read_object(self, members: list[tuple[str, Any]]) -> dict[str, Any]:
        """Build the dict of a JSON object, for the decoder.

        An object with a double name is noted in ``doubled``. Equal texts in
        the document become the same string, which saves memory, as the rows
        of a large table repeat the names of columns and many values.

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
            self.doubled.append((decoded, double_names[0]))
        return decoded


def _read_integer(text: str) -> int:
    try:
        return int(text)
    except ValueError as exc:
        # The digits that Python converts are limited.
        raise ValueError(
            _('a number of %d characters has too many digits') % len(text)
        ) from exc


def _problem_of_double_member(
    document: Any, doubled: dict[str, Any], name: str
) -> exceptions.Problem:
    """Return the problem of an object that has a member twice.

    :param document: the whole body, with one of the two members.
    :param doubled: the object. If it was inside of another double member, it
        may be lost from the document, and the problem has an empty pointer.
    :param name: the name of the member.
    """
    pointer = ''
    for parts, value in path.walk(document):
        # By identity, as another object of the document may be equal to it.
        if value is doubled:
            pointer = path.pointer([*parts, name])
            break
    return exceptions.Problem(
        pointer,
        _('key "%(name)s" is there twice (%(place)s)')
        % {
            'name': suggestion.shown(name),
            'place': exceptions.shortened(pointer) or '/',
        },
    )


def _place_of_unusual_number(document: Any) -> str:
    """Return the place of the first number that is not finite.

    :returns: a JSON pointer; empty if the document has lost the number to a
        later member of the same name.
    """
    for parts, value in path.walk(document):
        if isinstance(value, float) and not math.isfinite(value):
            return path.pointer(parts)
    return ''


def _is_integer(_checker: Any, value: Any) -> bool:
    # For jsonschema, 1.0 is an integer, too, but 1.0 is no number of rows. Nor
    # is True one, although it is an int of Python.
    return type(value) is int


_Validator = jsonschema.validators.extend(
    jsonschema.Draft7Validator,
    type_checker=jsonschema.Draft7Validator.TYPE_CHECKER.redefine(
        'integer', _is_integer
    ),
)


def validate(document: Any, schema: Mapping[str, Any]) -> Any:
    """Check a body by a JSON Schema, and fill in missing members.

    Objects inside of the body are not filled in.

    :returns: the document; an object has all members of the schema, with None
        for missing members.
    :raises: Invalid with the first problems, each with its place.
    """
    errors = _Validator(schema).iter_errors(document)
    # Only the first, as a large document could have very many.
    problems = []
    for error in itertools.islice(errors, exceptions.MOST_PROBLEMS):
        pointer = path.pointer(error.absolute_path)
        problems.append(exceptions.Problem(pointer, _describe_error(error)))
    if problems:
        raise exceptions.InvalidBody(problems)
    if 'properties' not in schema:
        # The body is checked elsewhere, and stays as it is.
        return document
    all_members_absent = dict.fromkeys(schema['properties'])
    return {**all_members_absent, **document}


_NAMES_OF_TYPES = {'array': 'list'}
"""Types of JSON Schema by the words of messages."""


def _describe_error(error: jsonschema.ValidationError) -> str:
    """Return our own message for an error of JSON Schema.

    For example, ``"limit" must be of the type integer``. For an error of
    another keyword, it is ``"limit" must be`` and the description that the
    schema has for the member.
    """
    # Of a member inside of others, such as "nodes/owner"; empty for the whole
    # request.
    name = '/'.join(map(str, error.absolute_path))
    if error.validator == 'additionalProperties':
        return suggestion.all_unknown(
            _('member of the request'),
            error.instance,
            error.schema['properties'],
        )
    if error.validator == 'type' and not name:
        return NO_OBJECT
    if error.validator == 'type':
        # Null stands for a member that is not given, so it is not named.
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
        # None stands for a member that is not given.
        values = [
            value for value in error.validator_value if value is not None
        ]
        return f'"{name}" {suggestion.not_one_of(error.instance, values)}'
    return _('"%(name)s" must be %(what)s') % {
        'name': name,
        'what': error.schema['description'],
    }


Converter = Callable[[str, str], Any]
"""Converts the text of a query parameter, after the name of the parameter."""


def query(parameters: Mapping[str, Converter]) -> dict[str, Any]:
    """Read and convert the query parameters of the request's URL.

    :param parameters: converters by the names that a request may have.
    :returns: the converted values by all these names, None for a parameter
        that is not given.
    :raises: Invalid for unknown or double parameters; the error of the
        converter if a single parameter is wrong; InvalidQuery with the
        problems of several.
    """
    # A text for each parameter, or a list of texts if it is given several
    # times: {'limit': '10', 'scope': ['a', 'b']}.
    sent = api.request.GET.mixed()
    refusals: list[Exception] = []
    unknown = suggestion.all_unknown(_('query parameter'), sent, parameters)
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
        try:
            values[name] = convert(name, text)
        except (exceptions.Invalid, ironic_exception.IronicException) as exc:
            refusals.append(exc)
    if len(refusals) == 1:
        raise refusals[0]
    if refusals:
        raise exceptions.InvalidQuery(refusals)
    return values


def integer(name: str, value: str) -> int:
    """Convert a parameter to a whole number.

    Ironic's own converter accepts whatever Python does, such as ``1_0``.
    """
    try:
        return int(arguments.read_number(value, int))
    except ValueError as exc:
        raise exceptions.Invalid(
            _('Expected an integer for %(name)s: %(value)s')
            % {'name': name, 'value': value}
        ) from exc


def one_of(known: Sequence[str]) -> Converter:
    """Return the converter of a parameter that must be a known word."""

    def convert(name: str, value: str) -> str:
        if value not in known:
            raise exceptions.Invalid(
                f'"{name}" {suggestion.not_one_of(value, known)}'
            )
        return value

    return convert


def fields(known: Sequence[str]) -> Converter:
    """Return the converter of the parameter ``fields``, a list of names.

    It makes ``['uuid', 'scope']`` of ``uuid,links,scope``, and refuses unknown
    names. ``links`` are left out: answers with links always have them.

    :param known: the names of fields, ``links`` among them if the answers have
        links.
    """

    def convert(name: str, value: str) -> list[str]:
        wanted = args.string_list(name, value)
        unknown = suggestion.all_unknown(_('field'), wanted, known)
        if unknown:
            raise exceptions.Invalid(unknown)
        return [field for field in wanted if field != 'links']

    return convert


SORT_DIR = one_of(('asc', 'desc'))
"""Converter of the order of a list."""


def uuid_of(kind: str) -> Converter:
    """Return the converter of a UUID into its stored form.

    :param kind: the owner of the UUID for the message, such as ``a rule``.
    """

    def convert(_name: str, value: str) -> str:
        if not uuidutils.is_uuid_like(value):
            raise exceptions.Invalid(
                _(
                    'Expected the UUID of %(kind)s, got "%(value)s"; a list '
                    'of them has it'
                )
                % {'kind': kind, 'value': suggestion.shown(value)}
            )
        return str(uuid.UUID(value))

    return convert


def marker(name: str, value: str) -> str:
    """Convert the marker of a list into the stored form of UUIDs."""
    return str(uuid.UUID(args.uuid(name, value)))


RULE_UUID = uuid_of(_('a rule'))


def rule_uuid(text: str) -> str:
    """Convert the UUID of a rule into its stored form.

    :raises: Invalid if it is no UUID.
    """
    return RULE_UUID('uuid', text)
