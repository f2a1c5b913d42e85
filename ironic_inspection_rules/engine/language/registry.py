# SPDX-License-Identifier: Apache-2.0

"""The registry of installed ops and filters.

An op is what a condition or an action of a rule calls, e.g. ``eq`` or
``set-attribute``. Ops and filters are plugins, which packages install as entry
points.

In-tree plugins are loaded in the same way as plugins of other packages. If two
plugins have the same name, or if a class cannot be loaded or is not a plugin,
the service fails to start with an error that names the plugin.
"""

import functools
import importlib.metadata
import inspect
import traceback
import types
import typing

from oslo_log import log
import stevedore

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import schema
from ironic_inspection_rules.i18n import _

LOG = log.getLogger(__name__)

CONDITIONS = 'ironic.inspection_rules.conditions'
ACTIONS = 'ironic.inspection_rules.actions'
FILTERS = 'ironic.inspection_rules.filters'

PAGE = 'contributor/plugins'  # The page of the documentation about plugins.

_OUR_PACKAGE = __name__.partition('.')[0]
_CALL = '__call__'

Function = typing.Callable[..., typing.Any]
Fact = plugin.Fact
Write = plugin.Write

_P = typing.ParamSpec('_P')
_R = typing.TypeVar('_R')


class _NamedInErrors:
    """A context in which errors of a plugin's code name the plugin.

    A KeyError in the code becomes "unexpected error in its code
    (package.module.Class.problems): KeyError: 'size'". An error of this
    package leaves the context unchanged, because its message is already meant
    for users.

    This is a class because a context manager from a generator function makes
    the check of a rule slower.

    :param op: the op of the plugin.
    :param method: the method of the plugin that is called in the context.
    :raises: :class:`.exceptions.PluginFailed` instead of any error that is
        not an error of this package.
    """

    __slots__ = ('_method', '_op')

    def __init__(self, op: 'Op', method: str) -> None:
        self._op = op
        self._method = method

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: types.TracebackType | None,
    ) -> None:
        """Replace an error with an error that names the plugin and method.

        :param error: the error of the code, or None.
        """
        if error is None or isinstance(error, exceptions.InspectionRulesError):
            return
        if not isinstance(error, Exception):
            # For example, KeyboardInterrupt must still end the process.
            return
        code = self._op.code
        if self._method != _CALL:
            code = f'{code}.{self._method}'
        raise exceptions.PluginFailed(self._op.name, code, error) from error


