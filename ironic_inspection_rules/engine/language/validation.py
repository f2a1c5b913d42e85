# SPDX-License-Identifier: Apache-2.0

"""Validates a rule, and yields all its problems.

The API, built-in rules and offline tools use the same checks. The checks
report each problem with a JSON pointer to it, and change nothing.
"""

import functools
import itertools
import math
import re
import typing

from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import operation_check
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import schema
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem

READ_ONLY = _('read only; leave it out')

# The data of a file may be far larger than the file, because YAML has aliases.
# There is no time limit, because the result must not depend on how busy a
# machine is.
_LIMITS = budget.Limits(time=math.inf)

# Together with NUL, these are the characters that databases reject.
_SURROGATES = re.compile('[\ud800-\udfff]')
_MISPLACED_KEYS = {
    name: _('"%s" belongs in a condition or an action, not beside them') % name
    for name in ('op', 'args', 'loop', 'multiple')
}
"""Messages for keys of operations that are in the rule itself."""

_SHAPE = schema.Shape(schema.rule(), _('field'), _MISPLACED_KEYS)
_SHAPE_OF_BUILT_IN = schema.Shape(
    schema.rule(built_in=True), _('field'), _MISPLACED_KEYS
)


def parse(
    rule: typing.Any,
    ops: registry.Registry,
    built_in: bool = False,
    earlier_problems: typing.Iterable[Problem] = (),
) -> model.Rule:
    """Validate a rule as its author wrote it, and return it as a frozen rule.

    Null stands for the default of a field, and ``"5"`` for the priority 5.

    :param rule: a mapping as posted to the API or read from a file, with a
        ``uuid``.
    :param ops: the installed conditions and actions.
    :param built_in: whether it is a built-in rule, whose priority may be
        outside 0 … 9999.
    :param earlier_problems: problems of the rule that the caller has found.
        They come first in the error.
    :raises: :class:`.exceptions.InvalidRule` with the first problems.
    """
    # Stop after the first problems, because there may be very many.
    problems = exceptions.limit_problems(
        itertools.chain(earlier_problems, _find_problems(rule, ops, built_in))
    )
    if problems:
        raise exceptions.InvalidRule(problems)
    fields = {}
    for name, value in rule.items():
        if value is None:
            # The rule gets the default of the field.
            continue
        if name in _READERS:
            fields[name] = _READERS[name](value)
        else:
            fields[name] = value
    fields['built_in'] = built_in
    return model.Rule.from_mapping(fields)


def is_of_inspector(rule: typing.Any) -> bool:
    """Return whether a rule is in the language of ironic-inspector.

    In this language, conditions have a ``field``, and actions have the name of
    the op as ``action``: ``{'action': 'fail', 'message': 'x'}``.

    :param rule: any value, which is not validated yet.
    """
    if not isinstance(rule, dict):
        return False
    if _has_operation_with(rule.get('conditions'), 'field'):
        return True
    return _has_operation_with(rule.get('actions'), 'action')


def _has_operation_with(operations: typing.Any, key: str) -> bool:
    """Return whether any of some operations has a key.

    :param operations: conditions or actions. They are not validated yet, so
        the value may not be a list.
    """
    if not isinstance(operations, list):
        return False
    return any(
        isinstance(operation, dict) and key in operation
        for operation in operations
    )


def _read_mode(value: typing.Any) -> typing.Any:
    """Return a mode as it is, but ``off`` for false."""
    # YAML 1.1 reads an unquoted off as false.
    if value is False:
        return model.OFF
    return value


_READERS: dict[str, typing.Callable[[typing.Any], typing.Any]] = {
    'priority': int,
    'sensitive': strutils.bool_from_string,
    'mode': _read_mode,
}
"""Functions that read the fields whose values may have several forms."""


def validate(
    rule: typing.Any, ops: registry.Registry, built_in: bool = False
) -> list[Problem]:
    """Return all problems of a rule; see :func:`parse`."""
    return list(_find_problems(rule, ops, built_in))


