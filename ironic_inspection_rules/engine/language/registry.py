# SPDX-License-Identifier: Apache-2.0

"""The registry of installed ops and filters.

In-tree plugins are loaded like those of others. A duplicate name, a class
that cannot be loaded and one that is not a plugin are errors at start-up that
name the plugin.
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

PAGE = 'contributor/plugins'  # Page of the documentation about plugins.

_OUR_PACKAGE = __name__.partition('.')[0]
_CALL = '__call__'

Function = typing.Callable[..., typing.Any]
Fact = plugin.Fact
Write = plugin.Write

_P = typing.ParamSpec('_P')
_R = typing.TypeVar('_R')


class _NamedInErrors:
    """A context for code of a plugin, whose errors name the plugin.

    Errors of this package pass. Not a generator function: rules take longer
    to be checked with one.

    :param op: the op of the plugin.
    :param method: the method of the plugin that is called in the context.
    :raises: :class:`.exceptions.PluginFailed` for any other error.
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
        if isinstance(error, exceptions.InspectionRulesError):
            return
        # Code of other projects may raise any error.
        if isinstance(error, Exception):
            code = self._op.code
            if self._method != _CALL:
                code = f'{code}.{self._method}'
            raise exceptions.PluginFailed(
                self._op.name, code, error
            ) from error


class Op(typing.NamedTuple):
    """A plugin with its name in rules, and the arguments that it declares.

    Rules reach the code of a plugin by these methods only. Any error may come
    out of it; authors of rules then read which plugin it was.
    """

    name: str
    plugin: typing.Any
    signature: arguments.Signature

    def context(self, view: budget.View) -> list[typing.Any]:
        """Return the values that precede the arguments in calls of the plugin.

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
        """The class of the plugin."""
        return f'{type(self.plugin).__module__}.{type(self.plugin).__name__}'

    @property
    def is_ours(self) -> bool:
        """Whether the plugin belongs to this package."""
        return self.code.startswith(f'{_OUR_PACKAGE}.')

    def guarded(
        self, function: typing.Callable[_P, _R], method: str = _CALL
    ) -> typing.Callable[_P, _R]:
        """Wrap a function of the plugin, so that its errors name the plugin.

        Errors of this package pass; any other error becomes
        :class:`.exceptions.PluginFailed`.

        :param method: the name of the function, for the error.
        """
        context = _NamedInErrors(self, method)

        def call(*arguments: _P.args, **named: _P.kwargs) -> _R:
            with context:
                return function(*arguments, **named)

        return call

    def for_machines(
        self, function: Function, method: str = _CALL
    ) -> Function:
        """Wrap a function of the plugin for calls with many machines.

        The function of another package is guarded, and its errors are logged,
        once for every line of its code. Our functions are called as they are:
        guarded, a condition takes about twice as long.

        :param method: the name of the function, for the error.
        """
        if self.is_ours:
            return function
        guarded = self.guarded(function, method)

        def call(*arguments: typing.Any, **named: typing.Any) -> typing.Any:
            try:
                return guarded(*arguments, **named)
            except exceptions.PluginFailed as exc:
                # Nobody sees the error of a sensitive rule. The place in the
                # code of the plugin shows nothing of the rule.
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

        :param arguments: the arguments without replacement fields, by name.
        :returns: a function that takes the values of :meth:`context`, then the
            other arguments.
        :raises: :class:`.exceptions.OperationError` if it cannot be called.
        """
        bind = self.guarded(self.plugin.bind, 'bind')
        return self.for_machines(bind(arguments))

    def relation(self) -> Function | None:
        """Return the function that compares a pair of values.

        :returns: None unless the op is a relation, such as ``lt``.
        """
        if isinstance(self.plugin, plugin.Relation):
            return self.for_machines(self.plugin.holds, 'holds')
        return None

    def problems(self, arguments: plugin.Arguments) -> list[tuple[str, str]]:
        """Return the problems that a plugin has with arguments in a rule.

        :returns: pairs of the name of an argument and a message.
        :raises: :class:`.exceptions.PluginFailed` if its code fails, or names
            an argument that it does not declare.
        """
        problems = []
        with _NamedInErrors(self, 'problems'):
            for name, message in self.plugin.problems(arguments):
                if name not in self.signature.by_name:
                    raise KeyError(name)
                problems.append((name, message))
        return problems

    def of_node(self, arguments: plugin.Arguments) -> list[str]:
        """Return the names of the arguments that read the node.

        They are refused in an early rule, as there is no node yet.

        :raises: :class:`.exceptions.PluginFailed` if its code fails, or names
            an argument that it does not declare.
        """
        with _NamedInErrors(self, 'of_node'):
            names = list(self.plugin.of_node(arguments))
            for name in names:
                if name not in self.signature.by_name:
                    raise KeyError(name)
        return names

    def facts(self, arguments: plugin.Arguments, inverted: bool) -> list[Fact]:
        """Return the facts that a condition states, as the plugin says.

        Checks of rules compare conditions by their facts.

        :param inverted: whether the op is inverted in the rule.
        :raises: :class:`.exceptions.PluginFailed`.
        """
        with _NamedInErrors(self, 'facts'):
            facts = self.plugin.facts(arguments, inverted)
            # A plugin may yield tuples in place of facts.
            return [Fact(*fact) for fact in facts]

    def writes(self, arguments: plugin.Arguments) -> list[Write]:
        """Return the writes of an action, as the plugin declares them.

        Checks of rules read them; nothing is written.

        :raises: :class:`.exceptions.PluginFailed` if its code fails, or
            declares a write of an unknown kind.
        """
        with _NamedInErrors(self, 'writes'):
            # A plugin may yield tuples in place of writes.
            writes = [Write(*write) for write in self.plugin.writes(arguments)]
            for write in writes:
                if write.kind not in plugin.WRITE_KINDS:
                    raise ValueError(f'{write.kind!r} is no kind of a place')
        return writes

    def cases(self) -> list[tuple[str, plugin.Schema, plugin.Schema]]:
        """Return the schemas of ``value`` for every kind of ``path``.

        The JSON schema of rules for editors has them.

        :returns: triples: a pattern of the path, and the schemas of the
            arguments ``value`` and ``cleanup``.
        :raises: :class:`.exceptions.PluginFailed`.
        """
        with _NamedInErrors(self, 'cases'):
            # Unpacked here, so that any other number of values is an error of
            # the plugin.
            return [
                (path, value, cleanup)
                for path, value, cleanup in self.plugin.cases()
            ]

    def problems_of_filter(
        self, literals: plugin.Arguments, varying: plugin.Arguments
    ) -> plugin.Problems:
        """Yield the problems of the arguments of a filter.

        :param literals: arguments without replacement fields, by name.
        :param varying: the other arguments, as templates.
        :raises: :class:`.exceptions.PluginFailed`.
        """
        for name, schemas in self.plugin.SCHEMAS.items():
            if name in literals:
                shape = schema.Shape(schema.any_of(*schemas), name)
                for problem in shape.problems(literals[name]):
                    yield name, problem.sentence
        arguments = literals
        if self.plugin.TAKES_FILTER:
            # In map("replace", "a", "b") the filter that "map" takes is among
            # the varying arguments; without it "map" would miss it. Plugins
            # that take no filter check literals only: what a template
            # becomes depends on the machine.
            arguments = {**varying, **literals}
        yield from self.problems(arguments)


