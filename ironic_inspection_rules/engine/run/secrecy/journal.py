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

    ``changes`` are those of the data, ``confirmed`` values that were set but
    already there, ``notes`` the lines that were logged and the requests that
    were sent. What sensitive rules set is in ``withheld`` instead, and what
    they note is nowhere: whoever shows the rest needs no check of their own.
    ``keeps_confirmed`` is false where nobody reads ``confirmed``.

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
        # The changes of both lists, "changes" and "withheld", in the order in
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
        """Begin an action: the records that follow are its.

        :param action: its op.
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
    def closed(self) -> frozenset[views.Place]:
        """The places whose values are withheld."""
        return frozenset(
            (change.object, change.place) for change in self.withheld
        )

    def blame(
        self, name: str, attributes: typing.Collection[str], exc: Exception
    ) -> exceptions.RuleError | None:
        """Build the error of the rule that keeps an object from being saved.

        That is the last rule that changed one of the attributes or, if no rule
        did, the object.

        :param name: the object: ``node``, ``port <MAC>`` or ``traits``.
        :param attributes: names of attributes, or paths to parts of them.
        :returns: the error with its cause; None if no rule changed the object.
        """
        suspects = self._changes_of(name, attributes)
        if not suspects:
            return None
        last = suspects[-1]
        rule = typing.cast(model.Rule, last.rule)
        reason: str | None = str(exc)
        cause: Exception | None = exc
        if rule.sensitive:
            # Nobody may see what such a rule reads or sets.
            reason = None
            cause = None
        elif any(map(_is_hidden, suspects)):
            # The message may have a value that nobody may see.
            reason = _(
                'what it sets has a secret, or a value of a sensitive rule'
            )
            cause = None
        error = exceptions.RuleError(
            rule.uuid, disclosure.label(rule), last.action, reason
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
                # At the attribute, above it, or below it.
                depth = min(len(change.place), len(place))
                if change.place[:depth] == place[:depth]:
                    of_attributes.append(change)
                    break
        return of_attributes or of_object

    def log(self, level: str, message: str) -> str:
        """Record a line that is logged.

        :returns: the message as the log may have it.
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

        It is only recorded if the run is kept, up to a limit; for a sensitive
        rule it always is.

        :param root: where the path begins: ``node``, ``plugin_data``, or
            ``ports``, whose path has the index of the port first. For
            :data:`.change.TRAITS`, the path is the name of the trait.
        """
        is_kept = (
            self.keeps_confirmed and len(self.confirmed) < _MOST_CONFIRMED
        )
        if not (is_kept or self._is_rule_sensitive):
            return
        op = 'replace'
        if root == engine_change.TRAITS:
            op = 'add'
        change = self._change(op, root, path, value, value)
        change.earlier = len(self.changes)
        if self._is_rule_sensitive:
            # Always, as the value at this place is withheld from now on.
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
        :param data: the root as it is after the change.
        :param part: the part of the value that the rule has set, as a path
            below it.
        """
        change = self._change(op, root, path, value, before, part)
        if data_path.APPEND in path:
            # The path of a port begins with its number, which its place lacks:
            # ('0', 'extra', 'disks', '-') has the place ('extra', 'disks', …).
            above = len(path) - len(change.place)
            change.place = data_path.resolve_append(data, path)[above:]
        if op == 'remove':
            items = data_path.get(data, path[:-1])
            if isinstance(items, list):
                change.left = len(items)
        self._add(change)

    def record_traits(
        self, before: typing.Sequence[str], after: typing.Sequence[str]
    ) -> None:
        """Record the traits that were removed and those that were added."""
        names_before = set(before)
        names_after = set(after)
        root = engine_change.TRAITS
        for name in before:
            if name not in names_after:
                removal = self._change(
                    'remove', root, (name,), value=None, before=name
                )
                self._add(removal)
        for name in after:
            if name not in names_before:
                addition = self._change(
                    'add', root, (name,), value=name, before=None
                )
                self._add(addition)

    def _add(self, change: engine_change.Change) -> None:
        """Add a change; that of a sensitive rule is withheld."""
        self._made.append(change)
        if self._is_rule_sensitive:
            self.withheld.append(change)
        else:
            self.changes.append(change)

    def _change(
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
            # A value that is not there stays None: below a secret it would be
            # masked as well, and look like one.
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
        if self._masked:
            return disclosure.value_at(path, value)
        return value


def _is_hidden(change: engine_change.Change) -> bool:
    """Return whether the value of a change is not to be shown."""
    if change.rule is not None and change.rule.sensitive:
        return True
    return bool(change.value == masking.MASK)