class Op(typing.NamedTuple):
    """A plugin with its name in rules and the arguments that it declares.

    The code of a plugin is called only through these methods. The code may
    raise any error; the error then tells the authors of rules which plugin
    failed.
    """

    name: str
    plugin: typing.Any
    signature: arguments.Signature

    def engine_arguments(self, view: budget.View) -> list[typing.Any]:
        """Return the arguments that the engine passes before a rule's own.

        A plugin may request the data of the machine, the budget of the phase,
        or both, which gives ``[view, budget]``. Most plugins request neither,
        which gives ``[]``.

        :param view: the data of the machine, with the budget of the phase.
        """
        values: list[typing.Any] = []
        if self.plugin.NEEDS_VIEW:
            values.append(view)
        if self.plugin.PAYS:
            values.append(view.budget)
        return values

    @property
    def code(self) -> str:
        """The class of the plugin for messages: ``package.module.Class``."""
        return f'{type(self.plugin).__module__}.{type(self.plugin).__name__}'

    @property
    def is_ours(self) -> bool:
        """Whether the plugin belongs to this package."""
        return self.code.startswith(f'{_OUR_PACKAGE}.')

    def wrap_errors(
        self, function: typing.Callable[_P, _R], method: str = _CALL
    ) -> typing.Callable[_P, _R]:
        """Wrap a function of the plugin so that its errors name the plugin.

        An error of this package is raised unchanged. Any other error becomes
        :class:`.exceptions.PluginFailed`.

        :param method: the name of the function, for the error.
        """
        # All calls can share one context, because it has no state of a call.
        context = _NamedInErrors(self, method)

        def call(*arguments: _P.args, **named: _P.kwargs) -> _R:
            with context:
                return function(*arguments, **named)

        return call

    def wrap_for_machines(
        self, function: Function, method: str = _CALL
    ) -> Function:
        """Wrap a function of the plugin that is called for every machine.

        A function of another package is wrapped, so that its errors name the
        plugin and are logged, but only once for each line of its code. A
        function of this package is returned unchanged, because the wrapper
        makes a condition take about twice as long.

        :param method: the name of the function, for the error.
        """
        if self.is_ours:
            return function
        call_with_named_errors = self.wrap_errors(function, method)

        def call(*arguments: typing.Any, **named: typing.Any) -> typing.Any:
            try:
                return call_with_named_errors(*arguments, **named)
            except exceptions.PluginFailed as exc:
                # Nobody gets to see the error of a sensitive rule. So log only
                # its kind and its place in the code, which reveal nothing of
                # the rule.
                _log_once(
                    self.name,
                    self.code,
                    type(exc.__cause__).__name__,
                    _find_place(exc.__cause__ or exc),
                )
                raise

        return call

    def bind(self, arguments: dict[str, typing.Any]) -> Function:
        """Bind the literal arguments of a condition or a filter.

        For ``matches``, ``{'regex': 'R6.*'}`` gives a function that takes only
        the value of a machine.

        :param arguments: the arguments without replacement fields, by name.
        :returns: a function that takes :meth:`engine_arguments`, and then the
            other arguments of the rule.
        :raises: :class:`.exceptions.OperationError` if the plugin rejects the
            arguments, or if its code fails.
        """
        # The plugin's bind() runs now, and the function that it returns runs
        # later for every machine. Both of them may fail.
        bind = self.wrap_errors(self.plugin.bind, 'bind')
        bound_function = bind(arguments)
        return self.wrap_for_machines(bound_function)

    def relation(self) -> Function | None:
        """Return the function that compares a pair of values.

        :returns: None unless the op is a relation, such as ``lt``.
        """
        if isinstance(self.plugin, plugin.Relation):
            return self.wrap_for_machines(self.plugin.holds, 'holds')
        return None

    def problems(self, arguments: plugin.Arguments) -> list[tuple[str, str]]:
        """Return the problems that a plugin finds in the arguments of a rule.

        :param arguments: the arguments without replacement fields, by name.
        :returns: pairs of the name of an argument and a message, e.g.
            ``('subnet', 'is no network')``.
        :raises: :class:`.exceptions.PluginFailed` if the code fails, or names
            an argument that it does not declare.
        """
        problems = []
        with _NamedInErrors(self, 'problems'):
            for name, message in self.plugin.problems(arguments):
                if name not in self.signature.by_name:
                    # The context turns this into an error of the plugin.
                    raise KeyError(name)
                problems.append((name, message))
        return problems

    def of_node(self, arguments: plugin.Arguments) -> list[str]:
        """Return the names of the arguments that need the node.

        An early rule must not have such arguments, because there is no node
        yet.

        :param arguments: all arguments of a rule by name, as it is written.
        :raises: :class:`.exceptions.PluginFailed` if the code fails, or names
            an argument that it does not declare.
        """
        with _NamedInErrors(self, 'of_node'):
            names = list(self.plugin.of_node(arguments))
            for name in names:
                if name not in self.signature.by_name:
                    # The context turns this into an error of the plugin.
                    raise KeyError(name)
        return names

    def facts(self, arguments: plugin.Arguments, inverted: bool) -> list[Fact]:
        """Return the facts that a condition states, according to its plugin.

        ``lt`` of ``{inventory.cpu.count}`` and 8 states that this field is
        ``lt`` 8. If it is inverted, it states that the field is ``ge`` 8. The
        checks of rules use the facts to compare conditions.

        :param arguments: all arguments of a rule by name, as it is written.
        :param inverted: whether the op is inverted in the rule.
        :raises: :class:`.exceptions.PluginFailed`.
        """
        with _NamedInErrors(self, 'facts'):
            facts = self.plugin.facts(arguments, inverted)
            # A plugin may yield tuples instead of facts.
            return [Fact(*fact) for fact in facts]

    def writes(self, arguments: plugin.Arguments) -> list[Write]:
        """Return what an action would write, according to its plugin.

        The checks of rules use this; nothing is written. For example,
        ``add-trait`` of ``CUSTOM_GPU`` gives a write of the kind ``trait``
        with this name.

        :param arguments: all arguments of a rule by name, as it is written.
        :raises: :class:`.exceptions.PluginFailed` if the code fails, or
            declares a write of an unknown kind.
        """
        with _NamedInErrors(self, 'writes'):
            # A plugin may yield tuples instead of writes.
            writes = [Write(*write) for write in self.plugin.writes(arguments)]
            for write in writes:
                if write.kind not in plugin.WRITE_KINDS:
                    # The context turns this into an error of the plugin.
                    raise ValueError(f'{write.kind!r} is no kind of a place')
        return writes

    def cases(self) -> list[tuple[str, plugin.Schema, plugin.Schema]]:
        """Return the schemas of ``value`` for each kind of ``path``.

        They become part of the JSON schema of rules, which editors use.

        :returns: triples of a pattern for the path, the schema of the argument
            ``value``, and the schema of the argument ``cleanup``.
        :raises: :class:`.exceptions.PluginFailed`.
        """
        with _NamedInErrors(self, 'cases'):
            # Unpack the triples here, so that a wrong number of values counts
            # as an error of the plugin.
            return [
                (path, value, cleanup)
                for path, value, cleanup in self.plugin.cases()
            ]

    def problems_of_filter(
        self, literals: plugin.Arguments, varying: plugin.Arguments
    ) -> plugin.Problems:
        """Yield the problems of the arguments of a filter.

        The arguments are checked by the schemas of the plugin and by its code.

        :param literals: arguments without replacement fields, by name.
        :param varying: the templates of the other arguments, by name.
        :returns: pairs of the name of an argument and a message.
        :raises: :class:`.exceptions.PluginFailed`.
        """
        for name, schemas in self.plugin.SCHEMAS.items():
            if name in literals:
                shape = schema.Shape(schema.any_of(*schemas), name)
                for problem in shape.problems(literals[name]):
                    yield name, problem.sentence
        # Templates are not checked, because their values depend on the
        # machine.
        checked = literals
        if self.plugin.TAKES_FILTER:
            # The filter "replace" in map("replace", "a", "b") is a template.
            # If it were left out, "map" would report a missing argument.
            checked = {**varying, **literals}
        yield from self.problems(checked)


