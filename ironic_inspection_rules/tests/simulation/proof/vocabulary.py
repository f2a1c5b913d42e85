# SPDX-License-Identifier: Apache-2.0

"""What random rules are made of: fields, literals, places, and themes."""

import typing

MACS = ('52:54:00:12:34:ab', '52:54:00:00:00:99')
TRAITS = ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_SPARE', 'HW_CPU_X86_VMX')
NUMBERS = (0, 1, 2, 4, 8, 100, 4.5, -1)
TEXTS = (
    'a',
    'b',
    'Dell Inc.',
    'HPE',
    '',
    '8',
    '4.0',
    'true',
    'x y',
    'Gr\u00f6\u00dfe',
    '\u00df',
    '\u0663',
    'CUSTOM_A',
    'K',
    'a/b',
    '-',
)
REGEXES = (
    '(?i)^dell',
    '^HPE$',
    '[^ -~]',
    r'\w+',
    r'\d',
    r'^\S*$',
    '\u00df',
    '.',
    '^.$',
    '[^a]',
    'a|b',
    r'\bDell\b',
    r'(?i)k',
    r'[0-9]+',
    r'^$',
    '(?s)^.*$',
    r'\s',
    r'\D',
    '[a-z]{2,}',
    'Inc',
    'True',
    r'(?a)\w',
    '^(?!a)',
)
VERSIONS = ('2.9', '2.10', '1.0~rc1', '3')
SUBNETS = ('10.0.0.0/8', '192.0.2.0/24', '2001:db8::/32', '0.0.0.0/0')
NUMBER_FIELDS = (
    'inventory.cpu.count',
    'inventory.memory.physical_mb',
    'plugin_data.n',
    'node.extra.n',
)
TEXT_FIELDS = (
    'inventory.system_vendor.manufacturer',
    'inventory.system_vendor.serial_number',
    'inventory.cpu.architecture',
    'inventory.bmc_address',
    'plugin_data.t',
    'node.extra.tag',
    'node.name',
    'node.resource_class',
    'node.extra.m.k',
    'plugin_data.m.k',
    'node.properties.p',
    'node.driver_info.a',
    'node.driver_info.password',
)
OTHER_FIELDS = (
    'node.extra',
    'node.extra.m',
    'plugin_data.m',
    'plugin_data',
    'node.properties',
    'node.properties.capabilities',
    'node.traits',
    'node.extra.l',
    'plugin_data.tags',
    'inventory.disks',
    'inventory.cpu',
    'inventory.cpu.flags',
    'node.extra.l[0]',
    'inventory.disks[1].size',
    'ports',
    'inventory.system_vendor.firmware.version',
    'node.extra.hw.size.gb',
    'node.driver_info',
)
LISTS = (
    'inventory.disks',
    'inventory.interfaces',
    'plugin_data.tags',
    'node.extra.l',
    'inventory.cpu.flags',
    'ports',
    'node.traits',
    'plugin_data.m',
)
ITEMS = (
    'item',
    'item.size',
    'item.name',
    'item.k',
    'item.address',
    'item.mac_address',
)
TEXT_FILTERS = (
    'lower',
    'upper',
    'trim',
    "replace('a', 'b')",
    'int',
    'float',
    'length',
    'trait',
    "regex_search('[0-9]+')",
    "split(',')",
    "default('a')",
    "default('b', true)",
    "regex_replace('[0-9]', '')",
    "lookup({'a': 'x', 'b': 'y'})",
)
NUMBER_FILTERS = (
    'add(1)',
    'subtract(1)',
    'multiply(2)',
    'divide(2)',
    'int',
    'float',
    "tier([[0, 's'], [8, 'm']])",
    'default(4)',
    'round',
    'abs',
    'divide(10)',
)
LIST_FILTERS = (
    'length',
    'first',
    'last',
    'sort',
    "join(',')",
    'unique',
    "map(attribute='size')",
    'sum',
    'min',
    'max',
    'default([])',
    "selectattr('size', 'gt', 4)",
    'first | int',
)
NODE_PLACES = (
    '/resource_class',
    '/extra/tag',
    '/extra/m',
    '/extra/m/k',
    '/extra/m/j',
    '/extra/n',
    '/extra/hw/size/gb',
    '/extra/hw',
    '/extra/l/0',
    '/extra/l/-',
    '/name',
    '/driver_info/a',
    '/properties/p',
    '/extra',
    '/properties/capabilities',
    '/properties',
    '/description',
    '/extra/l',
)
INSPECTOR_FIELDS = (
    'data://t',
    'data://inventory.cpu.count',
    'node://extra.tag',
    'node://extra',
    'node://name',
)
TYPED_ATTRIBUTES = (
    '/name',
    '/description',
    '/maintenance',
    '/extra',
    '/driver_info',
    '/resource_class',
    '/owner',
    '/instance_uuid',
)
DATA_PLACES = (
    '/t',
    '/n',
    '/m',
    '/m/k',
    '/m/j',
    '/tags',
    '/tags/0',
    '/tags/-',
    '/deep/er/k',
)


