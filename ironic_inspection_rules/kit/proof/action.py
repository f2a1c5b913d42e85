# SPDX-License-Identifier: Apache-2.0

"""Run the actions of a rule on all possible machines at once.

Whether an action runs on a machine is a formula: it holds on the machines that
the rule matches, unless an earlier action ended the inspection there. A value
has *alternatives*, and the *guard* of an alternative is the formula that a
machine has it. An action with a loop over ``{inventory.disks}`` runs::

    the rule matches, and the disks are a list with a first item → for item 0
    the rule matches, and the list has a second item             → for item 1
    the rule matches, and the disks are a text                   → an error

The module :mod:`.effect` computes what an action changes. If it does not know
an action, the places that the action may change become *unknown*.
"""

from collections.abc import Mapping
import dataclasses
import typing

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import origin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import condition
from ironic_inspection_rules.kit.proof import effect
from ironic_inspection_rules.kit.proof import expression
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import pair
from ironic_inspection_rules.kit.proof import search
from ironic_inspection_rules.kit.proof import secret
from ironic_inspection_rules.kit.proof import state as states
from ironic_inspection_rules.kit.proof import value as values

Formula = logic.Formula
Value = values.Value
Written = Mapping[str, typing.Any]  # An action as a rule has it.

LASTING = ('log', 'api-call')
"""Actions whose effect is outside of a machine, so nothing undoes it."""


@dataclasses.dataclass(frozen=True)
class _Item:
    """The data of an action for one item of its loop.

    :ivar scope: the data, with the item as a root.
    :ivar literal: the item as the rule writes it, e.g. ``eth{vars.port}``. If
        the loop is not written as a list, it is the loop itself. None for an
        action without a loop.
    """

    scope: expression.Scope
    literal: typing.Any = None


