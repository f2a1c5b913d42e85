# SPDX-License-Identifier: Apache-2.0

"""Which trait names exist, and how many of them a node may have.

The rules are those of placement, which the node's traits end up in: a name is
either one of the standard names of os-traits, or a custom one.
"""

import re
import typing

import os_traits

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.i18n import _

MAX_TRAITS = 50
MAX_LENGTH = 255
MOST_ASKED = 100
"""How many names one request may ask for."""

STANDARD = frozenset(os_traits.get_traits())
_SIMILAR = 0.8
"""Least similarity to a standard name; what is farther is a custom one."""

_CUSTOM = re.compile(os_traits.CUSTOM_NAMESPACE + r'[A-Z0-9_]+\Z')


def problem(name: object) -> str | None:
    """Return what is wrong with the name of a trait.

    :returns: one sentence for the user, or None when the name is good (spec
        004 "REST API impact").
    """
    if not isinstance(name, str):
        return _('The name of a trait must be a string, not %r') % (name,)
    if len(name) > MAX_LENGTH:
        return _('The name of a trait must not be longer than %(max)d '
                 'characters; %(start)s… has %(length)d') % {
                     'max': MAX_LENGTH, 'start': name[:40],
                     'length': len(name)}
    if not is_good(name):
        text = _("'%s' is not the name of a trait: it must be a standard "
                 'trait of os-traits, or CUSTOM_ followed by upper-case '
                 'letters, digits and underscores') % name
        form = re.sub(r'[^A-Z0-9]+', '_', name.upper()).strip('_')
        near = form if _CUSTOM.match(form) else suggestion.nearest(
            name, STANDARD, _SIMILAR)
        custom = f'{os_traits.CUSTOM_NAMESPACE}{form}'
        if near is None and form not in ('', 'CUSTOM') and is_good(custom):
            near = custom
        return f'{text}; ' + _('did you mean "%s"?') % near if near else text
    return None


def is_good(name: object) -> bool:
    """Return whether a name is that of a trait."""
    return isinstance(name, str) and len(name) <= MAX_LENGTH and (
        name in STANDARD or _CUSTOM.match(name) is not None)


def validate(names: typing.Iterable[object]) -> None:
    """Refuse names that are not traits; all bad ones are in the message.

    :raises: Invalid when at least one of them is bad.
    """
    bad = [name for name in names if not is_good(name)]
    if bad:
        raise exceptions.Invalid(exceptions.listed(
            bad, lambda name: problem(name) or ''))


def validate_asked(count: int) -> None:
    """Refuse a request that asks for too many names.

    :raises: Invalid when they are more than MOST_ASKED.
    """
    if count > MOST_ASKED:
        raise exceptions.Invalid(
            _('A request may ask for at most %(most)d names of traits, not '
              '%(count)d') % {'most': MOST_ASKED, 'count': count})


def validate_count(names: typing.Iterable[str]) -> None:
    """Refuse more traits than one node may have; duplicates count once.

    :raises: Invalid when they are more than MAX_TRAITS.
    """
    count = len(set(names))
    if count > MAX_TRAITS:
        raise exceptions.Invalid(
            _('A node may have at most %(max)d traits, not %(count)d') % {
                'max': MAX_TRAITS, 'count': count})
