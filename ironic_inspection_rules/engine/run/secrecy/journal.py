# SPDX-License-Identifier: Apache-2.0

"""The journal of the changes that the rules of a phase make."""

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
"""Values that were there already of which the journal has a record; a loop
over a machine's data may set one value again and again."""


class Journal:
    """Changes and notes of a phase.

    Whoever shows ``changes``, ``confirmed`` and ``notes`` needs no check of
    their own: none of them is of a sensitive rule.

    :ivar changes: the changes of the data.
    :ivar confirmed: the values that rules have set but that were there
        already.
    :ivar keeps_confirmed: false where nobody reads ``confirmed``.
    :ivar notes: the lines that were logged, and the requests that were sent.
    :ivar withheld: the changes and confirmed values of sensitive rules.
    :param ports: the ports as they are before the phase.
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
        # The changes of all rules, also of sensitive ones, in the order in
        # which they were made: length counts them, blame() finds the last rule
        # in them.
        self._made: list[engine_change.Change] = []
        # The action that runs now; enter() sets these.
        self._rule: model.Rule | None = None
        self._action = ''
        # Whether its secrets are masked in what is recorded.
        self._masked = False
        # Whether its rule is sensitive, so that its changes are withheld.
        self._is_rule_sensitive = False

    def enter(self, rule: model.Rule, action: str, masked: bool) -> None:
        """Begin an action: all records that follow are of this action.

        :param action: the op of the action, such as ``set-attribute``.
        :param masked: whether secrets are hidden from the rule.
        """
        self._rule = rule
        self._action = action
        self._masked = masked
        self._is_rule_sensitive = rule.sensitive

    def fork(self) -> 'Journal':
        """Return an empty journal with the same ports."""
        fork = Journal(self._ports)
        fork.keeps_confirmed = self.keeps_confirmed
        return fork

    @property
    def length(self) -> int:
        """The number of changes, those of sensitive rules among them."""
        return len(self._made)

    @property
    def port_names(self) -> list[str]:
        """The names of ports in changes, by index."""
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

        Of all rules that changed one of the attributes, it is the last one. If
        no rule did, it is the last rule that changed the object.

        :param name: the object: ``node``, ``port <MAC>`` or ``traits``.
        :param attributes: the attributes that Ironic refuses: their names, or
            paths to parts of them.
        :param exc: the error of saving.
        :returns: the error with its cause; None if no rule changed the object.
        """
        suspects = self._changes_of(name, attributes)
        if not suspects:
            return None
        last_change = suspects[-1]
        rule = typing.cast(model.Rule, last_change.rule)
        reason: str | None = str(exc)
        cause: Exception | None = exc
        if rule.sensitive:
            # Nobody may see what such a rule reads or sets.
            reason = None
            cause = None
        elif any(_is_value_hidden(change) for change in suspects):
            # The message of the error may have such a value.
            reason = _(
                'what it sets has a secret, or a value of a sensitive rule'
            )
            cause = None
        error = exceptions.RuleError(
            rule.uuid, disclosure.label(rule), last_change.action, reason
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
        places = [data_path.parse(attribute) for attribute in attributes]
        of_object = []
        of_attributes = []
        for change in self._made:
            if change.object != name or change.rule is None:
                continue
            of_object.append(change)
            for place in places:
                # A change of "extra" or of "extra/rack/unit" is also one of
                # "extra/rack": one of both paths begins with the other.
                depth = min(len(change.place), len(place))
                if change.place[:depth] == place[:depth]:
                    of_attributes.append(change)
                    break
        return of_attributes or of_object

    def log(self, level: str, message: str) -> str:
        """Record a line that is logged.

        That of a sensitive rule is not recorded.

        :returns: the message that the log gets. Of a sensitive rule it only
            says that the rule logs something.
        """
        if self._is_rule_sensitive:
            return _('a sensitive rule logs what is withheld')
        self.notes.append(f'{level}: {message}')
        return message

    def note_request(self, url: str) -> str:
        """Note a GET request that the current action sends.

        A request of a sensitive rule is not noted: nobody may see what such a
        rule does.

        :returns: the request as messages of errors name it, with the secrets
            in its URL masked, such as ``GET http://mirror/hosts``.
        """
        text = f'GET {masking.mask_url(url)}'
        if not self._is_rule_sensitive:
            self.notes.append(text)
        return text

    def confirm(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Record that a rule has set a value that was there already.

        It is recorded only if somebody reads ``confirmed``, and up to a limit.
        For a sensitive rule it is always recorded, as the value at this place
        is withheld from now on.

        :param root: ``node``; ``plugin_data``; ``ports``, for which the path
            begins with the index of the port; or ``traits``, for which the
            path is the name of the trait.
        """
        is_kept = (
            self.keeps_confirmed and len(self.confirmed) < _MOST_CONFIRMED
        )
        if not (is_kept or self._is_rule_sensitive):
            return
        op = 'replace'
        if root == engine_change.TRAITS:
            op = 'add'
        change = self._make_change(op, root, path, value, before=value)
        change.earlier = len(self.changes)
        if self._is_rule_sensitive:
            self.withheld.append(change)
        else:
            self.confirmed.append(change)

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
        """Record a change; secrets that the rule does not see are masked.

        A change by a sensitive rule is withheld: it is not in ``changes``.

        :param op: ``add``, ``replace`` or ``remove``.
        :param data: the data below the root after the change.
        :param root: ``node``, ``plugin_data`` or ``ports``, for which the path
            begins with the index of the port.
        :param part: the path of the part that the rule has set, if it is only
            a part of the value.
        """
        change = self._make_change(op, root, path, value, before, part)
        if data_path.APPEND in path:
            # The index of the appended item takes the place of "-". The path
            # of a port begins with its number, which its place lacks: that of
            # ('0', 'extra', 'disks', '-') is ('extra', 'disks', '2').
            tokens_of_port = len(path) - len(change.place)
            resolved_path = data_path.resolve_append(data, path)
            change.place = resolved_path[tokens_of_port:]
        if op == 'remove':
            items = data_path.get(data, path[:-1])
            if isinstance(items, list):
                change.left = len(items)
        self._add(change)

    def record_traits(
        self, before: typing.Sequence[str], after: typing.Sequence[str]
    ) -> None:
        """Record a removal or an addition for every trait that differs.

        :param before: the names of the node's traits before the change.
        :param after: the names after it.
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
        """Add a change to one of both lists.

        That of a sensitive rule is withheld.
        """
        self._made.append(change)
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
        """Build a change; secrets that the rule does not see are masked."""
        if root != engine_change.TRAITS:
            # Where there is no value, it stays None: below a secret, None
            # would be masked as well, as if a secret were there.
            if op == 'remove':
                value = None
            else:
                value = self._disclose(path, value)
            if op == 'add':
                before = None
            else:
                before = self._disclose(path, before)
        name = root
        uuid = None
        if root == views.PORTS:
            port = self._ports[int(path[0])]
            name = engine_change.port_name(port)
            uuid = port.get('uuid')
            path = path[1:]
        change = engine_change.Change(
            name, op, data_path.pointer(path), value, before, (*path, *part)
        )
        # With these as arguments, by name, it takes nearly twice as long to
        # make.
        change.port = uuid
        change.rule = self._rule
        change.action = self._action
        return change

    def _disclose(self, path: data_path.Path, value: typing.Any) -> typing.Any:
        """Return a value as the current rule sees it: masked, or as it is."""
        if self._masked:
            return disclosure.value_at(path, value)
        return value


def _is_value_hidden(change: engine_change.Change) -> bool:
    """Return whether nobody may see the value of a change.

    It is the value of a sensitive rule, or it is masked.
    """
    if change.rule is not None and change.rule.sensitive:
        return True
    return bool(change.value == masking.MASK)