class Actions:
    """Runs the actions of a rule on all machines that it matches.

    :param rule_pass: collects the formulas that the rule fails the inspection,
        and that it has an effect that lasts.
    :param state: the machines before the actions.
    :param scope: the data that fields of the rule read.
    :param messages: numbers the messages of ``fail``.
    :param deadline: checked before every item of a loop.
    """

    def __init__(
        self,
        rule_pass: states.RulePass,
        state: states.State,
        scope: expression.Scope,
        messages: pair.Messages,
        deadline: search.Deadline,
    ) -> None:
        self._machine = scope.machine
        self._rule_pass = rule_pass
        self._scope = scope
        self._messages = messages
        self._deadline = deadline
        self._effects = effect.SymbolicEffects(self._machine, rule_pass, state)

    @property
    def state(self) -> states.State:
        """The machines after the actions that have run."""
        return self._effects.state

    def act(self, action: Written) -> None:
        """Run an action on the machines that the rule matches.

        An action with a loop runs for all items. The value of the loop may be
        a list on one machine and null on another. The action runs for all of
        these alternatives, on the machines that have them.
        """
        op = registry.installed().actions[action['op'].strip()]
        bound, _problems = op.signature.bind(action.get('args'))
        call = effect.ActionCall(op, bound)
        if action.get('loop') is None:
            self._act_for_item(
                call, action, _Item(self._scope), self._rule_pass.matched
            )
            return
        # The loop reads data that earlier actions have written.
        scope = self._scope.within(**self.state.roots)
        loop = condition.evaluate_loop(action['loop'], scope)
        for guard, alternative in loop:
            loops_over_it = logic.conj(self._rule_pass.matched, guard)
            self._act_for_items(call, action, alternative, loops_over_it)

    def _act_for_items(
        self,
        call: effect.ActionCall,
        action: Written,
        alternative: values.Alternative,
        when: Formula,
    ) -> None:
        """Run an action over one alternative of its loop.

        As in the engine, the value of the loop decides::

            null                                 → the action does not run
            a text, a number, true or false      → an error
            a missing value or an error          → an error
            unknown, or the node's traits        → what the action may change
                                                   becomes unknown
            a list or a mapping                  → it runs for every item

        An error ends the inspection. For an item of a list, the action runs
        on the machines that have the item.

        :param alternative: the value of the loop, e.g. a list of disks.
        :param when: holds if the loop goes over this alternative.
        """
        if isinstance(alternative, values.UnknownValue | values.TraitNames):
            self._effects.make_unknown(
                call,
                when,
                'a loop over what nobody knows',
                self._scope,
                str(action),
                alternative,
            )
            return
        if isinstance(alternative, values.SolverTerm | values.Failed):
            # A text, number or truth value that the solver chooses, or an
            # error.
            self._effects.end(when)
            return
        if isinstance(alternative, values.Const):
            # The value is the same on all machines.
            if alternative.value is None:
                return
            if alternative.kind not in ('list', 'mapping'):
                self._effects.end(when)
                return
        written_loop = action['loop']
        for number, (exists, value) in enumerate(alternative.items_of_loop()):
            literal = written_loop
            if isinstance(written_loop, list):
                literal = written_loop[number]
            item = _Item(self._scope.within(item=value), literal)
            is_reached = logic.conj(when, exists)
            self._act_for_item(call, action, item, is_reached)
        if isinstance(alternative, values.ItemList):
            # A list may have more items than items_of_loop() returns.
            self._make_later_items_unknown(call, action, alternative, when)

    def _make_later_items_unknown(
        self,
        call: effect.ActionCall,
        action: Written,
        items: values.ItemList,
        when: Formula,
    ) -> None:
        """Make unknown what an action may change for the later items.

        These are the items of a list after the first :data:`.cell.LONGEST`,
        which have no formulas of their own.

        :param items: the list that the loop goes over.
        :param when: holds if the loop goes over this list.
        """
        # Every item may have an effect, so the search cannot conclude from a
        # short list to longer ones.
        items.uses.add(action['op'])
        is_longer = logic.settled(logic.conj(when, items.where_longer))
        if is_longer is logic.FALSE:
            return
        self._effects.make_unknown(
            call,
            is_longer,
            f'an action for more than {cells.LONGEST} items of {items.name}',
            self._scope,
            str(action),
            items,
        )

    def _act_for_item(
        self,
        call: effect.ActionCall,
        action: Written,
        item: _Item,
        when: Formula,
    ) -> None:
        """Run an action for one item of its loop, or without a loop.

        By the op of the action, the step is::

            fail, log, api-call         → _fail_or_act_outside()
            an op with a translation    → _change_data()
            any other op                → what it may change becomes unknown

        :param action: the action as the rule has it.
        :param when: holds if the action is reached. The action does not run if
            its own ``when`` is false, or if the phase has already ended.
        """
        # This raises if the time of the proof is over.
        self._deadline.left()
        # The action reads data that earlier actions have written.
        scope = item.scope.within(**self.state.roots)
        runs = when
        if action.get('when'):
            truth = condition.all_hold(action['when'], scope)
            runs = self._effects.end_where(when, truth.fails)
            runs = logic.conj(runs, truth.holds)
        runs = logic.conj(runs, logic.negated(self._rule_pass.ends))
        if runs is logic.FALSE:
            return
        if call.op.plugin.FAILS or call.op.name in LASTING:
            self._fail_or_act_outside(call, action, scope, runs)
        elif call.op.name in effect.TRANSLATIONS:
            self._change_data(call, action, scope, item.literal, runs)
        else:
            self._effects.make_unknown(
                call,
                runs,
                f'there is no translation of {call.op.name}',
                scope,
                str(action),
            )

    def _fail_or_act_outside(
        self,
        call: effect.ActionCall,
        action: Written,
        scope: expression.Scope,
        when: Formula,
    ) -> None:
        """Run ``fail``, or an action outside of the machine, e.g. ``log``.

        It either ends the phase, or has an effect outside of the machine,
        which nothing undoes.
        """
        broken = self._where_broken(call, action, scope)
        runs = self._effects.end_where(when, broken)
        if call.op.plugin.FAILS:
            # The message is replaced by a number, equal for equal messages.
            number = self._messages.number_of(call.bound, scope)
            self._effects.end(runs, number)
        else:
            self._rule_pass.lasts = logic.disj(self._rule_pass.lasts, runs)

    def _change_data(
        self,
        call: effect.ActionCall,
        action: Written,
        scope: expression.Scope,
        literal: typing.Any,
        when: Formula,
    ) -> None:
        """Run an action that changes data.

        If an argument is missing or an error, or reveals a secret, the action
        fails and the phase ends.

        :param literal: the item of the loop as the rule has it, see
            :func:`_evaluate_path`.
        :param when: holds on the machines on which the action runs.
        """
        args: effect.Arguments = {}
        for name, written in call.bound.items():
            if name == 'path':
                args[name] = _evaluate_path(written, scope, literal)
            else:
                args[name] = expression.evaluate_argument(
                    call.op.signature.by_name[name], written, scope
                )
        # With every check, "goes_on" holds on fewer machines, because the
        # phase ends with an error on the others. If a value is unknown, the
        # solver guesses whether it is missing or an error.
        goes_on = when
        for value in args.values():
            goes_on = self._effects.end_where(
                goes_on, values.where_absent(value)
            )
            is_broken = logic.disj(
                values.where_failed(value),
                self._machine.may_fail(value),
                self._machine.may_lack(value),
            )
            goes_on = self._effects.end_where(goes_on, is_broken)
        reads_secret = self._where_secret_read(action, scope)
        goes_on = self._effects.end_where(goes_on, reads_secret)
        translate = effect.TRANSLATIONS[call.op.name]
        translate(self._effects, call, goes_on, args)

    def _where_broken(
        self, call: effect.ActionCall, action: Written, scope: expression.Scope
    ) -> Formula:
        """Return the formula that ``fail``, ``log`` or a call is an error.

        For the message ``{inventory.cpu.count | divide(2)} is too little``, it
        is that the count is not a number and cannot be divided. By the
        argument, these values are errors::

            a message          → a field that is an error. A missing field
                                 becomes "(missing)", and a secret is masked.
            any other argument → a missing value, an error, and a value that
                                 the op may refuse, which is a guess

        An action without a message must not send a secret either.
        """
        errors = []
        # The names of the arguments that are messages.
        messages = call.op.plugin.TELLS
        for name, written in call.bound.items():
            fields = interpolation.fields(written)
            if name in messages:
                for field in fields:
                    value = expression.evaluate_field(field, scope)
                    errors.append(values.where_failed(value))
                    errors.append(self._machine.may_fail(value))
            elif fields:
                value = expression.evaluate(written, scope)
                errors.append(values.where_absent(value))
                errors.append(values.where_failed(value))
                # Only the op knows whether it accepts the value, e.g. an
                # address that it calls.
                is_refused = self._machine.guess(
                    f'the argument {name}', 'fails', call.op.name, name, value
                )
                errors.append(is_refused)
        if not messages:
            errors.append(self._where_secret_read(action, scope))
        return logic.disj(*errors)

    def _where_secret_read(
        self, action: Written, scope: expression.Scope
    ) -> Formula:
        """Return the formula that an action would write or send a secret.

        This is an error that ends the phase. For an action that writes
        ``{node.driver_info.password}``, the formula is that there is a
        password that is not empty.
        """
        # The origins tell from which data the variables and the item are made,
        # because a variable may contain the password.
        made = origin.Origins(self._rule_pass.rule.vars, action.get('loop'))
        return secret.where_read(
            self._machine, action.get('args'), scope.roots, made
        )


def _evaluate_path(
    written: typing.Any, scope: expression.Scope, literal: typing.Any
) -> Value:
    """Evaluate the path of an action, as the engine splits it into tokens.

    An item that the rule writes is inserted before the path is split, so it
    may become several tokens. With the item "disk/root", ``/extra/{item}`` is
    the path ``('extra', 'disk', 'root')``.

    :param literal: the item as the rule has it, None if there is no item.
    """
    if not isinstance(written, str):
        return expression.evaluate(written, scope)
    path_with_item = written
    # An item that begins with a field is not split: "{item}" stays in the
    # path, where it is one token.
    is_field = isinstance(literal, str) and literal.startswith('{')
    if literal is not None and not is_field:
        path_with_item = interpolation.fill_item(written, literal)
    return expression.evaluate_path(path_with_item, scope)
