# SPDX-License-Identifier: Apache-2.0

"""Private names of Ironic: how they are found, checked and replaced.

This project uses some functions, methods and variables of Ironic that are not
a public interface, and replaces some of them. A release of Ironic may rename
them. Every such name is therefore described by a :class:`Name` in a module of
this package, and :func:`check` looks for all of them when Ironic starts::

    DESTROY = name.Name(
        'ironic.objects.node',
        'Node.destroy',
        without='what is recorded of a node stays when it is removed',
        required=False,
    )
"""

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
    :param parameters: the first parameters that the function must have;
        further parameters must have defaults. None for a name that is not
        called, or is called with the arguments of Ironic's own call.
    :param required: True if Ironic must not start without the name. False if
        Ironic can start, and only that does not work which needs the name.
    :param in_every_release: False if some supported releases lack the module,
        and do not need the name.
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
        """Return the object of the name, e.g. a function of Ironic.

        :returns: None if the installed Ironic does not have the name.
        """
        try:
            return pkgutil.resolve_name(f'{self.module}:{self.path}')
        except (ImportError, AttributeError):
            return None

    def replace_with(self, new_object: Any) -> None:
        """Replace the object of the name in its module or class.

        :param new_object: for example our function instead of Ironic's.
        """
        # For 'Node.destroy', the owner is the class 'Node'. If the path has no
        # dot, the path of the owner is empty, and the owner is the module.
        owner_path, _dot, attribute = self.path.rpartition('.')
        owner = pkgutil.resolve_name(f'{self.module}:{owner_path}')
        setattr(owner, attribute, new_object)

    def find_problem(self) -> str | None:
        """Return what is wrong with the name in the installed Ironic.

        The module, a class or the attribute may be missing, or the function
        may have other parameters.

        :returns: a sentence without a full stop, e.g. ``ironic.objects.node is
            not there``; None if there is no problem.
        """
        try:
            owner: Any = importlib.import_module(self.module)
        except ModuleNotFoundError:
            if not self.in_every_release:
                # A release without the module does not need the name.
                return None
            return f'{self.module} is not there'
        # For 'Node.destroy', find the class 'Node'. The owner of a path
        # without a dot is the module.
        *class_names, attribute = self.path.split('.')
        for class_name in class_names:
            # If the class is missing, the owner is None, which lacks the
            # attribute as well.
            owner = getattr(owner, class_name, None)
        if not hasattr(owner, attribute):
            if _sets_on_instances(owner, attribute):
                # Only instances have the attribute, and there is no instance
                # here whose attribute could be checked.
                return None
            return f'{self} is not there'
        if self.parameters is None:
            return None
        function = getattr(owner, attribute)
        return _find_problem_of_call(self, function)


def are_available(names: Iterable[Name]) -> bool:
    """Return whether the installed Ironic has all names and parameters."""
    return not any(name.find_problem() for name in names)


def check(names: Iterable[Name]) -> None:
    """Check that the installed Ironic has all required names.

    Two warnings may be logged: what does not work because a name is missing
    that is not required; and, once per process, that this Ironic is newer than
    all releases that were tried.

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
    """Return whether a class seems to set an attribute on its instances.

    This is so if ``__init__`` of the class, or of a base class, mentions the
    attribute, e.g. in ``self._shutdown = …``. It may also only read the
    attribute. Without an instance, this cannot be found out.

    :param owner: a class; any other object has no instances.
    """
    if not isinstance(owner, type):
        return False
    for base in owner.__mro__:
        # Use the __dict__ instead of getattr(), which would return the
        # __init__ of another base for a base without one.
        init = base.__dict__.get('__init__')
        # co_names has the names of all attributes in the code.
        if inspect.isfunction(init) and attribute in init.__code__.co_names:
            return True
    return False


def _find_problem_of_call(name: Name, function: Any) -> str | None:
    """Return why a function cannot be called with the expected parameters.

    The function must have the parameters of the name first, in this order.
    Further parameters must have defaults.

    :param function: the object of the name.
    :returns: a sentence without a full stop: ``… takes (self, node) instead of
        (self, task)``; None if the function can be called.
    """
    if not callable(function):
        return f'{name} is not a function'
    # A decorator may take any arguments, so look at the function inside.
    signature = inspect.signature(inspect.unwrap(function))
    parameters = list(signature.parameters.values())
    actual_names = [parameter.name for parameter in parameters]
    expected_names = list(name.parameters or ())
    has_expected = actual_names[: len(expected_names)] == expected_names
    further_parameters = parameters[len(expected_names) :]
    if has_expected and all(map(_may_be_left_out, further_parameters)):
        return None
    actual = ', '.join(actual_names)
    expected = ', '.join(expected_names)
    return f'{name} takes ({actual}) instead of ({expected})'


def _may_be_left_out(parameter: inspect.Parameter) -> bool:
    """Return whether a function can be called without a parameter."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return True
    return parameter.default is not parameter.empty
