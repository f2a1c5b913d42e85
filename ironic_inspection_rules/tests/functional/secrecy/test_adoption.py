# SPDX-License-Identifier: Apache-2.0

"""Commands on the database tell nothing of sensitive rules that they move."""

import json
import re

from ironic.db.sqlalchemy import models
import sqlalchemy as sa

from ironic_inspection_rules.tests.functional.command import test_dbsync
from ironic_inspection_rules.tests.functional.secrecy import canaries
from ironic_inspection_rules.tests.functional.secrecy import rules

WORDS = (
    ('create_schema',),
    ('upgrade',),
    ('version',),
    ('check',),
    ('adopt', '--dry-run'),
    ('adopt',),
    ('adopt', '--accept-differences'),
    ('adopt', '--undo'),
    ('drop',),
    ('drop', '--yes'),
    ('stamp',),
)
"""All commands, in the order in which they are called."""

STOCK = {
    'uuid': '12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a11',
    'description': rules.title('stoc'),
    'sensitive': True,
    'priority': 3,
    'phase': 'main',
    'scope': None,
    'conditions': [
        # It means something else here.
        {
            'op': 'eq',
            'args': {'values': ['{inventory.kind}', rules.mute('stoc')]},
        },
        {
            'op': '!contains',
            'args': {
                'value': '{inventory.' + rules.mute('stof') + '}',
                'regex': rules.mute('stor'),
            },
        },
    ],
    'actions': [
        {
            'op': 'set-attribute',
            'args': {
                'path': '/extra/x',
                'value': '{' + rules.mute('stov') + '}',
            },
        },
        {'op': 'fail', 'args': {'msg': rules.mute('stom')}},
    ],
}
"""A rule of Ironic's own."""


class AdoptionTestCase(test_dbsync.CommandTestCase):
    def setUp(self):
        super().setUp()
        engine = sa.create_engine(f'sqlite:///{self.directory}/ironic.sqlite')
        self.addCleanup(engine.dispose)
        models.Base.metadata.create_all(engine)
        with engine.begin() as connection:
            connection.execute(sa.insert(models.InspectionRule), STOCK)
        machines = self.directory / 'machines'
        machines.mkdir()
        data = rules.data(rules.MAC.format(1), rules.PASSES)
        (machines / 'one.json').write_text(
            json.dumps({'inventory': data['inventory']})
        )

    def test_all_commands_are_called(self):
        _code, output, _errors = self.dbsync('--help')
        choices = re.search(r'\{([a-z_,]+)\}', output)
        self.assertEqual(
            {*choices.group(1).split(',')},
            {command for command, *_options in WORDS},
        )

    def test_what_a_sensitive_rule_says_is_not_printed(self):
        told = []
        for words in WORDS:
            if words[0] == 'adopt' and '--undo' not in words:
                words = (*words, '--inventory', self.directory / 'machines')
            _code, output, errors = self.dbsync(*words)
            told.append(output)
            found = canaries.found(output + errors)
            self.assertEqual(
                set(),
                canaries.of_kinds(found, {canaries.OWN}),
                (words, output, errors),
            )
        self.assertIn(rules.title('stoc'), '\n'.join(told))
        found = canaries.found((self.directory / 'log').read_text())
        self.assertEqual(set(), canaries.of_kinds(found, {canaries.OWN}))
