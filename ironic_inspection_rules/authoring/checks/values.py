# SPDX-License-Identifier: Apache-2.0

"""Values that are compared with a field and that it never has."""

from collections.abc import Iterator
import re
import typing

from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import facts
from ironic_inspection_rules.authoring.checks import reach
from ironic_inspection_rules.authoring.mending import text as file_text
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine import inventory_fields
from ironic_inspection_rules.rule_file import file_rule

_MAC = re.compile(r'(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}')
_VERSION = re.compile(r'[vV]?\d+(?:\.\d+)+')
_BOOLEANS = {'true': True, 'yes': True, 'on': True,
             'false': False, 'no': False, 'off': False}

_WORDS: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {
    ('inventory', 'cpu', 'architecture'): {
        'x86_64': ('amd64', 'x64', 'x86-64', 'em64t'),
        'aarch64': ('arm64', 'armv8'), 'ppc64le': (), 'ppc64': (),
        's390x': (), 'riscv64': (), 'i686': ('i386', 'x86'), 'armv7l': ()},
    ('inventory', 'boot', 'current_boot_mode'): {
        'bios': ('legacy', 'csm'), 'uefi': ('efi',)},
}
"""Words that a field has, each with what else people call it."""

_SMALLEST_BYTES = 10 ** 6
_LARGEST_MEBIBYTES = 2 ** 31
_GIBIBYTES = frozenset((4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384,
                        512, 768))
"""Sizes of memory as people say them; in MiB, hardly a machine has them."""

_ORDERED = frozenset(('lt', 'le', 'gt', 'ge'))
_SEQUENCES = frozenset(('list', 'mapping'))


