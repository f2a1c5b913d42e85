# SPDX-License-Identifier: Apache-2.0

"""Reading requests."""

import json

import fixtures
import hypothesis
from hypothesis import strategies as st
from ironic.common import exception as ironic_exception
import webob

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.patches import body_limit
from ironic_inspection_rules.tests.unit import base

DEEP = b'[' * 26 + b']' * 26
UNTOLD = {'CONTENT_LENGTH': '', 'wsgi.input_terminated': True}
OTHER_TYPES = ('text/plain', 'application/x-www-form-urlencoded', '')
DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


class BodyTestCase(base.TestCase):
    def read(self, body, content_type='application/json'):
        posted = webob.Request.blank('/', method='POST', body=body)
        posted.content_type = content_type
        with fixtures.MonkeyPatch('ironic.api.request', posted):
            return request.parse_body()

    def test_a_member_that_is_there_twice_is_refused(self):
        for text, pointer in (
            (b'{"a": 1, "a": 1}', '/a'),
            (
                b'{"a": [{"b": {}}, {"b/c": {"b": 1, "d": 2, "b": 3}}]}',
                '/a/1/b~1c/b',
            ),
            (b'{"a": {}, "b": {"c": 0, "c": 1}}', '/b/c'),
            # The object itself is lost.
            (b'{"a": {"b": 0, "b": 1}, "a": 1}', ''),
        ):
            exc = self.assertRaises(exceptions.InvalidBody, self.read, text)
            (problem,) = exc.problems
            self.assertEqual(pointer, problem.pointer)
            self.assertIn(f'is there twice ({pointer or "/"})', str(exc))

    def test_a_member_that_is_there_twice_is_named_among_many(self):
        # Counting every name among all names would not end within minutes.
        members = [f'"k{number}": 0' for number in range(100_000)]
        text = '{' + ', '.join([*members, '"last": 0, "last": 0']) + '}'
        exc = self.assertRaises(
            exceptions.InvalidBody, self.read, text.encode()
        )
        self.assertEqual('/last', exc.problems[0].pointer)

    def test_a_ramdisk_may_send_a_member_twice(self):
        sent = b'{"a": 1, "a": 2}'
        self.assertEqual({'a': 2}, request.parse(sent, lenient=True))

    def test_what_is_no_json_is_invalid_of_a_ramdisk_too(self):
        for body in (b'{', b'\xff', b'[' * 100_000, b'{"a": NaN}'):
            self.assertRaises(
                exceptions.Invalid, request.parse, body, lenient=True
            )

    @hypothesis.given(DOCUMENTS)
    def test_json_is_read(self, document):
        self.assertEqual(document, self.read(json.dumps(document).encode()))

    @hypothesis.given(st.binary())
    def test_anything_else_is_invalid(self, body):
        try:
            document = self.read(body)
        except exceptions.Invalid:
            return
        json.dumps(document, allow_nan=False)

    def test_numbers_that_json_cannot_say_are_invalid(self):
        for text in (
            b'NaN',
            b'[Infinity]',
            b'{"a": -Infinity}',
            b'1e999',
            b'[-1e999]',
        ):
            self.assertRaises(exceptions.Invalid, self.read, text)

    def test_the_error_names_their_place(self):
        for text, place in (
            (b'{"a": [1, {"b/c": NaN}, NaN]}', '/a/1/b~1c'),
            (b'{"a": NaN, "a": 1}', '/'),
            (b'1e999', '/'),
        ):
            exc = self.assertRaises(exceptions.Invalid, self.read, text)
            self.assertIn(f'JSON: {place}: ', str(exc))

    def test_very_long_numbers_and_deep_documents_are_invalid(self):
        for text in (b'9' * 5000, b'[' * 100_000):
            self.assertRaises(exceptions.Invalid, self.read, text)
        self.assertIn(
            'a number has more than 4300 digits',
            str(
                self.assertRaises(
                    exceptions.Invalid,
                    self.read,
                    b'{"a": -' + b'9' * 5000 + b'}',
                )
            ),
        )

    def test_a_byte_order_mark_is_ignored(self):
        self.assertEqual({}, self.read(b'\xef\xbb\xbf{}'))

    def test_other_encodings_are_invalid(self):
        # json.loads() would find out which; limits of depth would not.
        for encoding in ('utf-16', 'utf-16-le', 'utf-32'):
            self.assertRaises(
                exceptions.Invalid, self.read, '{"a": 1}'.encode(encoding)
            )

    def test_only_json_is_read(self):
        self.assertEqual({}, self.read(b'{}', 'application/json-patch+json'))
        for content_type in (
            'text/plain',
            'application/xml',
            'application/x-www-form-urlencoded',
            '',
        ):
            exc = self.assertRaises(
                ironic_exception.ClientSideError,
                self.read,
                b'{}',
                content_type,
            )
            self.assertEqual(415, exc.code)