def _find_place(error: BaseException) -> str:
    """Return the line of code that raised an error."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f'{frame.filename}:{frame.lineno}'


# Once for each line of code: each machine may come to it.
@functools.lru_cache(maxsize=256)
def _log_once(op: str, code: str, kind: str, place: str) -> None:
    """Log an error of a plugin, unless it was logged before."""
    LOG.error(
        'The code of the op or filter "%(op)s" (%(code)s) failed: '
        '%(kind)s at %(place)s',
        {'op': op, 'code': code, 'kind': kind, 'place': place},
    )


class Registry:
    """Conditions and actions by name.

    :raises: :class:`.exceptions.PluginError` naming the plugin at fault.
    """

    def __init__(
        self,
        conditions: typing.Mapping[str, plugin.Condition],
        actions: typing.Mapping[str, plugin.Action],
    ) -> None:
        """Register conditions and actions, given as classes or instances."""
        self.conditions = {}
        for name, condition in conditions.items():
            self.conditions[name] = _register(
                name, condition, plugin.Condition, engine_arguments=0
            )
        self.actions = {}
        for name, action in actions.items():
            # The engine gives an action its target, before the arguments of
            # the rule.
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
    """Return the ops of all installed packages, loaded once in a process.

    :raises: :class:`.exceptions.PluginError` naming the plugin at fault.
    """
    return Registry(_load(CONDITIONS), _load(ACTIONS))


@functools.cache
def filters() -> typing.Mapping[str, Op]:
    """Return the filters of all installed packages, loaded once in a process.

    :raises: :class:`.exceptions.PluginError` naming the plugin at fault.
    """
    registered = {}
    for name, loaded in _load(FILTERS).items():
        # The engine gives a filter the value, before the arguments of the
        # rule.
        registered[name] = _register(
            name, loaded, plugin.Filter, engine_arguments=1
        )
    return registered


def _load(group: str) -> dict[str, typing.Any]:
    """Load the plugins of a group of entry points, and return them by name.

    A plugin that fails to load, or two plugins of one name, refuse the start:
    no rule that uses the plugin could run.

    :raises: :class:`.exceptions.PluginError` naming the plugin at fault.
    """
    plugins: dict[str, typing.Any] = {}
    # stevedore itself logs an error and goes on without the plugin.
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
    """Refuse the start because of a plugin that cannot be loaded."""
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
    :param base: the base class that plugins of this kind have.
    :param engine_arguments: how many arguments of a call the engine gives to
        all plugins of this kind, before those of the rule.
    :raises: :class:`.exceptions.PluginError` naming the plugin.
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
            # It takes the results of its conditions.
            engine_arguments += 1
        signature = arguments.Signature(instance, engine_arguments)
        op = Op(name, instance, signature)
        if not op.is_ours:
            _check_schemas(op)
        return op
    # Whatever is wrong with the code of strangers, services do not start.
    except Exception as exc:
        raise exceptions.PluginError(
            _(
                'Inspection rule plugin "%(name)s" (%(plugin)r) is not '
                'usable: %(error)s'
            )
            % {'name': name, 'plugin': loaded, 'error': exc}
        ) from exc


def _check_schemas(op: Op) -> None:
    """Check that the schemas of a plugin belong to its arguments.

    :raises: :class:`.exceptions.PluginError`, jsonschema.SchemaError.
    """
    for name, schemas in op.plugin.SCHEMAS.items():
        if name not in op.signature.by_name:
            raise exceptions.PluginError(
                _('SCHEMAS: there is no argument "%s"') % name
            )
        for of_argument in schemas:
            schema.check(of_argument)
