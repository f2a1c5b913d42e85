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

    :param module: the module, e.g. ``'ironic.db.sqlalchemy.api'``.
    :param path: the path, e.g. ``'Connection._add_nodes_filters'``. The last
        part may be an attribute that a class sets on its instances.
    :param without: what does not work without the name, as a clause for the
        log: ``'nodes cannot be listed by trait'``.
    :param parameters: the first parameters of the undecorated function;
        further ones must have defaults. None for a name that is not called, or
        is called with the arguments of Ironic's own call.
    :param required: whether Ironic must not start without the name; otherwise
        only its purpose is disabled.
    :param in_every_release: False if some supported releases lack the module,
        and nothing is lost in them.
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
        """Return the object of the name; None if this Ironic has none."""
        try:
            return pkgutil.resolve_name(f'{self.module}:{self.path}')
        except (ImportError, AttributeError):
            return None

    def put(self, value: Any) -> None:
        """Replace the object of the name in its module or class."""
        # For 'Node.destroy' these are 'Node' and 'destroy'. If the path has no
        # dot, the path of the owner is empty, and 'module:' is the module.
        owner_path, _dot, attribute = self.path.rpartition('.')
        owner = pkgutil.resolve_name(f'{self.module}:{owner_path}')
        setattr(owner, attribute, value)

    def find_problem(self) -> str | None:
        """Return why this Ironic lacks the name or its parameters.

        :returns: a sentence without a full stop; None if there is no problem.
        """
        try:
            owner: Any = importlib.import_module(self.module)
        except ModuleNotFoundError:
            if not self.in_every_release:
                # In a release without the module, nothing needs the name.
                return None
            return f'{self.module} is not there'
        *class_names, attribute = self.path.split('.')
        for class_name in class_names:
            # None for a missing class, which lacks the attribute below, too.
            owner = getattr(owner, class_name, None)
        if not hasattr(owner, attribute):
            if _sets_on_instances(owner, attribute):
                # Without an instance, the attribute itself cannot be checked.
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

    If a name is missing that is not required, a warning tells what does not
    work. Another warning tells, once per process, that this Ironic is newer
    than all releases that were tried.

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
    """Log, once per process, that nobody has tried this release of Ironic."""
    LOG.warning(
        'Ironic %(release)s is newer than %(newest)s, the newest that '
        'inspection rules have been tried on. All names that they '
        'need are there.',
        {'release': installed, 'newest': releases.TRIED[-1]},
    )


def _sets_on_instances(owner: Any, attribute: str) -> bool:
    """Return whether ``__init__`` of a class, or of a base, uses a name.

    Such an attribute belongs to the instances: ``self._shutdown = …``.

    :param owner: a class, or any other object, which has no instances.
    """
    if not isinstance(owner, type):
        return False
    for base in owner.__mro__:
        # Use the __dict__ instead of getattr(), which would return the
        # __init__ of another base for a base without one.
        init = base.__dict__.get('__init__')
        # co_names has the attributes that the code sets, and also those that
        # it only reads. Nothing more is known without an instance.
        if inspect.isfunction(init) and attribute in init.__code__.co_names:
            return True
    return False


def _find_problem_of_call(name: Name, function: Any) -> str | None:
    """Return why a function cannot be called with the parameters of a name.

    The function must have these parameters first, in this order. Further
    parameters must have defaults.

    :returns: a sentence without a full stop: ``… takes (self, node) instead of
        (self, task)``; None if the function can be called.
    """
    if not callable(function):
        return f'{name} is not a function'
    signature = inspect.signature(inspect.unwrap(function))
    parameters = list(signature.parameters.values())
    taken_names = [parameter.name for parameter in parameters]
    needed_names = list(name.parameters or ())
    begins_as_needed = taken_names[: len(needed_names)] == needed_names
    further_parameters = parameters[len(needed_names) :]
    if begins_as_needed and all(map(_may_be_left_out, further_parameters)):
        return None
    takes = ', '.join(taken_names)
    return f'{name} takes ({takes}) instead of ({", ".join(needed_names)})'


def _may_be_left_out(parameter: inspect.Parameter) -> bool:
    """Return whether a function can be called without a parameter."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return True
    return parameter.default is not parameter.empty