def _find_place(error: BaseException) -> str:
    """Return the line of code that raised an error: ``/a/plugin.py:17``."""
    # The last frame is the innermost one.
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f'{frame.filename}:{frame.lineno}'


# The cache records what was logged, because code that fails usually fails for
# every machine.
@functools.lru_cache(maxsize=256)
def _log_once(op: str, code: str, kind: str, place: str) -> None:
    """Log an error of a plugin, unless the same error was logged before.

    :param op: the name of the plugin in rules.
    :param code: the class of the plugin.
    :param kind: the class of the error, e.g. ``KeyError``.
    :param place: the file and line of the code that raised the error.
    """
    LOG.error(
        'The code of the op or filter "%(op)s" (%(code)s) failed: '
        '%(kind)s at %(place)s',
        {'op': op, 'code': code, 'kind': kind, 'place': place},
    )


class Registry:
    """Conditions and actions by name.

    :raises: :class:`.exceptions.PluginError`, which names the broken plugin.
    """

    def __init__(
        self,
        conditions: typing.Mapping[str, plugin.Condition],
        actions: typing.Mapping[str, plugin.Action],
    ) -> None:
        """Check and register conditions and actions.

        :param conditions: classes or instances, by their names in rules.
        :param actions: classes or instances, by their names in rules.
        """
        self.conditions = {}
        for name, condition in conditions.items():
            self.conditions[name] = _register(
                name, condition, plugin.Condition, engine_arguments=0
            )
        self.actions = {}
        for name, action in actions.items():
            # The engine passes the target to an action, before the arguments
            # of the rule.
            self.actions[name] = _register(
                name, action, plugin.Action, engine_arguments=1
            )

    def condition(self, name: str) -> Op:
        """Return a condition.

        :raises: :class:`.exceptions.UnknownOp`
        """
        return _find_op(self.conditions, name)

    def action(self, name: str) -> Op:
        """Return an action.

        :raises: :class:`.exceptions.UnknownOp`
        """
        return _find_op(self.actions, name)


def _find_op(ops: typing.Mapping[str, Op], name: str) -> Op:
    if name not in ops:
        raise exceptions.UnknownOp(name)
    return ops[name]


@functools.cache
def installed() -> Registry:
    """Return the ops of all installed packages, loaded once per process.

    :raises: :class:`.exceptions.PluginError`, which names the broken plugin.
    """
    return Registry(_load(CONDITIONS), _load(ACTIONS))