class Theme(typing.NamedTuple):
    """What a set of rules is about, so that its rules meet.

    ``asks`` and ``does`` are kinds of conditions and of actions: methods of
    :class:`.rules.Grammar`. No ``literals`` or ``regexes`` are those of all
    themes, no ``filters`` those that fit a field. ``items`` are fields of
    items of loops, which have the names in them; each rule has ``vars``.
    """

    fields: tuple[str, ...]
    asks: tuple[str, ...]
    does: tuple[str, ...]
    places: tuple[str, ...] = ('/extra/tag', '/resource_class')
    data: tuple[str, ...] = ('/t',)
    lists: tuple[str, ...] = ('plugin_data.tags',)
    literals: tuple[typing.Any, ...] = ()
    filters: tuple[str, ...] = ()
    regexes: tuple[str, ...] = ()
    loops: float = 0
    items: tuple[str, ...] = ('item', 'item.k')
    vars: tuple[str, ...] = ()


_EXTRA = ('node.extra', 'node.extra.m', 'node.extra.m.k')
_DATA = ('plugin_data', 'plugin_data.m', 'plugin_data.m.k')

THEMES = (
    # Mappings from which rules take entries, and those they put there.
    Theme(
        _EXTRA,
        ('state',),
        ('delete', 'delete', 'set'),
        places=('/extra', '/extra/m', '/extra/m/k'),
        literals=('a', 1),
    ),
    Theme(
        _DATA,
        ('state',),
        ('data',),
        data=('/m', '/m/k', '/m/j'),
        literals=('a', 1),
    ),
    Theme(
        ('node.properties', 'node.properties.p'),
        ('state', 'comparison'),
        ('capability', 'set', 'delete'),
        places=('/properties', '/properties/p', '/extra/tag'),
        literals=('a', 1),
    ),
    # Capabilities that several rules set.
    Theme(
        ('inventory.cpu.count', 'plugin_data.t'),
        ('comparison', 'state'),
        ('capability',),
        literals=('a', 'b', 1),
    ),
    # Traits, of which nobody has a list.
    Theme(
        ('node.traits',),
        ('state', 'trait_asked'),
        ('trait', 'traits_set', 'third_trait', 'set'),
        literals=('CUSTOM_A', 1),
    ),
    Theme(
        ('node.traits', 'plugin_data.t'),
        ('trait_asked', 'comparison'),
        ('trait_made', 'trait', 'traits_set', 'set'),
        literals=('CUSTOM_A', 'a', 'A', ['CUSTOM_A'], []),
        filters=('trait', 'length'),
    ),
    # Texts, characters and regular expressions.
    Theme(
        ('plugin_data.t',),
        ('match', 'match', 'comparison'),
        ('set', 'fail'),
        literals=TEXTS,
    ),
    Theme(
        ('plugin_data.t', 'node.extra.tag'),
        ('match', 'comparison'),
        ('set', 'data'),
        literals=('HPE', 'HPE\n', ''),
        regexes=('^HPE$', 'HPE', '^$', r'\s'),
    ),
    Theme(
        ('plugin_data.t',),
        ('comparison', 'match'),
        ('set', 'data'),
        literals=('a', 'A', ' a', 'K', '\u212a', 1),
        filters=(
            'lower',
            'upper',
            'trim',
            "replace('a', 'b')",
            'length',
            'int',
            "default('a', true)",
            "split(',')",
        ),
    ),
    # Numbers, with fractions and as text.
    Theme(
        ('inventory.cpu.count', 'plugin_data.n'),
        ('comparison', 'comparison', 'state'),
        ('set', 'data', 'fail'),
        places=('/extra/n', '/resource_class'),
        data=('/n',),
        literals=(4, 5, '4', 4.5),
        filters=('abs', 'round', 'int', 'float', 'add(1)', 'divide(2)'),
    ),
    # Numbers that Python rounds when it calculates with them.
    Theme(
        ('plugin_data.n', 'plugin_data.tags | length'),
        ('comparison', 'comparison', 'state'),
        ('set', 'data', 'fail'),
        places=('/extra/n', '/resource_class'),
        data=('/n',),
        literals=(0.1, 0.3, 1, 3, 2**53 + 1, 1e16, 1e23, 10**23),
        filters=(
            'add(1)',
            'subtract(3)',
            'multiply(3)',
            'divide(3)',
            'divide(0.1)',
            'divide(1024)',
            'float',
            'int',
            'round(-1)',
        ),
    ),
    # What may be missing, for an op that takes null instead.
    Theme(
        ('plugin_data.n', 'plugin_data.t', 'node.extra.n'),
        ('third_party', 'third_party', 'comparison', 'state'),
        ('set', 'delete', 'data', 'fail'),
        places=('/extra/n',),
        data=('/n', '/t'),
        literals=(1, 5, 'a', 'b', None),
    ),
    # Places that rules make of what a machine sends.
    Theme(
        (*_EXTRA, 'plugin_data.t'),
        ('state', 'comparison'),
        ('set_made', 'delete', 'set'),
        places=('/extra/m', '/extra/m/k'),
        literals=('m', 'a', 'm/k', 1),
    ),
    Theme(
        (*_DATA, 'plugin_data.t'),
        ('state', 'comparison'),
        ('data_made', 'data', 'set'),
        data=('/m', '/m/k'),
        literals=('m', 'a', 'm/k', 1),
    ),
    # What nobody knows, and what is made of it.
    Theme(
        ('node.extra.tag', 'node.extra.tag.k', 'node.extra'),
        ('comparison', 'state', 'third_party'),
        ('third', 'third', 'set', 'set', 'delete'),
        places=('/extra/tag', '/extra/tag', '/extra/tag/k'),
        literals=('a', 'third', None),
        loops=0.1,
        lists=('node.extra.tag',),
        filters=('upper', "default('a')", 'length'),
    ),
    # What may be missing, and what may be an error, both unknown.
    Theme(
        (
            'node.properties.capabilities',
            'plugin_data.t | int',
            'plugin_data.t',
        ),
        ('comparison', 'comparison', 'state', 'third_party', 'match'),
        ('set', 'set', 'data'),
        literals=('a', 1, 'x'),
        regexes=('x', '1'),
    ),
    Theme(
        ('node.properties.capabilities', 'node.extra.tag'),
        ('comparison', 'state', 'match'),
        ('capability', 'set', 'set'),
        places=('/extra/tag', '/properties/capabilities'),
        literals=('c:1', 'C:1', ''),
        filters=('upper', 'lower', 'trim', 'length'),
        regexes=('c:1', '^C', '^$'),
    ),
    # Lists and their items, more than are looked at among them.
    Theme(
        ('plugin_data.tags', 'plugin_data.tags[0]', 'plugin_data.tags[6]'),
        ('comparison', 'state', 'membership', 'match'),
        ('extend', 'data', 'set'),
        data=('/tags', '/tags/0', '/tags/-'),
        literals=('a', 1, [], ['a']),
        filters=(*LIST_FILTERS, "join('-')"),
        regexes=(r'^\[', 'a'),
    ),
    Theme(
        ('node.extra.l', 'node.extra.l[0]'),
        ('comparison', 'state', 'membership'),
        ('extend', 'set', 'delete'),
        places=('/extra/l', '/extra/l/0', '/extra/l/-'),
        lists=('node.extra.l',),
        literals=('a', 1, ['a']),
        loops=0.3,
    ),
    Theme(
        ('plugin_data.tags', 'plugin_data.t'),
        ('comparison', 'membership'),
        ('set', 'data', 'fail', 'third'),
        data=('/t', '/tags'),
        lists=(
            'plugin_data.tags',
            'plugin_data.tags | sort',
            "plugin_data.t | split(',')",
        ),
        literals=('a', 1, ['{plugin_data.t}', '{plugin_data.n | int}']),
        loops=0.6,
    ),
    Theme(
        ('node.extra.n', 'node.extra.n | add(1)'),
        ('comparison',),
        ('set', 'set', 'data'),
        places=('/extra/n',),
        data=('/tags',),
        literals=(0, 1, 5, 6),
        loops=0.5,
    ),
    # Arguments of another type than the op takes, or that it refuses.
    Theme(
        ('node.properties', 'node.traits', 'vars.name'),
        ('state',),
        ('argument', 'argument', 'set', 'traits_set', 'capability'),
        places=('/properties', '/extra/tag'),
        vars=('name',),
        literals=(
            'a',
            'a,b',
            'a:b',
            '',
            None,
            ['CUSTOM_A'],
            1,
            'HW_CPU_X86_VMX',
            ['HW_CPU_X86_VMX'],
        ),
    ),
    # Arguments and attributes of any type, which only a machine's data tell.
    Theme(
        ('plugin_data.t', 'plugin_data.n', 'node.properties', 'vars.name'),
        ('typed_asked', 'typed_asked', 'comparison', 'state'),
        ('typed', 'typed', 'typed', 'set'),
        vars=('name',),
        places=('/extra', '/extra/tag', '/resource_class'),
        literals=(
            'a',
            'true',
            'no',
            '',
            '8',
            1,
            0,
            2.5,
            True,
            None,
            [],
            ['a'],
            {},
            {'k': 'a'},
            'CUSTOM_A',
            '10.0.0.0/8',
        ),
        filters=('int', 'length', "default('a')"),
    ),
    # Conditions of ironic-inspector, which look into the data themselves.
    Theme(
        ('plugin_data.t', 'node.extra.tag', 'node.name | int'),
        ('inspector', 'inspector', 'comparison', 'state'),
        ('set', 'set', 'delete', 'fail', 'data'),
        places=('/extra/tag', '/extra', '/resource_class'),
        literals=('a', '{node.name}', '1', 1, 'b'),
    ),
    # Tokens of paths, which are of lists or of mappings.
    Theme(
        (
            'node.extra.m',
            'node.extra.m[-]',
            'node.extra.m[0]',
            'plugin_data.t',
        ),
        ('state', 'comparison', 'match'),
        ('set_made', 'set_made', 'data', 'set'),
        data=('/t',),
        places=('/extra/m', '/extra/m/0', '/extra/m/-'),
        literals=('-', '0', 1, []),
        regexes=(r'\[', r'\{'),
    ),
    # Second names of a place.
    Theme(
        (
            'plugin_data.bmc_address',
            'inventory.bmc_address',
            'inventory.bmc_v6address',
        ),
        ('state', 'comparison'),
        ('data', 'set'),
        data=('/bmc_address',),
        literals=('a', '', '1'),
    ),
    Theme(
        ('ports', 'node.extra.tag'),
        ('comparison', 'state'),
        ('port', 'port', 'third', 'set'),
        places=('/extra/tag',),
        lists=('ports', 'inventory.interfaces'),
        loops=0.2,
    ),
    # Secrets, and what only has such a name.
    Theme(
        (
            'node.driver_info.password',
            'node.extra.m.password',
            'node.extra.m',
            'vars.password',
        ),
        ('state', 'comparison', 'match'),
        ('set', 'set', 'log', 'fail', 'call', 'data'),
        places=('/extra/m', '/extra/m/password', '/extra/tag'),
        lists=('node.extra.l', 'node.extra.m'),
        loops=0.2,
        items=('item', 'item.password'),
        vars=('password',),
        literals=(
            'a',
            '******',
            '******',
            {'password': 'a'},
            {'password': ''},
        ),
        filters=('length', "get('password')", "default('a')"),
        regexes=('\\*', 'a', '^$'),
    ),
    # Texts, never null, of which an op of others may take some for errors.
    Theme(
        ("node.name | default('b', true)",),
        ('third_party',),
        ('set', 'set', 'log'),
        literals=('a', 'ax', 'b'),
    ),
    # Values that nobody knows and that may be missing, and errors.
    Theme(
        (
            "node.name | default('b', true) | lookup({'a': 'b'})",
            'node.traits | trait',
            'node.name',
        ),
        ('comparison', 'state'),
        ('set', 'log', 'fail'),
        places=('/extra/tag', '/extra'),
        literals=('a', 'b', 1),
    ),
    # Actions that change no data, and fail for some.
    Theme(
        ('plugin_data.t', 'plugin_data.n', 'node.extra.tag'),
        ('comparison', 'match', 'state'),
        ('log', 'log', 'fail', 'call', 'set', 'third'),
        loops=0.2,
        places=('/extra/tag',),
        literals=('a', 1, 'http://a'),
        filters=('int', 'float', "split(',')", 'length'),
    ),
)
FRAMES: tuple[dict[str, typing.Any], ...] = (
    {'scope': 's'},
    {'scope': 's'},
    {'mode': 'audit'},
    {'mode': 'audit'},
    {'phase': 'preprocess'},
    {'priority': 5},
)
ASKS = (
    *5 * ('comparison',),
    *2 * ('match',),
    *2 * ('state',),
    'membership',
    'trait_asked',
    'subnet',
    'version',
    'third_party',
)
DOES = (
    *5 * ('set',),
    *2 * ('delete',),
    *2 * ('extend',),
    *3 * ('data',),
    'capability',
    *3 * ('trait',),
    'traits_set',
    'port',
    'fail',
    'other',
    'third',
)
