# SPDX-License-Identifier: Apache-2.0

"""JSON patches (RFC 6902) of rules."""

import copy
import json
import math
from typing import Any

import jsonpatch
import jsonpointer

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import view
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.i18n import _

_NEEDED_MEMBERS = {
    'add': 'value',
    'replace': 'value',
    'test': 'value',
    'move': 'from',
    'copy': 'from',
    'remove': None,
}
_ERRORS_OF_LIBRARIES = (
    jsonpatch.JsonPatchException,
    jsonpointer.JsonPointerException,
    LookupError,
    TypeError,
    ValueError,
)
MOST_OPERATIONS = 100
"""How many operations one patch may have."""

MOST_CHARACTERS = 2**20
"""How large a patch may make a rule, where the caller has no other limit."""

# Copies of copies grow without bound, and moves get deeper.
_LIMITS = budget.Limits(time=2.0, operations=math.inf)

# Characters between two members or items, as the budget counts them.
_SEPARATOR_LENGTH = 2

# What "openstack baremetal inspection rule unset --condition 0" sends.
_NAMES_OF_SHIPPED_CLIENT = {'condition': 'conditions', 'action': 'actions'}


def apply(
    fields: dict[str, Any], patch: Any, most_characters: int = MOST_CHARACTERS
) -> dict[str, Any]:
    """Return the fields of a rule as a patch changes them.

    The caller checks whether they are still a valid rule.

    :param fields: the fields that a client may set.
    :param patch: as it came from the client; it is applied whole or not at
        all. What it removes is absent from the result.
    :param most_characters: how large, as JSON, the patch may make the rule; a
        rule that is larger already may stay so.
    :raises: Invalid if it is no patch, cannot be applied, takes too long,
        writes a field that is read only, or would reveal secrets of a
        sensitive rule.
    """
    if not isinstance(patch, list):
        raise exceptions.Invalid(_('A JSON patch must be a list'))
    if len(patch) > MOST_OPERATIONS:
        raise exceptions.Invalid(
            _(
                'A JSON patch may have at most %(most)d operations, not '
                '%(count)d'
            )
            % {'most': MOST_OPERATIONS, 'count': len(patch)}
        )
    # This also refuses what would reveal secrets.
    operations = _check_operations(patch, fields)
    # A copy with plain lists: those of stored objects convert their items.
    result: Any = json.loads(json.dumps(fields))
    size = _RuleSize(result, most_characters)
    for position, operation in enumerate(operations):
        try:
            result = _apply_operation(operation, result, size)
        except exceptions.Invalid as exc:
            raise exceptions.InvalidBody(
                [_problem_of_refusal(position, exc)]
            ) from exc
        except _ERRORS_OF_LIBRARIES as exc:
            raise exceptions.InvalidBody(
                [_problem_of_failure(position, operation, fields)]
            ) from exc
    if not isinstance(result, dict):
        raise exceptions.Invalid(_('A rule must be a mapping'))
    # An operation on the whole document may have left the UUID out.
    uuid_afterwards = result.setdefault('uuid', fields['uuid'])
    if uuid_afterwards != fields['uuid']:
        raise exceptions.Invalid(_('/uuid is read only'))
    return result


def _apply_operation(
    operation: dict[str, Any], document: Any, size: '_RuleSize'
) -> Any:
    """Return a document as an operation changes it.

    A move is checked and applied as a removal and an addition.

    :param document: the rule after the operations before; it may be changed in
        place.
    :param size: the size of the document, with the limits.
    :raises: Invalid if the operation must not be applied, one of
        :data:`_ERRORS_OF_LIBRARIES` if it cannot be applied.
    """
    for step in _split_move(operation, document):
        size.check(step, document)
        document = jsonpatch.apply_patch(document, [step], in_place=True)
    return document


def _check_operations(
    patch: list[Any], fields: dict[str, Any]
) -> list[dict[str, Any]]:
    """Check all operations of a patch before any of them is applied.

    :returns: copies of the operations, with the right names in their pointers.
    :raises: InvalidBody with the place of each that must not be applied.
    """
    operations = []
    refusals = []
    # A copy: what an operation adds, a later one may change in place.
    for position, operation in enumerate(copy.deepcopy(patch)):
        try:
            operations.append(_check_operation(operation, fields))
        except exceptions.Invalid as exc:
            refusals.append(_problem_of_refusal(position, exc))
    if refusals:
        raise exceptions.InvalidBody(refusals)
    return operations


