# SPDX-License-Identifier: Apache-2.0

"""The journal of the changes that the rules of a phase make.

The journal knows which rule and which action made a change. It hides the
changes of sensitive rules, and masks secrets that a rule must not see.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.i18n import _

_MOST_CONFIRMED = 1000
"""Maximum number of confirmed values in the journal. It is limited because a
loop over a machine's data may set the same value again and again."""


class Journal:
    """The changes and notes of a phase.

    ``changes``, ``confirmed`` and ``notes`` never include anything of a
    sensitive rule, so code that shows them needs no further check.

    :ivar changes: the changes of the data.
    :ivar confirmed: the values that rules have set but that were there
        already.
    :ivar keeps_confirmed: False if nobody reads ``confirmed``.
    :ivar notes: the lines that were logged, and the requests that were sent.
    :ivar withheld: the changes and confirmed values of sensitive rules.
    :param ports: the ports before the phase.
    """

    def __init__(
        self, ports: typing.Sequence[typing.Mapping[str, typing.Any]] = ()
    ) -> None:
        self.changes: list[engine_change.Change] = []
        self.confirmed: list[engine_change.Change] = []
        self.keeps_confirmed = True
        self.notes: list[str] = []
        self.withheld: list[engine_change.Change] = []
        self._ports = ports
        # The changes of all rules, including sensitive rules, in the order in
        # which they were made.
        self._all_changes: list[engine_change.Change] = []
        # The current action, which begin_action() sets.
        self._rule: model.Rule | None = None
        self._action = ''
        # Whether to mask secrets in what the action records.
        self._masked = False
        # Whether the rule is sensitive, so that its changes are withheld.
        self._is_rule_sensitive = False

    def begin_action(
        self, rule: model.Rule, action: str, masked: bool
    ) -> None:
        """Begin an action: all following records belong to this action.

        :param action: the op of the action, e.g. ``set-attribute``.
        :param masked: whether secrets are hidden from the rule.
        """
        self._rule = rule
        self._action = action
        self._masked = masked
        self._is_rule_sensitive = rule.sensitive

    def fork(self) -> 'Journal':
        """Return an empty journal with the same ports.

        It is for a rule in mode ``audit``, which changes a copy of the data.
        """
        fork = Journal(self._ports)
        fork.keeps_confirmed = self.keeps_confirmed
        return fork

    @property
    def change_count(self) -> int:
        """The number of changes, including those of sensitive rules."""
        return len(self._all_changes)

    @property
    def port_names(self) -> list[str]:
        """The names that changes use for ports, by the index of the port."""
        return [engine_change.port_name(port) for port in self._ports]

    @property
    def withheld_places(self) -> frozenset[views.Place]:
        """The places whose values sensitive rules have set."""
        return frozenset(
            (change.object, change.place) for change in self.withheld
        )

    def blame(
        self, name: str, attributes: typing.Collection[str], exc: Exception
    ) -> exceptions.RuleError | None:
        """Build the error of a rule whose changes cannot be saved.

        The error names the last rule that changed one of the attributes. If no
        rule changed any of them, it names the last rule that changed the
        object.

        :param name: the object: ``node``, ``port <MAC>`` or ``traits``.
        :param attributes: the attributes that Ironic rejects: their names, or
            paths to parts of them.
        :param exc: the error of saving.
        :returns: the error; None if no rule changed the object. Its cause is
            ``exc``, unless the reason must not be visible.
        """
        changes = self._changes_of(name, attributes)
        if not changes:
            return None
        last_change = changes[-1]
        rule = typing.cast(model.Rule, last_change.rule)
        cause: Exception | None = None
        if rule.sensitive:
            # Nobody may see what a sensitive rule reads or sets.
            reason = None
        elif any(_is_value_hidden(change) for change in changes):
            # The message of the error may contain a hidden value.
            reason = _(
                'what it sets has a secret, or a value of a sensitive rule'
            )
        else:
            reason = str(exc)
            cause = exc
        error = exceptions.RuleError(
            rule.uuid, disclosure.rule_label(rule), last_change.action, reason
        )
        error.__cause__ = cause
        return error

    def _changes_of(
        self, name: str, attributes: typing.Collection[str]
    ) -> list[engine_change.Change]:
        """Return the changes that rules made to attributes of an object.

        If there are none, return all changes that rules made to the object.

        :param name: the object: ``node``, ``port <MAC>`` or ``traits``.
        :param attributes: names of attributes, or paths to parts of them.
        """
        changes_of_object = [
            change
            for change in self._all_changes
            if change.object == name and change.rule is not None
        ]
        places = [data_path.parse(attribute) for attribute in attributes]
        # A change of "extra" or "extra/rack/unit" also changes "extra/rack".
        changes_of_attributes = [
            change
            for change in changes_of_object
            if any(data_path.overlap(change.place, place) for place in places)
        ]
        return changes_of_attributes or changes_of_object

    def log(self, level: str, message: str) -> str:
        """Record a line that is logged, unless the rule is sensitive.

        :param level: the level of the line, e.g. ``info``.
        :returns: the message for the log. For a sensitive rule, it only says
            that the rule logs something.
        """
        if self._is_rule_sensitive:
            return _('a sensitive rule logs what is withheld')
        self.notes.append(f'{level}: {message}')
        return message

    def note_request(self, url: str) -> str:
        """Note a GET request that the current action sends.

        Requests of sensitive rules are not noted, because nobody may see what
        such a rule does.

        :returns: the request as error messages name it, with the secrets in
            its URL masked, e.g. ``GET http://mirror/hosts``.
        """
        text = f'GET {masking.mask_url(url)}'
        if not self._is_rule_sensitive:
            self.notes.append(text)
        return text

    def confirm(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Record that a rule has set a value that was there already.

        This is only recorded if somebody reads ``confirmed``, and up to a
        limit. It is always recorded for a sensitive rule, because the value at
        this place must be withheld from now on.

        :param root: ``node`` or ``plugin_data``; ``ports``, for which the path
            begins with the index of the port; or ``traits``, for which the
            path is the name of the trait.
        """
        if self._is_rule_sensitive:
            recorded = self.withheld
        elif self.keeps_confirmed and len(self.confirmed) < _MOST_CONFIRMED:
            recorded = self.confirmed
        else:
            return
        op = 'replace'
        if root == engine_change.TRAITS:
            op = 'add'
        change = self._make_change(op, root, path, value, before=value)
        change.earlier = len(self.changes)
        recorded.append(change)

    def record(
        self,
        op: str,
        data: typing.Any,
        root: str,
        path: data_path.Path,
        value: typing.Any = None,
        before: typing.Any = None,
        part: data_path.Path = (),
    ) -> None:
        """Record a change, and mask secrets that the rule must not see.

        A change by a sensitive rule is withheld, and is not in ``changes``.

        :param op: ``add``, ``replace`` or ``remove``.
        :param data: the data below the root after the change.
        :param root: ``node``, ``plugin_data`` or ``ports``, for which the path
            begins with the index of the port.
        :param value: the new value.
        :param before: the previous value; None if there was none.
        :param part: the path of the part that the rule has set, if it is only
            a part of the value.
        """
        change = self._make_change(op, root, path, value, before, part)
        if data_path.APPEND in path:
            # Replace "-" with the index of the appended item. The path of a
            # port begins with its index, which its place lacks: the place of
            # ('0', 'extra', 'disks', '-') is ('extra', 'disks', '2').
            resolved_path = data_path.resolve_append(data, path)
            if root == views.PORTS:
                change.place = resolved_path[1:]
            else:
                change.place = resolved_path
        if op == 'remove':
            # If an item was removed from a list, record how many are left.
            items = data_path.get(data, path[:-1])
            if isinstance(items, list):
                change.left = len(items)
        self._add(change)

    def record_traits(
        self, before: typing.Sequence[str], after: typing.Sequence[str]
    ) -> None:
        """Record a removal or an addition for each trait that differs.

        :param before: the names of the node's traits before the change.
        :param after: their names after the change.
        """
        names_before = set(before)
        names_after = set(after)
        root = engine_change.TRAITS
        for name in before:
            if name not in names_after:
                removal = self._make_change(
                    'remove', root, (name,), value=None, before=name
                )
                self._add(removal)
        for name in after:
            if name not in names_before:
                addition = self._make_change(
                    'add', root, (name,), value=name, before=None
                )
                self._add(addition)

    def _add(self, change: engine_change.Change) -> None:
        """Add a change; withhold it if the rule is sensitive."""
        self._all_changes.append(change)
        if self._is_rule_sensitive:
            self.withheld.append(change)
        else:
            self.changes.append(change)

    def _make_change(
        self,
        op: str,
        root: str,
        path: data_path.Path,
        value: typing.Any,
        before: typing.Any,
        part: data_path.Path = (),
    ) -> engine_change.Change:
        """Build a change of the current action, and mask its secrets.

        Secrets are only masked if the rule of the action must not see them.

        :param op: ``add``, ``replace`` or ``remove``.
        :param root: ``node``, ``plugin_data`` or ``traits``; or ``ports``, for
            which the path begins with the index of the port.
        :param value: the new value; None for ``remove``.
        :param before: the previous value; None for ``add``, except of a trait.
        :param part: the path of the part that the rule has set, if it is only
            a part of the value.
        """
        if root != engine_change.TRAITS:
            # Do not mask None if it only says that there is no value. Below a
            # secret, None would be masked too, as if there was a secret.
            if op != 'remove':
                value = self._disclose(path, value)
            if op != 'add':
                before = self._disclose(path, before)
        name = root
        uuid = None
        if root == views.PORTS:
            port = self._ports[int(path[0])]
            name = engine_change.port_name(port)
            uuid = port.get('uuid')
            path = path[1:]
        # The last argument is the place, which includes the part.
        change = engine_change.Change(
            name, op, data_path.pointer(path), value, before, (*path, *part)
        )
        # Passing these as keyword arguments would take nearly twice as long.
        change.port = uuid
        change.rule = self._rule
        change.action = self._action
        return change

    def _disclose(self, path: data_path.Path, value: typing.Any) -> typing.Any:
        """Return a value as the current rule sees it, masked or unmasked."""
        if self._masked:
            return disclosure.mask_value_at(path, value)
        return value


def _is_value_hidden(change: engine_change.Change) -> bool:
    """Return whether the value of a change is hidden from everybody.

    This is the case if its rule is sensitive, or if the value is masked.
    """
    if change.rule is not None and change.rule.sensitive:
        return True
    return bool(change.value == masking.MASK)
