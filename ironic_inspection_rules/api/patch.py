# SPDX-License-Identifier: Apache-2.0

"""JSON patches (RFC 6902) of rules.

A patch is a list of operations, which are applied one after another: ``[{'op':
'replace', 'path': '/priority', 'value': 5}, {'op': 'copy', 'from':
'/actions/0', 'path': '/actions/1'}]``. A path is a JSON pointer; its parts are
here ``actions`` and ``1``. Operations must not read or write some fields, and
must not make the rule too large. Its size is measured with the *budget*, which
also limits the data that rules work on: its length as JSON, its depth, and the
time.
"""

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
"""The member that an operation needs in addition to ``op`` and ``path``."""

_ERRORS_OF_LIBRARIES = (
    jsonpatch.JsonPatchException,
    jsonpointer.JsonPointerException,
    LookupError,
    TypeError,
    ValueError,
)
MOST_OPERATIONS = 100
"""Maximum number of operations of a patch."""

MOST_CHARACTERS = 2**20
"""How large a patch may make a rule if the caller sets no other limit."""

# Limits are needed because repeated copies make a rule grow without bound, and
# repeated moves nest it deeper.
_LIMITS = budget.Limits(time=2.0, operations=math.inf)

# Number of characters between two members or items, as the budget counts them.
_SEPARATOR_LENGTH = 2

# The command "openstack baremetal inspection rule unset --condition 0" sends
# these wrong names.
_NAMES_OF_SHIPPED_CLIENT = {'condition': 'conditions', 'action': 'actions'}


