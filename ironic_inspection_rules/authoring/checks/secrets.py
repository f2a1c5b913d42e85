# SPDX-License-Identifier: Apache-2.0

"""Secrets that everyone who may list rules can read."""

import typing
from urllib import parse as urlparse

from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import reach
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _

_WITH_SECRETS = frozenset((('node',), ('node', 'driver_info')))
"""Mappings that have secrets on nearly every machine."""


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find secrets in a rule that is not marked sensitive.

    The language of ironic-inspector has no such mark, so its rules cannot be
    blamed.
    """
    if rule.rule.sensitive or rule.written.is_old:
        return
    for action in rule.actions:
        for name in _secrets(action.arguments):
            yield action.pointer_to(name), _(
                'a secret in a rule that is not marked "sensitive"')


def check_written(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find secrets that an action would write, which inspection refuses.

    They read as ``******`` to a rule, unless masking is switched off.
    """
    hidden: set[str] = set()
    telling = tuple(f'{action.pointer}/' for action in rule.actions
                    if action.op.plugin.TELLS)
    asking = tuple(f'{condition.pointer}/'
                   for condition in rule.all_conditions)
    for use in reach.uses(rule):
        steps = use.from_roots or use.steps
        place = use.pointer.split('/')
        if not any(map(masking.is_secret, steps)) and (
                steps not in _WITH_SECRETS) and not (
                    steps[0] == model.VARS and steps[1:2]
                    and steps[1] in hidden):
            continue
        if place[1] == model.VARS:
            hidden.add(place[2])
        elif not use.pointer.startswith((*telling, *asking)) and (
                place[3:4] == ['args']):
            yield use.pointer, _(
                '{%s} is or has a secret: rules do not see it, and the '
                'inspection fails where one would write it') % use.text


def is_secret(arguments: typing.Mapping[str, typing.Any]) -> bool:
    """Return whether arguments of an action have a secret among them."""
    return any(True for _name in _secrets(arguments))


def _secrets(arguments: typing.Mapping[str, typing.Any]
             ) -> typing.Iterator[str]:
    """Return the names of arguments that hold a secret."""
    path = arguments.get('path')
    tokens = data_path.parse(path) if isinstance(path, str) and path.strip(
        './') else ()
    for name in ('value', 'cleanup'):
        value = arguments.get(name)
        if _written_out(value) and masking.mask_along(
                tokens, value)[1] != value:
            yield name
    url = arguments.get('url')
    if isinstance(url, str) and '@' in urlparse.urlsplit(url).netloc:
        yield 'url'
    headers = arguments.get('headers')
    if isinstance(headers, dict) and any(
            _written_out(value) and masking.is_secret(header)
            for header, value in headers.items()):
        yield 'headers'


def _written_out(value: typing.Any) -> bool:
    """Return whether a value is more than fields of the data."""
    if isinstance(value, str):
        return any(isinstance(piece, str)
                   for piece in interpolation.parse(value))
    return value is not None