class LargeBodyTestCase(base.IronicTestCase):
    # Larger than what is read at once.
    WHITE = b' ' * 100_000

    def read(self, body):
        """Read a body that has passed the guard, as one of its call."""
        read = []

        def app(environ, start_response):
            with fixtures.MonkeyPatch(
                'ironic.api.request', webob.Request(environ)
            ):
                read.append(request.parse_body())
            return webob.Response()(environ, start_response)

        posted = webob.Request.blank(
            '/v1/inspection_rules', method='POST', body=body
        )
        posted.content_type = 'application/json'
        posted.get_response(request.check_body(app))
        return read[0]

    def parse_at_once(self):
        """Return a record of the bodies that are parsed at once."""
        parsed = []
        parse = request.parse

        def recorded(sent, lenient=False):
            parsed.append(sent)
            return parse(sent, lenient)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.api.request.parse', recorded
            )
        )
        return parsed

    def test_a_large_one_is_never_there_as_a_whole(self):
        at_once = self.parse_at_once()
        document = {
            'tables': {
                'a': {
                    'rows': [
                        {'serial': f'A{number}', 'rack': 'é'}
                        for number in range(9999)
                    ]
                }
            }
        }

        self.assertEqual(
            document,
            self.read(json.dumps(document, ensure_ascii=False).encode()),
        )
        self.assertEqual([], at_once)

    def test_rows_share_the_names_of_columns(self):
        rows = [{'the serial': number} for number in range(9999)]

        read = self.read(json.dumps({'a': {'b': {'c': rows}}}).encode())

        names = {id(next(iter(row))) for row in read['a']['b']['c']}
        self.assertEqual(1, len(names))

    def test_a_small_one_is_parsed_at_once(self):
        at_once = self.parse_at_once()

        self.assertEqual({}, self.read(b'{}'))
        self.assertEqual([b'{}'], at_once)

    def test_one_of_many_short_values_is_parsed_at_once(self):
        at_once = self.parse_at_once()
        document = [0] * 100_000

        self.assertEqual(document, self.read(json.dumps(document).encode()))
        self.assertEqual(1, len(at_once))

    def test_a_large_one_is_refused_as_a_small_one(self):
        for text, words in (
            (b'{"a": [1, {"b/c": NaN}, NaN]}', 'JSON: /a/1/b~1c: '),
            (b'{"a": {}, "b": {"c": 0, "c": 1}}', ' (/b/c)'),
            (b'{"a": [0, 1 2]}', '(char 100012)'),
            (b'{"a": "\\x"}', '(char 100007)'),
            (b'{"a": -' + b'9' * 5000 + b'}', 'a number has more than 4300 '),
        ):
            exc = self.assertRaises(
                exceptions.Invalid, self.read, self.WHITE + text
            )
            self.assertIn(words, str(exc))

    def test_a_large_one_that_is_too_deep_is_refused(self):
        limit = body_limit.depth()
        for inside in (b'[' * limit + b']' * limit, b'[' * 200_000):
            self.assertRaisesRegex(
                exceptions.Invalid,
                'nested too deeply',
                self.read,
                self.WHITE + b'[%s]' % inside,
            )
        self.assertEqual([{}], self.read(self.WHITE + b'[{}]'))


