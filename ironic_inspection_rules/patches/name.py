# SPDX-License-Identifier: Apache-2.0

"""Private names of Ironic: found, checked and replaced."""

from collections.abc import Iterable
import dataclasses
import functools
import importlib
import inspect
import pkgutil
from typing import Any

from ironic import version
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules import releases

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Name:
    """A private name of Ironic, and what does not work without it.

    :param module: such as ``'ironic.db.sqlalchemy.api'``.
    :param path: such as ``'Connection._add_nodes_filters'``. The last part may
        be an attribute that a class gives its instances.
    :param without: what does not work without it, a clause for the log:
        ``'nodes cannot be listed by trait'``.
    :param parameters: of the function beneath its decorators, which may have
        more of them with defaults. None for a name that is not called, or is
        called with the arguments of Ironic's own call.
    :param required: whether Ironic is not to start without it; otherwise its
        purpose is switched off.
    :param in_every_release: False if some supported releases lack the module,
        and nothing is lost there.
    """

    module: str
    path: str
    without: str
    parameters: tuple[str, ...] | None = None
    required: bool = True
    in_every_release: bool = True

    def __str__(self) -> str:
        return f'{self.module}.{self.path}'

    def find(self) -> Any:
        """Return the object of the name, None if this Ironic has none."""
        try:
            return pkgutil.resolve_name(f'{self.module}:{self.path}')
        except (ImportError, AttributeError):
            return None

    def put(self, value: Any) -> None:
        """Replace the object of the name."""
        # Of a name without a dot, the owner is empty: "module:" is the module.
        owner, _dot, attribute = self.path.rpartition('.')
        setattr(
            pkgutil.resolve_name(f'{self.module}:{owner}'), attribute, value
        )

    def find_problem(self) -> str | None:
        """Return why this Ironic lacks the name or its parameters.

        :returns: a sentence without a full stop; None if there is no problem.
        """
        try:
            owner: Any = importlib.import_module(self.module)
        except ModuleNotFoundError:
            if not self.in_every_release:
                # In such a release nothing needs the name.
                return None
            return f'{self.module} is not there'
        *classes, attribute = self.path.split('.')
        for class_name in classes:
            # None for a missing class, which then lacks the attribute, too.
            owner = getattr(owner, class_name, None)
        if not hasattr(owner, attribute):
            if _sets_on_instances(owner, attribute):
                # There is no instance by which to check more than the name.
                return None
            return f'{self} is not there'
        if self.parameters is None:
            return None
        return _find_problem_of_call(self, getattr(owner, attribute))


def are_here(names: Iterable[Name]) -> bool:
    """Return whether this Ironic has all the names with their parameters."""
    return not any(name.find_problem() for name in names)


def check(names: Iterable[Name]) -> None:
    """Refuse an Ironic that lacks a required name.

    Without a name that is not required, a warning says what does not work.
    Another warning says, once in a process, that this Ironic is newer than all
    releases that were tried.

    :raises: UnsupportedIronic if this Ironic is too old, or with the problems
        of all required names.
    """
    installed = release()
    if releases.major(installed) < releases.OLDEST:
        too_old = (
            f'it is older than {releases.OLDEST}, the oldest that is supported'
        )
        raise exceptions.UnsupportedIronic(installed, [too_old])
    required_problems = []
    for name in names:
        problem = name.find_problem()
        if problem is None:
            continue
        if name.required:
            required_problems.append(
                f'{problem}, and without it {name.without}'
            )
        else:
            _warn_of_loss(installed, problem, name.without)
    if required_problems:
        raise exceptions.UnsupportedIronic(installed, required_problems)
    if releases.major(installed) > releases.NEWEST:
        _warn_of_untried(installed)


def release() -> str:
    """Return the release of the installed Ironic: ``'39.0.0'``."""
    return version.version_info.release_string()


def _warn_of_loss(installed: str, problem: str, without: str) -> None:
    """Log what does not work on this Ironic.

    :param problem: the problem of a name, see :meth:`Name.find_problem`.
    :param without: what does not work without the name.
    """
    LOG.warning(
        'This Ironic, %(release)s, is not one that is '
        'supported: %(problem)s. Without it %(without)s.',
        {'release': installed, 'problem': problem, 'without': without},
    )


@functools.cache
def _warn_of_untried(installed: str) -> None:
    LOG.warning(
        'Ironic %(release)s is newer than %(newest)s, the newest that '
        'inspection rules have been tried on. All names that they '
        'need are there.',
        {'release': installed, 'newest': releases.TRIED[-1]},
    )


def _sets_on_instances(owner: Any, attribute: str) -> bool:
    """Check if a class, or a base of it, has an attribute in its __init__."""
    if not isinstance(owner, type):
        return False
    for base in owner.__mro__:
        # Not getattr: a base without an __init__ would show another base's.
        init = base.__dict__.get('__init__')
        # The code names all attributes that it sets, and also those that it
        # only reads: without an object, nothing more is known.
        if inspect.isfunction(init) and attribute in init.__code__.co_names:
            return True
    return False


def _find_problem_of_call(name: Name, function: Any) -> str | None:
    """Return why a function cannot be called with the parameters of a name.

    :returns: a sentence without a full stop; None if it can.
    """
    if not callable(function):
        return f'{name} is not a function'
    signature = inspect.signature(inspect.unwrap(function))
    parameters = list(signature.parameters.values())
    parameter_names = [parameter.name for parameter in parameters]
    needed = list(name.parameters or ())
    begins_as_needed = parameter_names[: len(needed)] == needed
    further = parameters[len(needed) :]
    if begins_as_needed and all(map(_may_be_left_out, further)):
        return None
    takes = ', '.join(parameter_names)
    return f'{name} takes ({takes}) instead of ({", ".join(needed)})'


def _may_be_left_out(parameter: inspect.Parameter) -> bool:
    """Check if a function can be called without a parameter."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return True
    return parameter.default is not parameter.empty
