# SPDX-License-Identifier: Apache-2.0

"""The built-in and the stored rules of this process, compiled.

Built-in rules are available from the start. Stored rules are compiled when
they are first needed, and again after any process has changed a rule. A small
query detects such changes.
"""

import dataclasses
import json
import threading
import types
import typing

from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_set import table_store

LOG = log.getLogger(__name__)


ReadRevision = typing.Callable[[typing.Any], int]
"""Takes Ironic's context; returns the revision of the rule set."""

ReadRules = typing.Callable[
    [typing.Any], typing.Iterable[typing.Mapping[str, typing.Any]]
]
"""Takes Ironic's context; returns all stored rules by their position."""

Plans = typing.Mapping[str, tuple[compiler.CompiledRule, ...]]
"""Compiled rules by phase."""


def order(rules: typing.Iterable[model.Rule]) -> list[model.Rule]:
    """Sort rules into the order in which they run.

    Within a phase, the highest priority comes first. At equal priority,
    built-in rules come before stored rules, and otherwise rules keep the given
    order (spec 003 "Priorities").
    """

    def key(rule: model.Rule) -> tuple[int, int, bool]:
        """Return the phase, the priority and whether the rule is stored."""
        is_stored = not rule.built_in
        return model.PHASES.index(rule.phase), -rule.priority, is_stored

    return sorted(rules, key=key)


class Snapshot(typing.NamedTuple):
    """The rules that run, with their tables and their revision.

    ``plans`` are the rules of each phase, in the order in which they run.
    ``tables`` are all tables in force, and ``stored_tables`` are those that
    are not built in. ``reads_previous`` is whether any rule that runs on a
    node may read the data of the previous inspection.
    """

    revision: int | None = None
    plans: Plans = types.MappingProxyType(dict.fromkeys(model.PHASES, ()))
    tables: table.Tables = {}
    stored_tables: typing.Mapping[str, table_store.StoredTable] = {}
    reads_previous: bool = False


