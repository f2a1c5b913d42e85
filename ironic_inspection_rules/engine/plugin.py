# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What a condition, an action and a filter are to the engine.

Third parties subclass these and register the class under its name in
``ironic.inspection_rules.conditions``, ``ironic.inspection_rules.actions`` or
``ironic.inspection_rules.filters`` (spec 003 "Developer impact"). What is in
``__all__`` lasts; see contributor/plugins of the documentation.
"""

import abc
import functools
import typing

__all__ = ('Action', 'Condition', 'Filter')

if typing.TYPE_CHECKING:
    from ironic_inspection_rules.engine import working_copy


class Plugin:
    """What conditions and actions have in common."""

    LITERAL: typing.ClassVar[frozenset[str]] = frozenset()
    """Arguments whose text is never interpolated, such as regexes."""

    NEEDS_VIEW: typing.ClassVar[bool] = False
    """Whether calls begin with the data by root name, before the arguments."""

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        """Check what is known of the arguments when a rule is made.

        :param arguments: the arguments without replacement fields, by name.
        :returns: pairs of argument name and what is wrong with it.
        """
        yield from ()


class Condition(Plugin, abc.ABC):
    """A condition op; its arguments are the parameters of ``__call__``."""

    ACCEPTS_MISSING: typing.ClassVar[bool] = False
    """Whether a missing field counts as None; else the condition is false,
    inverted or not."""

    SEES_MISSING: typing.ClassVar[bool] = False
    """Whether a missing field reaches it, as :data:`.path.ABSENT`."""

    DECIDES_FIRST: typing.ClassVar[bool] = False
    """Whether the rule is decided before the first action of any rule."""

    def bind(self, arguments: dict[str, typing.Any]
             ) -> typing.Callable[..., bool]:
        """Prepare a check when a rule is compiled.

        :param arguments: the arguments without replacement fields, by name.
        :returns: a callable that takes the others, by name.
        """
        call = self.__call__
        return functools.partial(call, **arguments) if arguments else call

    def explain(self, view: typing.Mapping[str, typing.Any],
                arguments: typing.Mapping[str, typing.Any]) -> str | None:
        """Say what the condition was decided on.

        :param view: the data by root name.
        :param arguments: all arguments as they were for this data, by name.
        :returns: one phrase, or None where the arguments say it all.
        """
        return None

    @abc.abstractmethod
    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> bool:
        """Tell whether the condition holds for these values."""


class Group(Condition):
    """A condition made of conditions, which a rule has beside its name.

    ``__call__`` takes whether each of them holds, in order; one that it does
    not ask for is not checked.
    """


class Filter(abc.ABC):
    """A filter.

    Its arguments are the parameters of ``__call__`` after the value.
    """

    ACCEPTS_MISSING: typing.ClassVar[bool] = False
    """Whether a field that does not exist reaches the filter, as
    :data:`.path.ABSENT`."""

    LITERAL: typing.ClassVar[frozenset[str]] = frozenset()
    """Arguments that are written out in the rule, such as regexes."""

    NEEDS_VIEW: typing.ClassVar[bool] = False

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        """Check what is known of the arguments when a rule is made.

        :param arguments: the arguments that are no paths, by name.
        :returns: pairs of argument name and what is wrong with it.
        """
        yield from ()

    def bind(self, arguments: dict[str, typing.Any]
             ) -> typing.Callable[..., typing.Any]:
        """Prepare the filter when a rule is compiled, if it has no paths.

        :param arguments: all arguments of the filter, by name.
        :returns: a callable that takes the value.
        """
        call = self.__call__
        return functools.partial(call, **arguments) if arguments else call

    @abc.abstractmethod
    def __call__(self, /, *args: typing.Any, **kwargs: typing.Any
                 ) -> typing.Any:
        """Return what becomes of the value, which stays as it is.

        :returns: plain JSON data, or :data:`.path.ABSENT` for a field that
            does not exist.
        :raises: :class:`.exceptions.OperationError` where the filter cannot
            take the value.
        """


class Action(Plugin, abc.ABC):
    """An action op.

    Its arguments are the parameters of ``__call__`` after the target. An
    action that can be undone also has a method ``revert``, which takes the
    target and any of the same arguments; it does nothing where there is
    nothing to undo.
    """

    SUPPORTS_EARLY: typing.ClassVar[bool] = False
    """Whether the action may be used in the early phase."""

    revert: typing.ClassVar[typing.Callable[..., None] | None] = None

    @abc.abstractmethod
    def __call__(self, target: 'working_copy.WorkingCopy', *args: typing.Any,
                 **kwargs: typing.Any) -> None:
        """Carry the action out on the target.

        :raises: :class:`.exceptions.OperationError` where it cannot be.
        """