class Slip(typing.NamedTuple):
    """Mistake in a value, and the value that is meant if that is clear."""

    message: str
    meant: typing.Any = None

    @classmethod
    def of(cls, text: str, steps: tuple[str, ...], meant: typing.Any = None,
           **said: typing.Any) -> 'Slip':
        """Return the slip in what a field is compared with."""
        return cls(text % {'field': '.'.join(steps), 'meant': meant, **said},
                   meant)


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find values that no machine has in the field beside them."""
    for pointer, _value, slip in _slips(rule):
        yield pointer, slip.message


def mendings(rule: checked_rule.CheckedRule) -> Iterator[file_text.Change]:
    """Yield what puts the meant value in the place of one."""
    for pointer, value, slip in _slips(rule):
        if slip.meant is not None:
            yield file_text.Replace(pointer, value, slip.meant)
    for condition in rule.all_conditions:
        yield from _version_mendings(rule, condition)


def _version_mendings(rule: checked_rule.CheckedRule,
                      condition: file_rule.Operation
                      ) -> Iterator[file_text.Change]:
    items = condition.arguments.get('values')
    if condition.arguments_given != ['values'] or not isinstance(items, list):
        return
    stated = facts.of(condition, looped=True)
    if not stated or len(stated) != len(items) - 1 or not all(_version_slip(
            steps_of(fact.field), fact.relation, fact.value)
            for fact in stated):
        return
    name = condition.op.name
    yield file_text.Rewrite(f'{condition.pointer}/op', name,
                         f'{plugin.VERSION}{name}')
    for fact in stated:
        pointer = _place(condition, fact.value)
        if not isinstance(fact.value, str):
            yield file_text.Replace(
                pointer, fact.value, rule.written.source.plain.get(
                    (rule.written.index, pointer), str(fact.value)))


def _slips(rule: checked_rule.CheckedRule
           ) -> Iterator[tuple[str, typing.Any, Slip]]:
    for condition in rule.all_conditions:
        item = reach.item_of(rule.conditions, condition)
        # What takes nothing but the value has its texts from the op.
        stated = facts.of(condition, looped=True) if (
            condition.arguments.keys() - {'value'}) else ()
        for fact in stated:
            steps = steps_of(fact.field, item)
            several = fact.relation.endswith('-of')
            for value in fact.value if several else [fact.value]:
                slip = _slip(steps, fact.relation, value)
                if slip:
                    yield _place(condition, value), value, slip
        value, regex = map(condition.arguments.get, ('value', 'regex'))
        if facts.is_field(value) and isinstance(regex, str):
            slip = _pattern_slip(steps_of(facts.field_name(value), item),
                                 regex)
            if slip:
                yield condition.pointer_to('regex'), regex, slip
    for operation in rule.operations:
        for name, argument in operation.templates.items():
            for field in interpolation.fields(argument):
                for slip in _in_filters(field):
                    yield operation.pointer_to(name), argument, slip


def steps_of(field: str, item: reach.Item | None = None) -> tuple[str, ...]:
    """Return the steps of a field as facts name it, none if unknown."""
    if not field.startswith('/'):
        return ()
    return reach.Use('', field, data_path.parse(field), item).from_roots or ()


def _place(operation: file_rule.Operation, value: typing.Any) -> str:
    found = [('args', *path) for path, each
             in data_path.walk(operation.written.get('args'))
             if data_path.same(each, value)]
    nearest = min(found, key=len) if found else ()
    return operation.pointer + data_path.pointer(nearest)


def type_of(steps: tuple[str, ...]) -> str | None:
    """Return the type of inspection data, None where it is unknown."""
    found = inventory_fields.find(inventory_fields.known(), steps)
    return found.type if isinstance(found, inventory_fields.Field) else None


def _slip(steps: tuple[str, ...], relation: str,
          value: typing.Any) -> Slip | None:
    if not steps or value is None:
        return None
    kind = type_of(steps)
    if relation.startswith(plugin.VERSION):
        return Slip.of(_('{%(field)s} is a %(kind)s, and no version'), steps,
                       kind=kind) if kind not in (None, 'text') else None
    if isinstance(value, str):
        return (_text_slip(steps, kind, relation, value)
                or _version_slip(steps, relation, value))
    if isinstance(value, list) and relation in ('eq', 'ne') and (
            kind not in (None, 'list')):
        return Slip.of(_('{%(field)s} is no list, and never equal to one; '
                         'use one-of'), steps)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if kind in _SEQUENCES:
        return Slip.of(_('{%(field)s} is a %(kind)s, and never %(value)s; '
                         'did you mean {%(field)s | length}?'), steps,
                       kind=kind, value=value)
    return _size_slip(steps, value) or _version_slip(steps, relation, value)


def _text_slip(steps: tuple[str, ...], kind: str | None, relation: str,
               value: str) -> Slip | None:
    if kind == 'boolean' and value:
        return Slip.of(_('{%(field)s} is true or false, never the text '
                         '"%(value)s"'), steps, _BOOLEANS.get(value.lower()),
                       value=value)
    if kind in _SEQUENCES and value:
        return Slip.of(_('{%(field)s} is a %(kind)s, never the text '
                         '"%(value)s"'), steps, kind=kind, value=value)
    if kind == 'number' and relation in ('eq', 'one-of') and (
            facts.number(value) is None and re.fullmatch(r'[^\d\s]+', value)):
        return Slip.of(_('{%(field)s} is a number, never the text '
                         '"%(value)s"'), steps, value=value)
    is_mac = steps[-1] in ('mac_address', 'bmc_mac') or (
        steps[0] == 'ports' and steps[-1] == 'address')
    plain = value.lower().replace('-', ':')
    if is_mac and _MAC.fullmatch(value) and plain != value:
        return Slip.of(_('{%(field)s} is in lower case with colons, never '
                         '"%(value)s"; did you mean "%(meant)s"?'), steps,
                       plain, value=value)
    words = _WORDS.get(steps, {})
    for word, others in words.items() if value not in words else ():
        if value.lower() in (word, *others):
            return Slip.of(_('{%(field)s} is never "%(value)s"; did you mean '
                             '"%(meant)s"?'), steps, word, value=value)
    return None


def _version_slip(steps: tuple[str, ...], relation: str,
                  value: typing.Any) -> Slip | None:
    if not steps or relation not in _ORDERED or (
            'version' not in steps[-1]) or (
            isinstance(value, str) and not _VERSION.fullmatch(value)):
        return None
    return Slip(_('versions are not in order as text or numbers: 2.10 is '
                  'above 2.9; use version-%s') % relation)


def _size_slip(steps: tuple[str, ...], value: float) -> Slip | None:
    if steps[-1] in ('size', 'total') and (
            steps[0] in ('inventory', 'plugin_data')
            and 0 < value < _SMALLEST_BYTES):
        return Slip.of(_('{%(field)s} is in bytes; did you mean %(gib)d, '
                         'which is %(value)s GiB?'), steps, value=value,
                       gib=value * 2 ** 30)
    if steps[-1] == 'physical_mb' and value in _GIBIBYTES:
        return Slip.of(_('{%(field)s} is in MiB; did you mean %(mib)d, which '
                         'is %(value)s GiB?'), steps, value=value,
                       mib=value * 1024)
    if steps[-1] == 'physical_mb' and value >= _LARGEST_MEBIBYTES:
        return Slip.of(_('{%(field)s} is in MiB, of which %(value)s are '
                         "hardly any machine's"), steps, value=value)
    return None


def _pattern_slip(steps: tuple[str, ...], regex: str) -> Slip | None:
    words = _WORDS.get(steps)
    plain = re.sub(r'\(\?i\)', '', regex)
    if words and re.fullmatch(r'[\^$\w|()-]+', plain):
        flags = re.IGNORECASE if plain != regex else 0
        if not any(re.search(plain, word, flags) for word in words):
            return Slip.of(_('{%(field)s} is one of %(words)s, and none '
                             'matches "%(regex)s"'), steps, regex=regex,
                           words=', '.join(words))
    found = re.search(r'(?<=[\w ])\((?!\?)([^()|\\\[\]{}*+?]*[= ]'
                      r'[^()|\\\[\]{}*+?]*)\)(?![*+?{])', regex)
    if found and not found[1].strip('=') == '':
        meant = (f'{regex[:found.start()]}\\({found[1]}\\)'
                 f'{regex[found.end():]}')
        return Slip.of(_('the parentheses in "%(regex)s" make a group and '
                         'match none in the text; did you mean '
                         '"%(meant)s"?'), steps, meant, regex=regex)
    return None


def _in_filters(field: interpolation.Field) -> Iterator[Slip]:
    if field.root is None:
        return
    for call in field.filters:
        given = [value for _name, value in call.arguments]
        if call.name in ('selectattr', 'rejectattr') and len(given) == 3 and (
                isinstance(given[0], str) and isinstance(given[1], str)
                and not isinstance(given[2], interpolation.Field)):
            slip = _slip((field.root, *field.steps, reach.MEMBER,
                          *given[0].split('.')), given[1], given[2])
            if slip:
                yield slip._replace(meant=None)
    first = registry.filters().get(field.filters[0].name) if (
        field.filters) else None
    kind = type_of((field.root, *field.steps))
    if first and kind and first.plugin.TAKES and (
            kind not in first.plugin.TAKES):
        yield Slip.of(_('{%(field)s} is a %(kind)s, which the filter '
                        '%(filter)s does not take'),
                      (field.root, *field.steps), kind=kind, filter=first.name)
