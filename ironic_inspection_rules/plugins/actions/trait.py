# SPDX-License-Identifier: Apache-2.0

"""Actions on the traits of the node (spec 004)."""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.traits import names as trait_names

Target = plugin.Target

_NAME = {'$ref': '#/definitions/trait'}


def _set(target: Target, names: list[str]) -> None:
    try:
        trait_names.validate_count(names)
    except exceptions.Invalid as exc:
        raise exceptions.OperationError(str(exc)) from exc
    target.set_traits(names)


def _check(names: typing.Iterable[typing.Any]) -> None:
    try:
        trait_names.validate(names)
    except exceptions.Invalid as exc:
        raise exceptions.OperationError(str(exc)) from exc


class AddTrait(plugin.Action):
    """``add-trait``: add a trait to the node."""

    SCHEMAS = {'name': [_NAME]}

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        yield plugin.Write('trait', arguments['name'], True, argument='name')

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        if 'name' in arguments:
            problem = trait_names.problem(arguments['name'])
            if problem:
                yield 'name', problem

    def __call__(self, target: Target, name: str) -> None:
        _check([name])
        traits = target.traits
        if name in traits:
            target.confirm_traits([name])
        else:
            _set(target, [*traits, name])

    def revert(self, target: Target, name: str) -> None:
        """Remove the trait."""
        RemoveTrait()(target, name)


class RemoveTrait(plugin.Action):
    """``remove-trait``: remove a trait from the node, if it has it."""

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        yield plugin.Write('trait', arguments['name'], argument='name')

    def __call__(self, target: Target, name: str) -> None:
        target.set_traits(trait for trait in target.traits if trait != name)


class SetTraits(plugin.Action):
    """``set-traits``: replace the node's traits.

    With a prefix only the traits that begin with it are replaced, so that
    a rule can own a group of traits and leave the others alone.
    """

    SCHEMAS = {'names': [{'type': 'array', 'items': _NAME}]}

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        yield plugin.Write('traits', arguments['prefix'],
                           arguments['names'], argument='names')

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        names = arguments.get('names', [])
        if not isinstance(names, list):
            yield 'names', _('must be a list')
            return
        for name in names:
            problem = trait_names.problem(name)
            if problem:
                yield 'names', problem
        yield from self._outside(names, arguments.get('prefix', ''))

    def __call__(self, target: Target, names: typing.Any,
                 prefix: str = '') -> None:
        if not isinstance(names, list):
            raise exceptions.OperationError(_('names must be a list'))
        _check(names)
        first = next(self._outside(names, prefix), None)
        if first is not None:
            _argument, message = first
            raise exceptions.OperationError(message)
        # A run also names the rule that set what was there already.
        target.confirm_traits(names)
        kept = [name for name in target.traits if not name.startswith(prefix)]
        _set(target, [*kept, *names])

    def revert(self, target: Target, names: typing.Any,
               prefix: str = '') -> None:
        """Remove these traits."""
        target.set_traits(name for name in target.traits if name not in names)

    @staticmethod
    def _outside(names: list[typing.Any], prefix: str) -> plugin.Problems:
        """Yield a problem for each name without the prefix."""
        for name in names:
            if not str(name).startswith(prefix):
                yield 'names', _('"%(name)s" does not begin with the prefix '
                                 '"%(prefix)s"') % {'name': name,
                                                    'prefix': prefix}