def apply(
    fields: dict[str, Any], patch: Any, most_characters: int = MOST_CHARACTERS
) -> dict[str, Any]:
    """Apply a JSON patch to the fields of a rule, and return the new fields.

    For example, ``[{'op': 'replace', 'path': '/priority', 'value': 5}]``
    changes the priority. The caller must check whether the fields are still a
    valid rule.

    :param fields: the fields of the stored rule that a client may set. They
        are not changed.
    :param patch: the patch as the client sent it, of any type.
    :param most_characters: maximum length of the rule after the patch, as
        JSON. A rule that is already longer may keep its length.
    :returns: the fields after the patch; without the fields that it removes.
    :raises: Invalid if the patch is malformed, cannot be applied, takes too
        long, writes a read-only field, or would reveal secrets of a sensitive
        rule.
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
    # This refuses operations that write a read-only field or would reveal
    # secrets of a sensitive rule, before any operation is applied.
    operations = _check_operations(patch, fields)
    # Make a copy with plain lists, because the lists of stored objects would
    # convert values that the patch puts into them.
    rule: Any = json.loads(json.dumps(fields))
    size = _RuleSize(rule, most_characters)
    for position, operation in enumerate(operations):
        try:
            # A move is two steps. Any other operation is one step.
            for step in _split_move(operation, rule):
                # This raises Invalid if the rule would become too large.
                size.count(step, rule)
                rule = jsonpatch.apply_patch(rule, [step], in_place=True)
        except exceptions.Invalid as exc:
            raise exceptions.InvalidBody(
                [_problem_of_refusal(position, exc)]
            ) from exc
        except _ERRORS_OF_LIBRARIES as exc:
            raise exceptions.InvalidBody(
                [_problem_of_failure(position, operation, fields)]
            ) from exc
    # An operation with an empty path replaces the whole rule. The result may
    # be any value, or a rule with another UUID or without one.
    if not isinstance(rule, dict):
        raise exceptions.Invalid(_('A rule must be a mapping'))
    uuid_afterwards = rule.setdefault('uuid', fields['uuid'])
    if uuid_afterwards != fields['uuid']:
        raise exceptions.Invalid(_('/uuid is read only'))
    return rule


def _check_operations(
    patch: list[Any], fields: dict[str, Any]
) -> list[dict[str, Any]]:
    """Check all operations of a patch before any of them is applied.

    :returns: copies of the operations, with ``/condition/0`` corrected to
        ``/conditions/0``.
    :raises: InvalidBody with all operations that must not be applied.
    """
    operations = []
    problems = []
    # Make a copy, because a later operation may change in place the value that
    # an earlier operation adds, which would change the caller's patch.
    for position, operation in enumerate(copy.deepcopy(patch)):
        try:
            operations.append(_check_operation(operation, fields))
        except exceptions.Invalid as exc:
            problems.append(_problem_of_refusal(position, exc))
    if problems:
        raise exceptions.InvalidBody(problems)
    return operations


class _RuleSize:
    """The length of a rule while a patch changes it, in characters of JSON.

    Before an operation is applied, the characters that it adds are counted.
    The count is exactly what the budget would count in the whole rule, so no
    error accumulates over many operations.

    :param document: the rule before the patch.
    :param most: maximum number of characters after the patch.
    """

    def __init__(self, document: Any, most: int) -> None:
        # It counts characters, and the time of all operations together.
        self._budget = budget.Budget(_LIMITS)
        # Length of the document after the operations so far.
        self._size = self._budget.measure(document)
        # A rule that is already longer may keep its length.
        self._most = max(most, self._size)

    def count(self, operation: dict[str, Any], document: Any) -> None:
        """Add the characters of an operation to the length of the rule.

        An operation that would make the rule too large or too deep is refused.

        :param operation: the next operation, which is not applied yet.
        :param document: the rule after the previous operations.
        :raises: Invalid; also if all operations together take too long.
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

        The number is negative if the operation removes more than it adds.

        * ``test`` adds nothing, and ``remove`` removes the value.
        * ``add`` and ``copy`` to a list insert the value as a new item.
        * Otherwise the value is a new member of a mapping, or replaces a value
          that exists.

        :param operation: any operation except ``move``.
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
        length_of_new = self._measure(new_value, len(target.parts))
        inserts_into_lists = op in ('add', 'copy')
        if inserts_into_lists and _is_in_list(target, document):
            return length_of_new + _SEPARATOR_LENGTH
        old_value = target.resolve(document, data_path.ABSENT)
        if old_value is data_path.ABSENT:
            name_of_member = target.parts[-1]
            return length_of_new + len(name_of_member) + _SEPARATOR_LENGTH
        # The name and the separator of the replaced value stay.
        return length_of_new - self._measure(old_value)

    def _removed_characters(
        self, pointer: jsonpointer.JsonPointer, document: Any
    ) -> int:
        """Return how many characters a document loses if a value is removed.

        :param pointer: the place of the value, which may not exist.
        """
        size = self._measure(pointer.resolve(document, None))
        is_whole_document = not pointer.parts
        if is_whole_document:
            return size
        if not _is_in_list(pointer, document):
            # The value is a member of a mapping, so its name is removed too.
            size += len(pointer.parts[-1])
        return size + _SEPARATOR_LENGTH

    def _measure(self, value: Any, depth: int = 1) -> int:
        """Return the length of a value inside a document.

        :param depth: the number of levels that the value is nested in.
        :raises: BudgetExceeded if it is nested too deep.
        """
        # Measure the value as the only item of a list, because the budget
        # counts more characters for a number alone than for a number in a list
        # or mapping. It counts a separator for every item, even for the last.
        length_of_list = self._budget.measure([value], depth - 1)
        return length_of_list - len('[]') - _SEPARATOR_LENGTH


def _split_move(
    operation: dict[str, Any], document: Any
) -> list[dict[str, Any]]:
    """Return an operation as a list of steps, without "move".

    The move from ``/a`` to ``/b`` becomes ``[{'op': 'remove', 'path': '/a'},
    {'op': 'add', 'path': '/b', 'value': …}]``. The removal comes first,
    because it may shift the items of the list to which the value moves. Any
    other operation is the only step.

    :param document: the rule after the previous operations.
    :raises: JsonPointerException if there is no value to move.
    """
    if operation['op'] != 'move':
        return [operation]
    value = jsonpointer.resolve_pointer(document, operation['from'])
    if operation['path'] == operation['from']:
        # Nothing moves. A removal and an addition would put the value at the
        # end of its mapping, but vars are computed in the order of their
        # mapping. Only test that the value exists instead.
        return [{'op': 'test', 'path': operation['path'], 'value': value}]
    return [
        {'op': 'remove', 'path': operation['from']},
        {'op': 'add', 'path': operation['path'], 'value': value},
    ]


