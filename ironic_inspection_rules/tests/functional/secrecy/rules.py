# SPDX-License-Identifier: Apache-2.0

"""Rules and a machine that have a canary in every place there is.

What an inspection does is chosen by ``inventory.case``, which is one of
:data:`CASES`, one of :data:`REFUSED`, or ``passes``.
"""

from typing import Any

from ironic_inspection_rules.tests.functional.secrecy import canaries

Fields = dict[str, Any]

MAC = '52:54:00:00:00:{:02}'


def hush(place: str) -> str:
    return canaries.canary(canaries.HIDDEN, place)


def mask(place: str) -> str:
    return canaries.canary(canaries.NAMED, place)


def mute(place: str) -> str:
    return canaries.canary(canaries.OWN, place)


def title(place: str) -> str:
    return canaries.canary(canaries.TITLE, place)


def flow(place: str) -> str:
    return canaries.canary(canaries.WRITTEN, place)


def rest(place: str) -> str:
    return canaries.canary(canaries.UNREAD, place)


def public(place: str) -> str:
    return canaries.canary(canaries.OPEN, place)


NODE: Fields = {
    'driver_info': {
        'fake_password': hush('fake'),
        'snmp_community': mask('snmp'),
        'ipmi_hex_kg_key': mask('kgke'),
        'fake_username': public('user'),
    },
    'instance_info': {
        'configdrive': hush('conf'),
        'image_url': hush('imag'),
        'display_name': public('inst'),
    },
    'extra': {'admin_password': mask('extr'), 'note': public('note')},
    'properties': {'vendor_token': mask('prop'), 'model': public('modl')},
}

PORT: Fields = {
    'extra': {'secret_key': mask('port'), 'socket': public('sock')}
}
PORT_GROUP: Fields = {
    'extra': {'api_key': mask('grou'), 'bond': public('bond')}
}
SECRET_TOKEN = hush('agen')
"""Of the agent, in the node's ``driver_internal_info``."""


def data(mac: str, case: str) -> Fields:
    """Return what the machine sends."""
    return {
        'inventory': {
            'case': case,
            'kind': 'machine',
            'odd': '/ ?',
            'serial': public('seri'),
            'bmc_account': {'password': mask('inve'), 'name': public('accu')},
            'interfaces': [
                {
                    'name': 'eth0',
                    'mac_address': mac,
                    'has_carrier': True,
                    'lldp': None,
                    'ipv4_address': '192.0.2.1',
                }
            ],
            'boot': {'pxe_interface': mac},
        },
        'site': {'api_token': mask('plug'), 'rack': public('rack')},
    }


def action(op: str, *args: Any, **more: Any) -> Fields:
    return {'op': op, 'args': list(args), **more}


def condition(op: str, *args: Any, **more: Any) -> Fields:
    return {'op': op, 'args': list(args), **more}


def in_case(case: str) -> Fields:
    return condition('eq', '{inventory.case}', case)


WRITES_SECRET = 'an open rule writes a secret'
"""The case that is no error where rules see secrets."""

TRIED = 'tried'
"""The case that machines are only tried in."""

IS_MACHINE = condition('eq', '{inventory.kind}', 'machine')

READ_SECRETS = (
    '{node.driver_info.fake_password}',
    '{node.driver_info}',
    '{node.instance_info}',
    '{node.driver_internal_info}',
    '{node.extra.admin_password}',
    '{node.properties}',
    '{ports[0].extra.secret_key}',
    '{port_groups}',
    '{inventory.bmc_account}',
    '{inventory}',
    '{plugin_data.site}',
    '{previous.inventory}',
)
"""Fields that have secrets beside what is none."""

READ_WRITTEN = (
    '{node.extra.written}',
    '{node.properties.capabilities}',
    '{node.traits}',
    '{ports[0].extra.written}',
    '{plugin_data.written}',
    '{plugin_data.early}',
)
"""Fields that have what sensitive rules wrote."""

SECRETS = ' '.join(READ_SECRETS)
ALL_OF_IT = f'{SECRETS} {{node}} {{ports}}'
"""Also what sensitive rules wrote, wherever that is."""

EARLY = [
    {
        'description': title('earl'),
        'sensitive': True,
        'phase': 'early',
        'vars': {mute('vern'): mute('verv')},
        'conditions': [
            IS_MACHINE,
            condition('one-of', '{inventory.kind}', ['machine', mute('econ')]),
        ],
        'actions': [
            action('set-plugin-data', '/early', flow('earl')),
            action('set-plugin-data', '/' + rest('earl'), 1),
            action('log', mute('elog')),
        ],
    },
    {
        'description': title('efai'),
        'sensitive': True,
        'phase': 'early',
        'conditions': [in_case('refused by a sensitive rule')],
        'actions': [action('fail', mute('efai') + ' {inventory}')],
    },
    {
        'description': public('earl'),
        'phase': 'early',
        'conditions': [
            condition('!eq', field, 1)
            for field in (
                '{inventory.bmc_account}',
                '{plugin_data.site}',
                '{plugin_data.early}',
                '{inventory.serial}',
            )
        ],
        'actions': [
            action(
                'log',
                'early {inventory} {plugin_data.site} {plugin_data.early}',
            ),
            action('set-plugin-data', '/seen', public('seen')),
        ],
    },
    {
        'description': public('efai'),
        'phase': 'early',
        'conditions': [in_case('refused by an open rule')],
        'actions': [
            action('fail', public('refu') + ' {inventory} {plugin_data.site}')
        ],
    },
]