class _RuleSize:
    """The size of a rule that a patch changes, checked before it grows.

    It is exact as the budget counts characters, so that many operations
    cannot add up errors.

    :param document: the rule as it is before the patch.
    :param most: how many characters it may have as JSON, as far as the patch
        makes it grow.
    """

    def __init__(self, document: Any, most: int) -> None:
        # For all operations together: it measures them, and has the time.
        self._budget = budget.Budget(_LIMITS)
        # Characters of the document as JSON, after the operations so far.
        self._size = self._budget.measure(document)
        self._most = max(most, self._size)

    def check(self, operation: dict[str, Any], document: Any) -> None:
        """Refuse an operation after which the rule would be too large or deep.

        :param document: the rule after the operations before.
        :raises: Invalid also if all operations together take too long.
        """
        try:
            self._budget.check_time()
        except exceptions.BudgetExceeded as exc:
            raise exceptions.Invalid(
                _('all operations together take longer than %g seconds')
                % _LIMITS.time
            ) from exc
        try:
            self._size += self._added_characters(operation, document)
        except exceptions.BudgetExceeded as exc:
            raise exceptions.Invalid(
                _('it would make the rule deeper than %d levels')
                % _LIMITS.depth
            ) from exc
        if self._size > self._most:
            raise exceptions.Invalid(
                _('it would make the rule larger than %d characters')
                % self._most
            )

    def _added_characters(
        self, operation: dict[str, Any], document: Any
    ) -> int:
        """Return how many characters an operation adds to a document.

        The number is negative where it removes more than it adds.

        :param operation: any operation but ``move``.
        :raises: BudgetExceeded if a value would be nested too deep.
        """
        op = operation['op']
        target = jsonpointer.JsonPointer(operation['path'])
        if op == 'test':
            return 0
        if op == 'remove':
            return -self._removed_characters(target, document)
        if op == 'copy':
            source = jsonpointer.JsonPointer(operation['from'])
            new_value = source.resolve(document, None)
        else:
            new_value = operation.get('value')
        added = self._measure(new_value, len(target.parts))
        inserts = op in ('add', 'copy')
        if inserts and _is_in_list(target, document):
            # All other items of the list stay.
            return added + _SEPARATOR_LENGTH
        old_value = target.resolve(document, data_path.ABSENT)
        if old_value is data_path.ABSENT:
            # A new member of a mapping has a name.
            return added + len(target.parts[-1]) + _SEPARATOR_LENGTH
        # The new value replaces the old one; its name and separator stay.
        return added - self._measure(old_value)

    def _removed_characters(
        self, pointer: jsonpointer.JsonPointer, document: Any
    ) -> int:
        """Return how many characters a document loses with a value."""
        size = self._measure(pointer.resolve(document, None))
        is_whole_document = not pointer.parts
        if is_whole_document:
            return size
        if not _is_in_list(pointer, document):
            # A member of a mapping has a name.
            size += len(pointer.parts[-1])
        return size + _SEPARATOR_LENGTH

    def _measure(self, value: Any, depth: int = 1) -> int:
        """Return the size of a value inside a document.

        :param depth: how many levels the value is nested in.
        :raises: BudgetExceeded if it is nested too deep.
        """
        brackets = 2
        in_list = self._budget.measure([value], depth - 1)
        return in_list - brackets - _SEPARATOR_LENGTH


def _split_move(
    operation: dict[str, Any], document: Any
) -> list[dict[str, Any]]:
    """Split a move into a removal and an addition; return others as they are.

    The removal comes first: it may shift the items of the list to which the
    value moves.

    :raises: JsonPointerException if there is nothing to move.
    """
    if operation['op'] != 'move':
        return [operation]
    value = jsonpointer.resolve_pointer(document, operation['from'])
    if operation['path'] == operation['from']:
        # Nothing moves: the members of a mapping keep their order, in which
        # vars are computed. It is a test that the value is there.
        return [{'op': 'test', 'path': operation['path'], 'value': value}]
    return [
        {'op': 'remove', 'path': operation['from']},
        {'op': 'add', 'path': operation['path'], 'value': value},
    ]


