# SPDX-License-Identifier: Apache-2.0

"""Validates names of traits.

The checks follow the rules of placement, which receives the traits of a node.
A name must be either a standard name of os-traits or a custom name.
"""

import re
import typing

import os_traits

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _

# Ironic limits the traits per node, and Placement the length of a name.
MAX_TRAITS = 50
MAX_LENGTH = 255
MOST_ASKED = 100
"""Maximum number of names that one request may ask for."""

STANDARD = frozenset(os_traits.get_traits())
_SIMILAR = 0.8
"""Minimum similarity, 0 to 1, for suggesting a standard name."""

# \Z is used instead of $, which also matches before a trailing newline.
_CUSTOM = re.compile(os_traits.CUSTOM_NAMESPACE + r'[A-Z0-9_]+\Z')


def find_problem(name: object) -> str | None:
    """Return what is wrong with the name of a trait.

    :returns: one sentence for the user, or None if the name is good (spec
        004 "REST API impact").
    """
    if is_good(name):
        return None
    return _describe_problem(name)


def _describe_problem(name: object) -> str:
    """Describe the problem of a bad name, and suggest a good one if possible.

    The sentence for ``gpu`` ends in ``did you mean "CUSTOM_GPU"?``.
    """
    if not isinstance(name, str):
        return _(
            'The name of a trait must be a string, not %s'
        ) % suggestion.quote(name)
    if len(name) > MAX_LENGTH:
        return _(
            'The name of a trait must not be longer than %(max)d '
            'characters; %(start)s… has %(length)d'
        ) % {'max': MAX_LENGTH, 'start': name[:40], 'length': len(name)}
    text = (
        _(
            "'%s' is not the name of a trait: it must be a standard "
            'trait of os-traits, or CUSTOM_ followed by upper-case '
            'letters, digits and underscores'
        )
        % name
    )
    good_name = _suggest_name(name)
    if good_name is None:
        return text
    return f'{text}; ' + _('did you mean "%s"?') % good_name


def _suggest_name(name: str) -> str | None:
    """Return the good name that was probably meant, or None.

    ``custom-foo`` becomes ``CUSTOM_FOO``. Otherwise a similar standard name
    is returned, or the prefix ``CUSTOM_`` is added, e.g. ``gpu`` becomes
    ``CUSTOM_GPU``.
    """
    # Convert the name to the characters that are allowed.
    form = re.sub(r'[^A-Z0-9]+', '_', name.upper()).strip('_')
    if is_good(form):
        return form
    standard = suggestion.find_nearest(name, STANDARD, _SIMILAR)
    if standard is not None:
        return standard
    if form in ('', 'CUSTOM'):
        # The name has neither letters nor digits, or nothing after the prefix.
        return None
    custom = f'{os_traits.CUSTOM_NAMESPACE}{form}'
    if is_good(custom):
        return custom
    # The name is too long with the prefix.
    return None


def is_good(name: object) -> bool:
    """Return whether a name is a valid name of a trait.

    A valid name is a name of os-traits, e.g. ``HW_CPU_X86_VMX``, or
    ``CUSTOM_`` followed by upper-case letters, digits and underscores.
    """
    if not isinstance(name, str) or len(name) > MAX_LENGTH:
        return False
    if name in STANDARD:
        return True
    return _CUSTOM.match(name) is not None


def validate(names: typing.Iterable[object]) -> None:
    """Refuse names that are not traits.

    :raises: Invalid if at least one of them is bad. The message describes
        the first bad names and gives the number of the others.
    """
    bad_names = [name for name in names if not is_good(name)]
    if bad_names:
        # Only names in the message are described, because a suggestion
        # requires a comparison with all standard names.
        raise exceptions.Invalid(
            exceptions.join_problems(bad_names, _describe_problem)
        )


def validate_count_in_request(count: int) -> None:
    """Refuse a request that asks for too many names.

    :raises: Invalid if there are more than MOST_ASKED.
    """
    if count > MOST_ASKED:
        raise exceptions.Invalid(
            _(
                'A request may ask for at most %(most)d names of traits, not '
                '%(count)d'
            )
            % {'most': MOST_ASKED, 'count': count}
        )


def validate_count_of_node(names: typing.Iterable[str]) -> None:
    """Refuse more traits than one node may have; duplicates count once.

    :raises: Invalid if there are more than MAX_TRAITS.
    """
    count = len(set(names))
    if count > MAX_TRAITS:
        raise exceptions.Invalid(
            _('A node may have at most %(max)d traits, not %(count)d')
            % {'max': MAX_TRAITS, 'count': count}
        )