WRITES = {
    'description': title('main'),
    'sensitive': True,
    'priority': 50,
    'vars': {
        'own': mute('vars'),
        'copy': '{node.driver_info.fake_username}',
        mute('varn'): '{vars.own}',
    },
    'conditions': [
        IS_MACHINE,
        {
            'op': 'any-of',
            'conditions': [
                condition('eq', '{inventory.kind}', mute('grup')),
                condition(
                    'contains', '{inventory.kind}', 'ach|' + mute('rege')
                ),
            ],
        },
    ],
    'actions': [
        action('set-attribute', '/driver_info/fake_password', hush('pass')),
        action('set-attribute', '/extra/db_password', mask('dbpa')),
        action('set-attribute', '/extra/written', flow('extr')),
        action('set-attribute', '/extra/' + rest('path'), rest('valu')),
        action('set-capability', 'written', flow('capa')),
        action('add-trait', 'CUSTOM_' + flow('trai').upper()),
        action(
            'set-port-attribute',
            '{ports[0].address}',
            '/extra/written',
            flow('port'),
        ),
        action(
            'set-port-attribute',
            '{ports[0].address}',
            '/extra/rest',
            rest('port'),
        ),
        action('set-plugin-data', '/written', flow('plug')),
        action(
            'set-attribute', '/extra/looped', '{item}', loop=[rest('loop')]
        ),
        action(
            'set-attribute',
            '/extra/never',
            mute('when'),
            when=[condition('eq', '{inventory.kind}', mute('asks'))],
        ),
        action('log', mute('logm') + ' {node.driver_info}'),
    ],
}

SENSITIVE = [
    WRITES,
    {
        'description': title('prep'),
        'sensitive': True,
        'phase': 'preprocess',
        'conditions': [condition('ne', '{inventory.kind}', mute('prec'))],
        'actions': [
            action('set-plugin-data', '/prepared', rest('prep')),
            action('log', mute('prlo')),
        ],
    },
    {
        'description': title('audi'),
        'sensitive': True,
        'mode': 'audit',
        'conditions': [condition('ne', '{inventory.kind}', mute('audc'))],
        'actions': [
            action('set-attribute', '/extra/audited', mute('audv')),
            action('fail', mute('audf')),
        ],
    },
    {
        'description': title('undo'),
        'sensitive': True,
        'conditions': [condition('eq', '{inventory.kind}', mute('undc'))],
        'actions': [
            {
                'op': 'set-attribute',
                'revert': True,
                'args': {'path': '/extra/undone', 'value': mute('undv')},
            },
            {
                'op': 'set-attribute',
                'args': {
                    'path': '/extra/cleaned',
                    'value': mute('undw'),
                    'cleanup': flow('undo'),
                },
            },
        ],
    },
    {
        'description': title('lost'),
        'sensitive': True,
        'conditions': [condition('eq', '{inventory.kind}', mute('losc'))],
        'actions': [action('set-attribute', '/extra/lost', mute('losv'))],
    },
    {
        'description': title('tria'),
        'sensitive': True,
        'conditions': [in_case(TRIED)],
        'actions': [
            action('set-attribute', '/extra/' + mute('trip'), mute('triv')),
            action(
                'set-port-attribute',
                '{ports[0].address}',
                '/extra/tried',
                mute('trio'),
            ),
            action('set-plugin-data', '/tried', mute('trid')),
            action('add-trait', 'CUSTOM_' + flow('trit').upper()),
        ],
    },
    {
        'description': title('offf'),
        'sensitive': True,
        'mode': 'off',
        'actions': [action('fail', mute('offf'))],
    },
    {
        'description': title('fail'),
        'sensitive': True,
        'priority': 9,
        'conditions': [in_case('a sensitive rule fails')],
        'actions': [action('fail', mute('fail') + ' ' + ALL_OF_IT)],
    },
    {
        'description': title('erro'),
        'sensitive': True,
        'priority': 9,
        'conditions': [in_case('an action of a sensitive rule has an error')],
        'actions': [
            action(
                'set-attribute', '/extra/x', '{inventory.' + mute('erro') + '}'
            )
        ],
    },
    {
        'description': title('cerr'),
        'sensitive': True,
        'priority': 9,
        'conditions': [
            in_case('a condition of a sensitive rule has an error'),
            condition('eq', '{inventory.kind | int | add(1)}', mute('cerr')),
        ],
        'actions': [action('log', mute('cerl'))],
    },
    {
        'description': title('save'),
        'sensitive': True,
        'priority': 9,
        'conditions': [in_case('what a sensitive rule sets is refused')],
        'actions': [
            action('set-attribute', '/name', mute('save') + '{inventory.odd}')
        ],
    },
    {
        'description': title('http'),
        'sensitive': True,
        'priority': 9,
        'conditions': [in_case('what a sensitive rule calls is not there')],
        'actions': [
            action(
                'api-call', '{url}' + mute('http') + '?token=' + mute('toke')
            )
        ],
    },
]