def _is_in_list(target: jsonpointer.JsonPointer, document: Any) -> bool:
    """Return whether a place is in a list, so that its name has no size."""
    if not target.parts:
        return False
    *parents, _name = target.parts
    parent = jsonpointer.JsonPointer.from_parts(parents).resolve(
        document, None
    )
    return isinstance(parent, list)


def _problem_of_refusal(
    position: int, reason: exceptions.Invalid
) -> exceptions.Problem:
    """Return the problem of an operation that must not be applied."""
    return exceptions.Problem(
        f'/{position}',
        _('Operation %(position)d of the JSON patch: %(reason)s')
        % {'position': position, 'reason': reason},
    )


def _problem_of_failure(
    position: int, operation: dict[str, Any], fields: dict[str, Any]
) -> exceptions.Problem:
    """Return the problem of an operation that could not be applied."""
    return exceptions.Problem(
        f'/{position}',
        _(
            'Operation %(position)d of the JSON patch (%(op)s "%(path)s") '
            'cannot be applied: %(reason)s'
        )
        % {
            'position': position,
            **operation,
            'reason': _why_it_failed(operation, fields),
        },
    )


def _check_operation(operation: Any, rule: dict[str, Any]) -> dict[str, Any]:
    """Check an operation, and return it with corrected pointers.

    Ironic's command line writes ``/condition/0`` for ``/conditions/0``.

    :param rule: the fields of the stored rule.
    :raises: Invalid if it is no operation, or must not be applied.
    """
    if not isinstance(operation, dict):
        raise exceptions.Invalid(_('it must be a mapping'))
    op = operation.get('op')
    if not isinstance(op, str) or op not in _NEEDED_MEMBERS:
        raise exceptions.Invalid(
            f'"op" {suggestion.not_one_of(op, sorted(_NEEDED_MEMBERS))}'
        )
    needed = _NEEDED_MEMBERS[op]
    if needed and needed not in operation:
        raise exceptions.Invalid(_('"%s" is missing') % needed)
    pointers = {'path': _parse_pointer(operation, 'path')}
    if needed == 'from':
        pointers['from'] = _parse_pointer(operation, 'from')
    if op != 'test':
        _refuse_read_only(pointers['path'])
    if op == 'move':
        # A move removes what it takes.
        _refuse_read_only(pointers['from'])
    stored_rule.check_patch(rule, op, pointers.values())
    checked = dict(operation)
    for name, parts in pointers.items():
        checked[name] = jsonpointer.JsonPointer.from_parts(parts).path
    return checked


def _why_it_failed(operation: dict[str, Any], fields: dict[str, Any]) -> str:
    """Return why an operation failed, for the answer to the client.

    No value is shown, as the rule may be sensitive.
    """
    names = ['path']
    if _NEEDED_MEMBERS[operation['op']] == 'from':
        names.append('from')
    for name in names:
        parts = jsonpointer.JsonPointer(operation[name]).parts
        # Such as "revision" and "created_at", which answers show, but which no
        # body sets.
        if parts and parts[0] in model.SHOWN:
            return (
                _('/%s is read only, and no patch can test or copy it')
                % parts[0]
            )
        if parts and parts[0] not in fields:
            return suggestion.unknown(_('field'), parts[0], fields)
    if operation['op'] == 'test':
        return _('the value is another one')
    return _('there is nothing to work on at this place')


def _parse_pointer(operation: dict[str, Any], name: str) -> list[str]:
    """Parse a pointer of an operation: ``/actions/0`` is ``actions``, ``0``.

    ``/condition/0`` of python-ironicclient is ``conditions``, ``0`` as well.

    :param name: ``path`` or ``from``.
    """
    try:
        parts = jsonpointer.JsonPointer(operation[name]).parts
    except _ERRORS_OF_LIBRARIES as exc:
        raise exceptions.Invalid(
            _('"%s" must be a JSON pointer') % name
        ) from exc
    if len(parts) > 1 and parts[0] in _NAMES_OF_SHIPPED_CLIENT:
        parts[0] = _NAMES_OF_SHIPPED_CLIENT[parts[0]]
    return parts


def _refuse_read_only(parts: list[str]) -> None:
    if parts and parts[0] in view.READ_ONLY:
        raise exceptions.Invalid(_('/%s is read only') % parts[0])
