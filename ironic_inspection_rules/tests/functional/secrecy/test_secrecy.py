# SPDX-License-Identifier: Apache-2.0

"""What is secret is seen nowhere, and what is not is there.

Each place that may have a secret, and each that has none, has a word of its
own. Machines are inspected; then every call, command, page, file, log,
notification and metric is searched for these words.
"""

import json

import fixtures
from ironic.conf import CONF

from ironic_inspection_rules.tests.functional.secrecy import calls
from ironic_inspection_rules.tests.functional.secrecy import canaries
from ironic_inspection_rules.tests.functional.secrecy import commands
from ironic_inspection_rules.tests.functional.secrecy import rules
from ironic_inspection_rules.tests.functional.secrecy import site
from ironic_inspection_rules.tests.unit import base

_OF_PLACES = frozenset((canaries.HIDDEN, canaries.NAMED))
_EVENTS = 'baremetal.inspectionrule.'
"""How the names of this project's notifications begin."""

_WHOLE = frozenset(
    (
        'GET inspection_rules',
        'GET nodes/{node}/inspection_runs',
        'GET nodes/{node}/inventory',
        'GET nodes/{node}/inventory/unprocessed',
        'GET inspection_requests',
        'GET nodes/{node}/traits',
        'GET nodes/detail',
        'GET ports/detail',
    )
)
"""Calls whose answers are whole without the rest of the site."""


_OF_RECORDS = frozenset(
    (
        'GET nodes/{node}/inspection_runs',
        'GET nodes/{node}/inspection_runs/{uuid}',
        'GET nodes/{node}/inspection_runs/explain',
        'POST inspection_rules/replay',
    )
)
"""Calls that show what is kept of rules that ran."""


class ListsTestCase(base.TestCase):
    """No call and no command can be forgotten."""

    def test_every_call_is_made(self):
        self.assertEqual(set(calls.served()), set(calls.CALLS))

    def test_every_command_is_called(self):
        there_are = commands.entry_points()
        if not there_are[commands.OPENSTACK]:
            self.skipTest('not a checkout: no setup.cfg')
        self.assertEqual(
            {*there_are[commands.OPENSTACK], *there_are[commands.FILES]},
            {
                *commands.READS,
                *commands.WRITES,
                *commands.OF_FILES,
                *commands.LEFT_OUT,
            },
        )
        self.assertEqual(
            set(there_are[commands.SERVICES]), set(commands.OF_SERVICES)
        )