OPEN = [
    {
        'description': public('desc'),
        'priority': 10,
        'conditions': [
            condition('!eq', field, public('reas'))
            for field in (*READ_SECRETS, *READ_WRITTEN)
        ],
        'actions': [
            *(
                action('log', f'seen {field}')
                for field in (*READ_SECRETS, *READ_WRITTEN)
            ),
            action('log', 'items {item}', loop='{node.driver_info}'),
            action('set-attribute', '/extra/shown', public('show')),
            action('set-attribute', '/extra/copy', '{node.extra.written}'),
            action('set-plugin-data', '/copy', '{plugin_data.written}'),
            action(
                'set-port-attribute',
                '{ports[0].address}',
                '/extra/copy',
                public('pcop'),
            ),
            action('add-trait', 'CUSTOM_' + public('trai').upper()),
        ],
    },
    {
        'description': public('audi'),
        'mode': 'audit',
        'conditions': [condition('!eq', '{node.driver_info}', public('audc'))],
        'actions': [
            action('set-attribute', '/extra/audited', public('audv')),
            action('fail', public('audf') + ' ' + SECRETS),
        ],
    },
    {
        'description': public('thie'),
        'mode': 'audit',
        'actions': [
            action(
                'set-attribute',
                '/extra/stolen',
                '{node.driver_info.fake_password}',
            )
        ],
    },
    {
        'description': public('lost'),
        'conditions': [
            condition('eq', field, public('losc'))
            for field in (*READ_SECRETS, *READ_WRITTEN)
        ],
        'actions': [action('log', public('losa'))],
    },
    {
        'description': public('undo'),
        'conditions': [condition('eq', '{node.driver_info}', public('undc'))],
        'actions': [
            {
                'op': 'set-attribute',
                'args': {
                    'path': '/extra/open',
                    'value': public('undv'),
                    'cleanup': public('clea'),
                },
            }
        ],
    },
    # Before anything else is written.
    {
        'description': public('fail'),
        'priority': 60,
        'conditions': [in_case('an open rule fails')],
        'actions': [action('fail', public('mess') + ' ' + ALL_OF_IT)],
    },
    {
        'description': public('erro'),
        'priority': 8,
        'conditions': [in_case(WRITES_SECRET)],
        'actions': [
            action(
                'set-attribute',
                '/extra/stolen',
                '{node.driver_info.fake_password}',
            )
        ],
    },
    {
        'description': public('cerr'),
        'priority': 8,
        'conditions': [
            in_case('a condition of an open rule has an error'),
            condition('eq', '{node.driver_info | int}', 1),
        ],
        'actions': [action('log', 'x')],
    },
]

BUILT_IN = [
    {
        'description': title('buil'),
        'sensitive': True,
        'priority': 20000,
        'conditions': [condition('ne', '{inventory.kind}', mute('buic'))],
        'actions': [
            action('log', mute('buia')),
            action(
                'set-attribute', '/driver_info/built_password', hush('buil')
            ),
        ],
    },
    {
        'description': public('buil'),
        'priority': 10000,
        'actions': [
            action('set-attribute', '/extra/open_built', public('buia'))
        ],
    },
]

OLD = {
    'description': title('oldd'),
    'conditions': [{'op': 'ne', 'field': 'kind', 'value': mute('oldc')}],
    'actions': [
        {
            'action': 'set-attribute',
            'path': '/extra/old',
            'value': rest('oldv'),
        },
        {
            'action': 'set-attribute',
            'path': '/driver_info/old_password',
            'value': hush('oldv'),
        },
    ],
}
"""In the language of ironic-inspector; made sensitive afterwards."""

CASES = (
    'an open rule fails',
    'a sensitive rule fails',
    'an action of a sensitive rule has an error',
    'a condition of a sensitive rule has an error',
    'what a sensitive rule sets is refused',
    'what a sensitive rule calls is not there',
    WRITES_SECRET,
    'a condition of an open rule has an error',
)
REFUSED = ('refused by a sensitive rule', 'refused by an open rule')
PASSES = 'passes'


def rule_set(url: str) -> list[Fields]:
    """Return the stored rules, each with a UUID.

    :param url: where nobody answers.
    """
    rules = []
    for number, rule in enumerate((*EARLY, *SENSITIVE, *OPEN), 1):
        actions = [
            {**each, 'args': [each['args'][0].replace('{url}', url)]}
            if each['op'] == 'api-call'
            else each
            for each in rule['actions']
        ]
        rules.append(
            {
                'uuid': f'{number:08}-0000-4000-8000-00000000000a',
                **rule,
                'actions': actions,
            }
        )
    return rules