def _is_in_list(target: jsonpointer.JsonPointer, document: Any) -> bool:
    """Return whether a pointer names an item of a list.

    For example, ``/actions/0`` does, but ``/vars/rack`` names a member of a
    mapping.
    """
    is_whole_document = not target.parts
    if is_whole_document:
        return False
    *parts_of_parent, _last_part = target.parts
    parent_pointer = jsonpointer.JsonPointer.from_parts(parts_of_parent)
    parent = parent_pointer.resolve(document, None)
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
    """Check an operation of a patch, and return it with corrected pointers.

    ``/condition/0``, which Ironic's command line sends, is corrected to
    ``/conditions/0``.

    :param operation: the operation as the client sent it, of any type.
    :param rule: the fields of the stored rule.
    :raises: Invalid if the operation is malformed, writes a read-only field,
        or would reveal secrets of a sensitive rule.
    """
    if not isinstance(operation, dict):
        raise exceptions.Invalid(_('it must be a mapping'))
    op = operation.get('op')
    if not isinstance(op, str) or op not in _NEEDED_MEMBERS:
        raise exceptions.Invalid(
            f'"op" {suggestion.choice_message(op, sorted(_NEEDED_MEMBERS))}'
        )
    needed_member = _NEEDED_MEMBERS[op]
    if needed_member and needed_member not in operation:
        raise exceptions.Invalid(_('"%s" is missing') % needed_member)
    # The parts of the pointers: ['conditions', '0'].
    pointers = {'path': _parse_pointer(operation, 'path')}
    if needed_member == 'from':
        pointers['from'] = _parse_pointer(operation, 'from')
    if op != 'test':
        _refuse_read_only(pointers['path'])
    if op == 'move':
        # Unlike a copy, a move also removes the value from its old place.
        _refuse_read_only(pointers['from'])
    # This raises Invalid if the operation would reveal the content of a
    # sensitive rule. For example, the result of a test would do so.
    stored_rule.check_patch(rule, op, pointers.values())
    corrected = dict(operation)
    for name, parts in pointers.items():
        corrected[name] = jsonpointer.JsonPointer.from_parts(parts).path
    return corrected


def _why_it_failed(operation: dict[str, Any], fields: dict[str, Any]) -> str:
    """Return why an operation could not be applied, for the client.

    The usual reason is that a pointer names a field that does not exist. The
    messages of the libraries are not shown, because they may contain values of
    the rule, which may be sensitive.

    :param fields: the fields of the stored rule.
    """
    names_of_pointers = ['path']
    if _NEEDED_MEMBERS[operation['op']] == 'from':
        names_of_pointers.append('from')
    for name in names_of_pointers:
        parts = jsonpointer.JsonPointer(operation[name]).parts
        if not parts:
            # The pointer is empty, and names the whole rule.
            continue
        field = parts[0]
        # Clients see this field, e.g. "revision", in answers. But a patch is
        # applied only to the fields that a client may set.
        if field in model.SHOWN:
            return (
                _('/%s is read only, and no patch can test or copy it') % field
            )
        if field not in fields:
            return suggestion.unknown_message(_('field'), field, fields)
    if operation['op'] == 'test':
        return _('the value is another one')
    return _('there is nothing to work on at this place')


def _parse_pointer(operation: dict[str, Any], name: str) -> list[str]:
    """Return the parts of a JSON pointer of an operation.

    They are ``['conditions', '0']`` for ``/conditions/0``, and also for
    ``/condition/0``, which python-ironicclient sends.

    :param name: the member that has the pointer: ``path`` or ``from``.
    :raises: Invalid if the member is missing or not a pointer.
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