def _find_problems(
    rule: typing.Any, ops: registry.Registry, built_in: bool
) -> typing.Iterator[Problem]:
    """Yield all problems of a rule.

    If a rule is not a mapping, is too large, or is in the language of
    ironic-inspector, only this problem is yielded. Other checks would take
    long or report consequences of it.
    """
    if not isinstance(rule, dict):
        yield Problem('', _('a rule must be a mapping'))
        return
    # The limits for the size and depth of a rule are those for data that rules
    # write.
    try:
        budget.Budget(_LIMITS).write(rule, ())
    except exceptions.BudgetExceeded as exc:
        yield Problem('', str(exc))
        return
    if is_of_inspector(rule):
        yield Problem(
            '',
            _(
                'this is a rule of ironic-inspector: run '
                '"ironic-inspection-rules convert" on its file, '
                'or post it to /v1/rules'
            ),
        )
        return
    for path, value in data_path.walk(rule):
        if isinstance(value, float) and not math.isfinite(value):
            yield Problem(
                data_path.pointer(path), _('must be a finite number')
            )
    yield from _check_shape(rule, built_in)
    yield from _check_meaning(rule)
    early = rule.get('phase') == model.EARLY
    check_condition = functools.partial(
        operation_check.check_condition, ops=ops, early=early
    )
    check_action = functools.partial(
        operation_check.check_action, ops=ops, early=early
    )
    yield from operation_check.check_all(rule, 'conditions', check_condition)
    yield from operation_check.check_all(rule, 'actions', check_action)
    if early:
        yield from check_fields_of_node(rule)


def _check_shape(
    rule: dict[str, typing.Any], built_in: bool
) -> typing.Iterator[Problem]:
    """Yield the problems that the JSON schema of rules finds.

    A field that only the API sets, e.g. ``created_at``, is reported as read
    only.
    """
    shape = _SHAPE
    if built_in:
        shape = _SHAPE_OF_BUILT_IN
    rule_with_lists = {}
    for name, value in rule.items():
        if isinstance(value, tuple):
            # Convert the tuple, because jsonschema accepts only lists as
            # arrays.
            rule_with_lists[name] = list(value)
        else:
            rule_with_lists[name] = value
    for problem in shape.problems(rule_with_lists):
        if problem.pointer.removeprefix('/') in model.SHOWN:
            # The schema reports it as unknown, but clients know the field from
            # answers of the API.
            yield Problem(problem.pointer, READ_ONLY)
        else:
            yield problem


def _check_meaning(rule: dict[str, typing.Any]) -> typing.Iterator[Problem]:
    """Yield the problems of a rule's members that no JSON schema can express.

    These are a scope in the early phase, characters that databases reject, and
    replacement fields in ``vars`` that cannot be parsed.
    """
    if rule.get('phase') == model.EARLY and rule.get('scope'):
        yield Problem('/scope', _('there is no node in the early phase'))
    for name in ('description', 'scope'):
        text = rule.get(name)
        if isinstance(text, str) and _SURROGATES.search(text):
            yield Problem(f'/{name}', schema.UNSTORABLE)
    values = rule.get(model.VARS)
    if not isinstance(values, dict):
        # The schema reports this problem, unless the value is null.
        return
    for name, value in values.items():
        try:
            template.compile_value(value)
        except exceptions.OperationError as exc:
            yield Problem(
                f'/{model.VARS}{data_path.pointer([name])}', str(exc)
            )


def check_fields_of_node(
    rule: typing.Mapping[str, typing.Any],
) -> typing.Iterator[Problem]:
    """Yield a problem for each field of a rule that reads the node.

    A rule of the early phase must not have such fields, because the node is
    not known yet.
    """
    content = {name: rule.get(name) for name in model.CONTENT}
    for path, value in data_path.walk(content):
        # The walk yields the items of a list and the values of a mapping after
        # the list or mapping itself, but it does not yield the keys.
        if isinstance(value, list):
            continue
        text_or_keys = value
        if isinstance(value, dict):
            text_or_keys = list(value.keys())
        # Reverse the fields to the order of the text.
        for field in reversed(effects.fields(text_or_keys)):
            if field.root in interpolation.OF_NODE:
                yield Problem(
                    data_path.pointer(path),
                    _('{%s} needs a node; there is none in the early phase')
                    % field.text,
                )