class CheckedTestCase(base.TestCase):
    schema = {
        'type': 'object',
        'required': ['a'],
        'additionalProperties': False,
        'properties': {
            'a': {'type': ['array']},
            'b': {'enum': [None, 'x', 'y']},
            'c': {
                'type': ['integer', 'null'],
                'minimum': 1,
                'description': '1 or more',
            },
        },
    }

    def test_what_is_not_there_is_none(self):
        self.assertEqual(
            {'a': [], 'b': None, 'c': 2},
            request.validate({'a': [], 'c': 2}, self.schema),
        )

    def test_all_problems_are_told_at_once(self):
        for document, parts in (
            ([], ['must be a JSON object']),
            (
                {'b': 'z', 'c': 0},
                [
                    '"a" is needed',
                    '"b" must be one of',
                    '"c" must be 1 or more',
                ],
            ),
            (
                {'a': 1, 'c': 1.0},
                [
                    '"a" must be of the type list',
                    '"c" must be of the type integer',
                ],
            ),
            ({'a': [], 'd': 1, 'e': 2}, ['"d"', '"e"']),
        ):
            exc = self.assertRaises(
                exceptions.Invalid, request.validate, document, self.schema
            )
            for part in parts:
                self.assertIn(part, str(exc))


class QueryTestCase(base.TestCase):
    def read(self, query, **parameters):
        got = webob.Request.blank(f'/?{query}')
        with fixtures.MonkeyPatch('ironic.api.request', got):
            return request.parse_query(parameters)

    def test_values_are_converted_and_absent_ones_are_none(self):
        self.assertEqual(
            {'a': ('a', '1 2'), 'b': None},
            self.read(
                'a=1%202',
                a=lambda name, value: (name, value),
                b=lambda name, value: value,
            ),
        )

    def test_other_parameters_are_named(self):
        exc = self.assertRaises(exceptions.Invalid, self.read, 'b=1&c=2')

        self.assertIn('"b"', str(exc))
        self.assertIn('"c"', str(exc))

    def test_all_that_are_wrong_are_named_at_once(self):
        exc = self.assertRaises(
            exceptions.InvalidQuery,
            self.read,
            'c=2&a=x&b=1&b=2&sort_dir=up',
            a=request.convert_integer,
            b=request.convert_integer,
            sort_dir=request.SORT_DIR,
        )
        parts = (
            '"c"',
            'Expected an integer for a: x',
            'parameter b was given several times',
            '"sort_dir"',
        )
        # One beside the other in the message, and apart as data.
        for part, problem in zip(parts, exc.problems, strict=True):
            self.assertIn(part, str(exc))
            self.assertEqual('', problem.pointer)
            self.assertIn(part, problem.detail)

    def test_one_that_ironic_refuses_has_its_error(self):
        self.assertRaises(
            ironic_exception.InvalidParameterValue,
            self.read,
            'marker=x',
            marker=request.convert_marker,
        )

    def test_only_the_first_unknown_ones_are_told_and_searched_for(self):
        searched = []
        with fixtures.MonkeyPatch(
            'ironic_inspection_rules.engine.language.suggestion.find_nearest',
            lambda name, known: searched.append(name),
        ):
            exc = self.assertRaises(
                exceptions.Invalid,
                self.read,
                '&'.join(f'a{number}=' for number in range(20_000)),
                limit=lambda name, value: value,
            )

        self.assertEqual(exceptions.MOST_PROBLEMS, len(searched))
        self.assertIn('and 19950 more', str(exc))
        self.assertLess(len(str(exc)), 5000)

    def test_numbers_are_written_in_digits(self):
        self.assertEqual(
            {'a': -10}, self.read('a=-10', a=request.convert_integer)
        )
        for text in ('1_0', '1%200', '%D9%A1', '', '9' * 5000, '1.0'):
            self.assertRaisesRegex(
                exceptions.Invalid,
                'Expected an integer for a',
                self.read,
                f'a={text}',
                a=request.convert_integer,
            )

    def test_a_parameter_may_be_there_once(self):
        self.assertRaises(
            exceptions.Invalid,
            self.read,
            'a=1&a=2',
            a=lambda name, value: value,
        )