class SecrecyTestCase(base.TestCase):
    """A site that is read completely.

    :cvar mask_secrets: the option.
    :cvar seen_by_rules: kinds of canaries in places of secret names that
        rules, and so their records, show.
    """

    mask_secrets: str
    seen_by_rules: frozenset[str] = frozenset()

    def setUp(self):
        super().setUp()
        self.site = self.useFixture(site.Site(self.mask_secrets))
        self.known = calls.Known(self.site)
        self.problems = []
        self.written = set()
        self.place = commands.Place(
            self.site, self.known, self.useFixture(fixtures.TempDir()).path
        )
        self.search_what_is_told()

    def search(self, what, text, shows):
        """Search a text; note what it must not show.

        :returns: all canaries in it.
        """
        found = canaries.found(text)
        shown = canaries.of_kinds(found, shows | self.seen_by_rules)
        if found - shown:
            self.problems.append(f'{what} shows {sorted(found - shown)}')
        return found

    def expect(self, what, expected, found):
        """Note what should have been seen and was not."""
        missing = set(expected) - found
        if missing:
            self.problems.append(f'{what} lacks {sorted(missing)}')

    def make(self, requests, user):
        """Make requests, and search their answers.

        :returns: the canaries that were seen, by the name of the call, of
            those calls that the user may make.
        """
        seen = {}
        for request in requests:
            response = self.site.call(
                request.method, request.path, request.body, user
            )
            if response.status_int >= 500:
                self.problems.append(f'{request}: {response.text}')
            # An error may name what was asked for.
            asked = (
                canaries.found(str(request))
                if (response.status_int >= 400)
                else set()
            )
            found = self.search(
                f'{user}: {request}',
                response.text,
                calls.CALLS[request.name].shows | asked,
            )
            if response.status_int == 200:
                seen.setdefault(request.name, set()).update(found)
        return seen

    def read_as(self, user, known):
        """Make all calls that change nothing."""
        for name, found in self.make(calls.reads(known), user).items():
            # Others have read some things only.
            if known is self.known or name in _WHOLE:
                self.expect(
                    f'{user}: {name}', calls.CALLS[name].expects, found
                )

    def call_commands(self, table, call):
        """Call commands, and search what they print and write."""
        for name, command in table.items():
            found = set()
            for text in command.words:
                printed = call(name, self.place.words(text))
                found |= self.search(f'{name} {text}', printed, command.shows)
            for path, content in self.place.written():
                if path not in self.written:
                    self.written.add(path)
                    found |= self.search(
                        f'{name}: {path}', content, command.shows
                    )
            self.expect(name, command.expects, found)

    def call_openstack(self, name, words):
        entry_points = commands.entry_points()[commands.OPENSTACK]
        return self.place.call_openstack(entry_points[name], words)

    def search_what_is_told(self):
        """Search logs, notifications, metrics and errors."""
        self.site.counter.flush()
        logs = self.search('the log', self.site.logs.getvalue(), calls.OF_RUNS)
        self.expect(
            'the log',
            (
                rules.public('user'),
                rules.public('mess'),
                rules.public('refu'),
                rules.flow('extr'),
            ),
            logs,
        )
        # What Ironic logs of a node is its own matter.
        self.search(
            'the log of Ironic',
            self.site.others.getvalue(),
            canaries.KINDS - {canaries.OWN, canaries.TITLE},
        )
        self.search(
            'notifications',
            json.dumps(
                [
                    sent
                    for sent in self.site.notifier.sent
                    if sent[0].startswith(_EVENTS)
                ],
                default=str,
            ),
            calls.OF_RULES,
        )
        metrics = self.search(
            'metrics', json.dumps(self.site.metrics), calls.NOTHING
        )
        self.expect('metrics', (rules.public('desc'),), metrics)
        for answer in self.site.answers:
            # Where the ramdisk calls, Ironic shows some of the node.
            self.search(
                'an answer or error of an inspection',
                answer,
                calls.OF_RULES | calls.OF_RUNS | {canaries.NAMED},
            )

    def read_and_do_all(self):
        """Read all that can be read, then do all that can be done."""
        self.read_as(site.ADMIN, self.known)
        few = calls.Known(self.site, most=1)
        for user in site.PERSONAS[1:]:
            self.read_as(user, few)
        self.call_commands(commands.READS, self.call_openstack)
        self.call_commands(commands.OF_FILES, self.place.call_on_files)
        for user in (*site.PERSONAS[1:], site.ADMIN):
            self.make(calls.writes(few), user)
        self.site.store_again()
        self.call_commands(commands.WRITES, self.call_openstack)
        self.search_what_is_told()
        self.read_of_lost_rules()

    def read_of_lost_rules(self):
        """Read of rules of which nothing is known any more.

        They may have been sensitive.
        """
        CONF.set_override('keep_revisions', 1, group='inspection_rules')
        self.site.do('DELETE', 'inspection_rules', status=204)
        self.site.do(
            'PUT',
            'inspection_rules',
            {'rules': [{'actions': [rules.action('log', 'x')]}]},
        )
        for request in calls.reads(calls.Known(self.site, most=1)):
            if request.name not in _OF_RECORDS:
                continue
            answer = self.site.call(
                request.method, request.path, request.body
            ).text
            shown = canaries.found(answer) & {
                rules.public('reas'),
                rules.public('show'),
                rules.public('undv'),
                rules.public('losc'),
            }
            if shown:
                self.problems.append(
                    f'of lost rules, {request} shows {sorted(shown)}'
                )

    def read_much(self):
        """Read what differs where rules see more."""
        few = calls.Known(self.site, most=1)
        for user in site.PERSONAS:
            self.read_as(user, few)
        self.call_commands(
            {
                name: command
                for name, command in commands.READS.items()
                if name in commands.OF_RECORDS
            },
            self.call_openstack,
        )
        self.search_what_is_told()


class AlwaysTestCase(SecrecyTestCase):
    """No rule sees secrets."""

    mask_secrets = 'always'

    def test_secrets_are_seen_nowhere_and_all_else_is(self):
        # One scene for all of it, as it takes seconds to make.
        self.read_and_do_all()
        self.assertEqual('', '\n'.join(self.problems))


class SensitiveOnlyTestCase(SecrecyTestCase):
    """Sensitive rules see secrets; they are seen nowhere either."""

    mask_secrets = 'sensitive'

    def test_secrets_are_seen_nowhere_and_all_else_is(self):
        self.read_much()
        self.assertEqual('', '\n'.join(self.problems))


class NeverTestCase(SecrecyTestCase):
    """All rules see secrets; sensitive ones are withheld still."""

    mask_secrets = 'never'
    seen_by_rules = _OF_PLACES

    def test_sensitive_rules_are_withheld_and_all_else_is_seen(self):
        self.read_much()
        self.expect(
            'runs',
            (
                rules.hush('conf'),
                rules.mask('port'),
                rules.mask('inve'),
                rules.mask('plug'),
            ),
            canaries.found(
                self.site.call(
                    'GET', f'nodes/{site.PASSED}/inspection_runs?detail=true'
                ).text
            ),
        )
        self.assertEqual('', '\n'.join(self.problems))