class Repository:
    """The built-in and the stored rules, compiled.

    :param ops: the actions, conditions and filters that rules may use.
    :param built_in: the built-in rules, in the order of the file that the
        option ``built_in`` of the configuration names.
    :param read_revision: reads the revision of the rule set, e.g. 17.
    :param read_rules: reads the stored rules.
    :param default_scope: the scope of stored rules that set none; None or ''
        for no scope.
    :param mask_secrets: ``always``, ``never`` or ``sensitive``.
    :param built_in_tables: the tables of the built-in file, by name.
    :param source: the source of stored tables, or None if there are none.
    :param limits: the limits of each phase, by its name.
    :ivar options: the built-in rules, ``default_scope`` and ``mask_secrets``,
        as JSON text. It is stored with each run, and :meth:`with_options`
        reads it when the run is replayed.
    """

    def __init__(
        self,
        ops: registry.Registry,
        built_in: typing.Sequence[model.Rule],
        read_revision: ReadRevision,
        read_rules: ReadRules,
        default_scope: str | None = None,
        mask_secrets: str = 'always',
        built_in_tables: table.Tables = types.MappingProxyType({}),
        source: table_store.Source | None = None,
        limits: typing.Mapping[str, budget.Limits] = budget.BY_PHASE,
    ) -> None:
        self.ops = ops
        self.limits = limits
        self.built_in = tuple(built_in)
        self.built_in_uuids = frozenset(rule.uuid for rule in built_in)
        self.built_in_tables = built_in_tables
        self._source = source
        self._store: table_store.TableStore | None = None
        if source is not None:
            self._store = table_store.TableStore(source)
        self._read_revision = read_revision
        self._read_rules = read_rules
        self._default_scope = default_scope or None
        self._mask_secrets = mask_secrets
        # The thread that reads and compiles rules holds this lock.
        self._lock = threading.Lock()
        self.snapshot = Snapshot()
        # Format the options once, because every stored run has them.
        self.options = self._format_options()

    def _format_options(self) -> str:
        """Return the :attr:`options` as JSON, for :meth:`with_options`.

        The result of a run depends on the stored rules and on these options.
        The options are stored with the run, so that it can be replayed after
        the configuration has changed. Equal options always give the same text.
        """
        built_in = []
        for rule in self.built_in:
            built_in.append({**rule.to_mapping(), 'built_in': True})
        options = {
            'built_in': built_in,
            'default_scope': self._default_scope,
            'mask_secrets': self._mask_secrets,
        }
        return json.dumps(options, sort_keys=True)

    def with_options(self, options: str) -> 'Repository':
        """Return a repository of the same stored rules with other options.

        :param options: the :attr:`options` of a repository. They may be from
            another time, with other built-in rules or another default scope.
        """
        decoded = json.loads(options)
        built_in = [
            model.Rule.from_mapping(fields) for fields in decoded['built_in']
        ]
        return Repository(
            self.ops,
            built_in,
            read_revision=self._read_revision,
            read_rules=self._read_rules,
            default_scope=decoded['default_scope'],
            mask_secrets=decoded['mask_secrets'],
            built_in_tables=self.built_in_tables,
            source=self._source,
            limits=self.limits,
        )

    def refresh(self, context: typing.Any) -> Snapshot:
        """Update the snapshot if the stored rules have changed.

        Threads share ``snapshot``, which is replaced as a whole. A thread that
        reads the attribute once has the rules of a single revision.

        :returns: the snapshot of the built-in and the stored rules.
        :raises: :class:`.exceptions.InvalidRule` if a stored rule cannot be
            compiled, e.g. because its plugin was removed. The snapshot is then
            not changed.
        :raises: :class:`.exceptions.Conflict` if rows of a table are missing
            although the rules have not changed in the meantime.
        """
        # Read the revision outside the lock, so that no inspection waits for
        # the query of another inspection. Usually nothing has changed.
        revision = self._read_revision(context)
        # One thread reads and compiles the rules. The others wait, and then
        # use its snapshot. A thread that had read an older revision reads the
        # rules again, and also ends with the newest revision.
        with self._lock:
            while revision != self.snapshot.revision:
                try:
                    snapshot = self._build_snapshot(context, revision)
                except exceptions.Conflict:
                    # Rows of a table were replaced while it was read. If the
                    # rule set has not changed, the rows are missing for good.
                    revision_before = revision
                    revision = self._read_revision(context)
                    if revision == revision_before:
                        raise
                    continue
                # If the stored revision has changed since, it is unknown to
                # which of the two the rules belong, so read them again.
                revision = self._read_revision(context)
                if revision == snapshot.revision:
                    self.snapshot = snapshot
            return self.snapshot

    def _build_snapshot(self, context: typing.Any, revision: int) -> Snapshot:
        """Read the stored rules and tables, and compile them into a snapshot.

        :param revision: the revision of the snapshot. If a newer revision is
            stored in the meantime, the caller detects that.
        """
        stored = {}
        if self._store is not None:
            stored = self._store.refresh(context)
        tables_by_name = {
            name: stored_table.table for name, stored_table in stored.items()
        }
        tables = self.with_stored_tables(tables_by_name)
        rules_in_force = self.read_rules_in_force(context)
        plans = self.compile(rules_in_force, tables)
        # A field such as {previous.inventory.cpu} reads the last inspection
        # of the node, which is only loaded if a rule needs it. In the early
        # phase, the node is not known yet.
        plans_with_node = (*plans[model.PREPROCESS], *plans[model.MAIN])
        reads_previous = any(plan.reads_previous for plan in plans_with_node)
        return Snapshot(
            revision,
            plans,
            tables,
            stored_tables=stored,
            reads_previous=reads_previous,
        )

    def read_rules_in_force(self, context: typing.Any) -> list[model.Rule]:
        """Read all rules, including rules that never run."""
        return self.with_stored(self._read_rules(context))

    def with_stored(
        self, stored: typing.Iterable[typing.Mapping[str, typing.Any]]
    ) -> list[model.Rule]:
        """Return the built-in rules followed by the given stored rules.

        Stored rules without a scope get the default scope.

        :param stored: the fields of each stored rule.
        """
        rules = list(self.built_in)
        for fields in stored:
            rules.append(
                self.with_default_scope(model.Rule.from_mapping(fields))
            )
        return rules

    def with_stored_tables(self, stored: table.Tables) -> table.Tables:
        """Return the built-in tables together with some stored tables."""
        return {**stored, **self.built_in_tables}

    def tables_of(self, context: typing.Any, revision: int) -> table.Tables:
        """Return the tables of a revision, with today's built-in tables."""
        return self.with_stored_tables(
            self.stored_tables_of(context, revision)
        )

    def stored_tables_of(
        self, context: typing.Any, revision: int
    ) -> table.Tables:
        """Return the stored tables of a revision."""
        if self._store is None:
            return {}
        return self._store.of_revision(context, revision)

    def compile(
        self, rules: typing.Iterable[model.Rule], tables: table.Tables
    ) -> dict[str, tuple[compiler.CompiledRule, ...]]:
        """Compile the rules that run, and return them by phase, in order.

        A rule may fail to compile if it was stored by another release, or by
        a service with other plugins. All such rules are logged. If there is
        any, no rule runs, because the other rules may do harm without it. An
        early rule that reads the node is logged as a warning.

        :param tables: the tables that rules read as ``{tables.NAME}``.
        :raises: :class:`.exceptions.InvalidRule` for the first rule that
            cannot be compiled.
        """
        plans: dict[str, list[compiler.CompiledRule]] = {
            phase: [] for phase in model.PHASES
        }
        errors = []
        for rule in order(rules):
            if rule.mode == model.OFF:
                continue
            if rule.phase == model.EARLY:
                _warn_of_node_fields(rule)
            try:
                plan = self._compile_rule(rule, tables)
            except exceptions.InvalidRule as exc:
                LOG.error(
                    '%s; where it is in force, no rule runs until '
                    'it is mended, deleted or its mode is "off"',
                    exc,
                )
                errors.append(exc)
            else:
                plans[rule.phase].append(plan)
        if errors:
            raise errors[0]
        return {phase: tuple(compiled) for phase, compiled in plans.items()}

    def _compile_rule(
        self, rule: model.Rule, tables: table.Tables
    ) -> compiler.CompiledRule:
        """Compile one rule.

        :raises: :class:`.exceptions.InvalidRule`. For a sensitive rule, its
            reason reveals at most the op that failed, which errors of such a
            rule may show.
        """
        try:
            return compiler.compile_rule(
                rule, self.ops, self._mask_secrets, tables=tables
            )
        except exceptions.UnknownOp as exc:
            reason = str(exc)
        except exceptions.PluginFailed as exc:
            reason = disclosure.disclose_text(
                rule,
                _('op "%(op)s": %(error)s') % {'op': exc.op, 'error': exc},
                _('op "%s" cannot be prepared') % exc.op,
            )
        except exceptions.InspectionRulesError as exc:
            reason = disclosure.disclose_text(
                rule, str(exc), _('it no longer compiles')
            )
        raise exceptions.InvalidRule(
            [exceptions.Problem('', reason)], rule.uuid
        )

    def with_default_scope(self, rule: model.Rule) -> model.Rule:
        """Return a stored rule with the default scope if it sets none.

        An early rule has no scope, because there is no node yet.
        """
        if rule.scope or rule.phase == model.EARLY:
            return rule
        return dataclasses.replace(rule, scope=self._default_scope)


def _warn_of_node_fields(rule: model.Rule) -> None:
    """Log a warning if an early rule reads the node.

    Such rules are rejected today, but this rule may have been stored before.
    It still runs, and the values of the node are missing as before.
    """
    problems = validation.check_fields_of_node(rule.to_mapping())
    # Use a dict, because a set loses the order. Two fields may have the same
    # place.
    places = dict.fromkeys(problem.pointer for problem in problems)
    if places:
        LOG.warning(
            'Inspection rule %(rule)s is of the early phase, where there is '
            'no node: what it reads of one is always missing%(places)s',
            {
                'rule': disclosure.label(rule),
                'places': disclosure.disclose_text(
                    rule, f' ({", ".join(places)})'
                ),
            },
        )