class UUIDTestCase(base.TestCase):
    def test_spellings_of_a_uuid_are_one(self):
        wanted = '0a1b2c3d-0000-4000-8000-000000000001'

        for text in (
            wanted,
            wanted.upper(),
            wanted.replace('-', ''),
            f'{{{wanted}}}',
        ):
            self.assertEqual(wanted, request.convert_rule_uuid(text))
            # Some databases tell capitals apart.
            self.assertEqual(
                wanted, request.make_uuid_converter('a run')('uuid', text)
            )
            self.assertEqual(wanted, request.convert_marker('marker', text))

    def test_anything_else_is_invalid(self):
        for text in ('', 'nonsense', '0a1b2c3d', 'a' * 33):
            self.assertRaises(
                exceptions.Invalid, request.convert_rule_uuid, text
            )


class GuardTestCase(base.IronicTestCase):
    def send(
        self, body, content_type='text/plain', path='/v1/rules', **environ
    ):
        """Send a body through the guard.

        :returns: the status, and what the application below could read.
        """
        read = []

        def app(environ, start_response):
            read.append(webob.Request(environ).body)
            return webob.Response()(environ, start_response)

        sent = webob.Request.blank(path, method='POST', body=body)
        sent.environ.update({'CONTENT_TYPE': content_type, **environ})
        answer = sent.get_response(request.check_body(app))
        return answer.status_int, *read

    def refusal(self, body, content_type, path='/v1/rules'):
        """Return the reason why a body is refused."""
        sent = webob.Request.blank(path, method='POST', body=body)
        sent.environ['CONTENT_TYPE'] = content_type
        answer = sent.get_response(request.check_body(webob.Response()))
        self.assertEqual(413, answer.status_int)
        return answer.json['faultstring']

    def without_limits_of_ironic(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.patches.body_limit.IS_OF_IRONIC',
                False,
            )
        )

    def test_what_is_within_the_limits_is_read_below(self):
        for content_type in (*OTHER_TYPES, 'application/json'):
            self.assertEqual(
                (200, DEEP[1:-1]), self.send(DEEP[1:-1], content_type)
            )

    def test_a_request_without_a_body_passes(self):
        self.assertEqual((200, b''), self.send(b''))

    def test_depth_is_limited_whatever_it_claims_to_be(self):
        for content_type in OTHER_TYPES:
            self.assertEqual((400,), self.send(DEEP, content_type))

    def test_depth_of_json_is_left_to_ironic_where_it_looks(self):
        if body_limit.json_depth is None:
            self.skipTest('this Ironic has no limits')
        self.assertEqual((200, DEEP), self.send(DEEP, 'application/json'))

    def test_what_is_not_utf_8_is_told_whatever_it_claims_to_be(self):
        for content_type in (*OTHER_TYPES, 'application/json'):
            self.assertEqual((400,), self.send(b'{"a": "\xff"}', content_type))

    def test_what_is_not_utf_8_is_refused_without_a_length(self):
        for content_type in (*OTHER_TYPES, 'application/json'):
            self.assertEqual(
                (400,), self.send(b'{"a": "\xff"}', content_type, **UNTOLD)
            )

    def test_size_of_posted_json_is_left_to_ironic_where_it_looks(self):
        if body_limit.json_depth is None:
            self.skipTest('this Ironic has no limits')
        self.config(group='api', max_json_body_size_inspection=1024)
        body = b'\xff' * 2 * 1024**2
        posted = {'path': '/v1/continue_inspection'}
        self.assertEqual(
            (200, body), self.send(body, 'application/json', **posted)
        )
        # One byte more than the limit tells Ironic enough.
        status, read = self.send(body, 'application/json', **posted, **UNTOLD)
        self.assertEqual((200, 1024**2 + 1), (status, len(read)))

    def test_a_body_that_is_too_large_names_the_option(self):
        if body_limit.json_depth is None:
            self.skipTest('this Ironic has no options for bodies')
        self.config(
            group='api',
            max_json_body_size=4,
            max_json_body_size_inspection=5,
            max_json_body_size_provision=6,
        )
        for path, option in (
            ('/v1/inspection_rules/x', 'max_json_body_size'),
            ('/v1/nodes/x/states/provision', 'max_json_body_size_provision'),
            ('/v1/continue_inspection', 'max_json_body_size_inspection'),
        ):
            reason = self.refusal(b'x' * 9000, 'text/plain', path)
            self.assertIn(f'[api]{option} ', reason)
        self.assertIn(
            '[api]max_json_body_size ',
            self.refusal(
                b'x' * 9000, 'application/json', '/v1/inspection_rules/x'
            ),
        )

    def test_a_body_that_is_too_large_names_no_option_that_is_not_there(self):
        self.without_limits_of_ironic()

        reason = self.refusal(b'x' * 2 * 1024**2, 'application/json')

        self.assertIn('more than 1048576 bytes', reason)
        self.assertNotIn('[api]', reason)

    def test_depth_of_json_is_limited_where_ironic_does_not_look(self):
        self.without_limits_of_ironic()

        self.assertEqual((400,), self.send(DEEP, 'application/json'))

    def test_a_body_that_may_be_large_is_for_its_call_alone(self):
        for path in (
            '/v1/inspection_rules',
            '/inspection_rules/',
            '/v1/inspection_rules/replay',
        ):
            self.assertEqual((200, b''), self.send(b'{}', path=path), path)

    def test_what_is_named_like_such_a_call_has_its_body(self):
        for path in (
            '/v1/nodes/rack1-inspection_rules',
            '/v1/portgroups/inspection_rules',
            '/v1/nodes/inspection_rules/replay',
        ):
            self.assertEqual((200, b'{}'), self.send(b'{}', path=path), path)

    def test_size_is_limited_by_path(self):
        body = b'"' + b'x' * 1024**2 + b'"'

        self.assertEqual((413,), self.send(body))
        for path in (
            '/v1/continue_inspection',
            '/v1/nodes/n/states/provision',
        ):
            self.assertEqual((200, body), self.send(body, path=path))

    def test_size_is_limited_without_a_length(self):
        body = b'"' + b'x' * 1024**2 + b'"'

        for sent, expected in ((body, (413,)), (b'{}', (200, b'{}'))):
            self.assertEqual(expected, self.send(sent, **UNTOLD))

    def test_forms_with_parts_do_not_pass(self):
        self.assertEqual((415,), self.send(b'--a--', 'multipart/form-data'))

    def test_only_utf_8_passes(self):
        for charset in ('utf-16', 'latin-1', 'nonsense', 'zip'):
            for kind in ('application/json', 'text/plain'):
                self.assertEqual(
                    (415,), self.send(b'{}', f'{kind}; charset={charset}')
                )
        self.assertEqual((400,), self.send('{}'.encode('utf-16')))
        for charset in ('utf-8', 'UTF8', '"utf-8"', 'us-ascii'):
            self.assertEqual(
                (200, b'{}'),
                self.send(b'{}', f'application/json; charset={charset}'),
            )