@functools.cache
def filters() -> typing.Mapping[str, Op]:
    """Return the filters of all installed packages, loaded once per process.

    :raises: :class:`.exceptions.PluginError`, which names the broken plugin.
    """
    registered = {}
    for name, loaded in _load(FILTERS).items():
        # The engine passes the value to a filter, before the arguments of the
        # rule.
        registered[name] = _register(
            name, loaded, plugin.Filter, engine_arguments=1
        )
    return registered


def _load(group: str) -> dict[str, typing.Any]:
    """Load the plugins of a group of entry points, and return them by name.

    A service does not start if a plugin cannot be loaded or if two plugins
    have the same name, because no rule that uses such a plugin could run.

    :param group: e.g. ``ironic.inspection_rules.filters``.
    :raises: :class:`.exceptions.PluginError`, which names the broken plugin.
    """
    plugins: dict[str, typing.Any] = {}
    # By default, stevedore logs the error and continues without the plugin.
    manager: stevedore.ExtensionManager[typing.Any] = (
        stevedore.ExtensionManager(
            group, on_load_failure_callback=_refuse_failure
        )
    )
    for extension in manager:
        if extension.name in plugins:
            raise exceptions.PluginError(
                _(
                    'Inspection rule plugin "%(name)s" (%(value)s) clashes '
                    'with another of that name in %(group)s'
                )
                % {
                    'name': extension.name,
                    'group': group,
                    'value': extension.entry_point_target,
                }
            )
        plugins[extension.name] = extension.plugin
    return plugins


def _refuse_failure(
    _manager: typing.Any,
    entry_point: importlib.metadata.EntryPoint,
    error: BaseException,
) -> None:
    """Raise an error for a plugin that cannot be loaded.

    This is a callback for stevedore. Without it, stevedore would log the error
    and continue.

    :param error: the error that the import of the plugin raised.
    """
    raise exceptions.PluginError(
        _(
            'Inspection rule plugin "%(name)s" (%(value)s) cannot be '
            'loaded: %(error)s'
        )
        % {
            'name': entry_point.name,
            'value': entry_point.value,
            'error': error,
        }
    ) from error


def _register(
    name: str, loaded: typing.Any, base: typing.Any, engine_arguments: int
) -> Op:
    """Check a plugin, and return it as an op with the signature of its call.

    :param loaded: the class of the plugin, or an instance.
    :param base: the base class for plugins of this kind.
    :param engine_arguments: number of arguments that the engine passes to all
        plugins of this kind, before the arguments of the rule. It is 1 for an
        action, which gets its target.
    :raises: :class:`.exceptions.PluginError`, which names the plugin.
    """
    try:
        instance = loaded
        if inspect.isclass(loaded):
            instance = loaded()
        if not isinstance(instance, base):
            raise exceptions.PluginError(
                _(
                    'it is no %(base)s; the page %(page)s of the '
                    'documentation says what a plugin is'
                )
                % {'base': f'{base.__module__}.{base.__name__}', 'page': PAGE}
            )
        if base is plugin.Filter and instance.NEEDS_VIEW and instance.PAYS:
            raise exceptions.PluginError(
                _(
                    'a filter with NEEDS_VIEW gets the data alone, so it must '
                    'not declare PAYS'
                )
            )
        if instance.NEEDS_VIEW:
            engine_arguments += 1
        if instance.PAYS:
            engine_arguments += 1
        if isinstance(instance, plugin.ConditionGroup):
            # The engine passes the results of its conditions.
            engine_arguments += 1
        # The remaining parameters are the arguments of the rule.
        signature = arguments.Signature(instance, engine_arguments)
        op = Op(name, instance, signature)
        if not op.is_ours:
            _check_schemas(op)
        return op
    # The code of another package may raise any error. Any error must keep the
    # service from starting.
    except Exception as exc:
        raise exceptions.PluginError(
            _(
                'Inspection rule plugin "%(name)s" (%(plugin)r) is not '
                'usable: %(error)s'
            )
            % {'name': name, 'plugin': loaded, 'error': exc}
        ) from exc


def _check_schemas(op: Op) -> None:
    """Check that the SCHEMAS of a plugin are JSON schemas of its arguments.

    :raises: :class:`.exceptions.PluginError`, jsonschema.SchemaError.
    """
    for name, schemas_of_argument in op.plugin.SCHEMAS.items():
        if name not in op.signature.by_name:
            raise exceptions.PluginError(
                _('SCHEMAS: there is no argument "%s"') % name
            )
        for schema_of_argument in schemas_of_argument:
            schema.check(schema_of_argument)
