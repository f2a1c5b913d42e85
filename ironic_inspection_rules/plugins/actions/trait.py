# SPDX-License-Identifier: Apache-2.0

"""Implements the actions add-trait, remove-trait and set-traits (spec 004).

When a rule is created, ``problems`` checks its literal arguments, and
``writes`` declares what the action changes, for tools such as ``lint``. When
the rule runs, ``__call__`` changes the traits of the target, which is the data
of the machine. The run also records the traits that a rule sets although the
node already has them: they are confirmed.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.i18n import _

Target = plugin.Target

_NAME = {'$ref': '#/definitions/trait'}


def _replace_all(target: Target, names: list[str]) -> None:
    """Replace all traits of the node, after checking their number.

    :param target: the data of the machine, to be changed.
    :param names: the new traits.
    :raises: :class:`.exceptions.OperationError` if there are more traits than
        a node may have.
    """
    try:
        trait_names.validate_count_of_node(names)
    except exceptions.Invalid as exc:
        raise exceptions.OperationError(str(exc)) from exc
    target.set_traits(names)


def _check_names(names: typing.Iterable[typing.Any]) -> None:
    """Check that all names are valid names of traits.

    Valid names are the names of os-traits, and ``CUSTOM_…``.

    :raises: :class:`.exceptions.OperationError` if a name is invalid, which
        ends the inspection.
    """
    try:
        trait_names.validate(names)
    except exceptions.Invalid as exc:
        raise exceptions.OperationError(str(exc)) from exc


class AddTrait(plugin.Action):
    """``add-trait``: add a trait to the node."""

    SCHEMAS = {'name': [_NAME]}

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write that adds the trait."""
        yield plugin.Write('trait', arguments['name'], True, argument='name')

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield a problem if a literal name is not the name of a trait.

        :param arguments: the literal arguments by name.
        """
        if 'name' not in arguments:
            # The name has a replacement field, so it is checked when the rule
            # runs.
            return
        problem = trait_names.find_problem(arguments['name'])
        if problem is not None:
            yield 'name', problem

    def __call__(self, target: Target, name: str) -> None:
        """Add the trait unless the node already has it.

        :param target: the data of the machine, to be changed.
        :raises: :class:`.exceptions.OperationError` if the name is invalid, or
            the node would have too many traits.
        """
        _check_names([name])
        traits = target.traits
        if name in traits:
            # Nothing changes. Record that this rule sets the trait too,
            # because "explain" shows all rules that set it.
            target.confirm_traits([name])
        else:
            _replace_all(target, [*traits, name])

    def revert(self, target: Target, name: str) -> None:
        """Remove the trait."""
        RemoveTrait()(target, name)


class RemoveTrait(plugin.Action):
    """``remove-trait``: remove a trait from the node, if it has it."""

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write that removes the trait."""
        yield plugin.Write('trait', arguments['name'], argument='name')

    def __call__(self, target: Target, name: str) -> None:
        target.set_traits(trait for trait in target.traits if trait != name)


class SetTraits(plugin.Action):
    """``set-traits``: replace the node's traits.

    If a prefix is given, only the traits that begin with it are replaced, so
    that a rule can own a group of traits and leave the others unchanged.
    """

    SCHEMAS = {'names': [{'type': 'array', 'items': _NAME}]}

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write of all traits that begin with the prefix."""
        yield plugin.Write(
            'traits', arguments['prefix'], arguments['names'], argument='names'
        )

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield a problem for every name that is invalid or lacks the prefix.

        Names with replacement fields are only checked when the rule runs.

        :param arguments: the literal arguments by name.
        """
        names = arguments.get('names', [])
        # Every name begins with the empty prefix.
        prefix = arguments.get('prefix', '')
        if not isinstance(names, list):
            yield 'names', _('must be a list')
            return
        for name in names:
            problem = trait_names.find_problem(name)
            if problem is not None:
                yield 'names', problem
        for name in names:
            problem = _find_problem_of_prefix(name, prefix)
            if problem is not None:
                yield 'names', problem

    def __call__(
        self, target: Target, names: typing.Any, prefix: str = ''
    ) -> None:
        """Replace the traits that begin with a prefix by other traits.

        For example, the prefix is ``CUSTOM_GPU_``, and the only name is
        ``CUSTOM_GPU_A100``. A node with the traits ``CUSTOM_GPU_OLD`` and
        ``HW_CPU_X86_VMX`` then has ``CUSTOM_GPU_A100`` instead of the first,
        and keeps the second. Without a prefix, all traits are replaced.

        :param target: the data of the machine, to be changed.
        :param names: the new traits; a value of any type if the rule reads
            them from a replacement field.
        :raises: :class:`.exceptions.OperationError` if a name is invalid
            or lacks the prefix, or the node would have too many traits.
        """
        if not isinstance(names, list):
            raise exceptions.OperationError(_('names must be a list'))
        _check_names(names)
        for name in names:
            problem = _find_problem_of_prefix(name, prefix)
            if problem is not None:
                raise exceptions.OperationError(problem)
        # Record that this rule also sets the traits that the node already has,
        # because "explain" shows all rules that set a trait. Do this first:
        # after the change, the node has all of the new traits.
        target.confirm_traits(names)
        # Keep the traits without the prefix. If the prefix is empty, there are
        # none, because every trait begins with it.
        other_traits = [
            trait for trait in target.traits if not trait.startswith(prefix)
        ]
        _replace_all(target, [*other_traits, *names])

    def revert(
        self, target: Target, names: typing.Any, prefix: str = ''
    ) -> None:
        """Remove these traits."""
        target.set_traits(
            trait for trait in target.traits if trait not in names
        )


def _find_problem_of_prefix(name: typing.Any, prefix: str) -> str | None:
    """Return a problem if a name lacks the prefix, otherwise None."""
    if str(name).startswith(prefix):
        return None
    return _('"%(name)s" does not begin with the prefix "%(prefix)s"') % {
        'name': name,
        'prefix': prefix,
    }
