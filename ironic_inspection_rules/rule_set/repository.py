# SPDX-License-Identifier: Apache-2.0

"""The built-in and the stored rules of this process, compiled.

Built-in rules come from a file that the configuration names. Stored rules come
from the database, and all processes share them. Both together are the rule
set. Each change of the stored rules and tables gives it a new *revision*, a
number such as 17.

A *snapshot* is the compiled rule set of one revision. It is built when rules
are first needed, and again after any process has changed a rule. A small query
for the revision detects such changes. A *plan* is one compiled rule.
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
"""Compiled rules by phase, in the order in which they run."""


def order(rules: typing.Iterable[model.Rule]) -> list[model.Rule]:
    """Sort rules into the order in which they run.

    Rules are sorted by phase, then with the highest priority first, then with
    built-in rules before stored rules. Otherwise they keep the given order
    (spec 003 "Priorities").
    """

    def key(rule: model.Rule) -> tuple[int, int, bool]:
        """Return the phase, the priority and whether the rule is stored."""
        is_stored = not rule.built_in
        return model.PHASES.index(rule.phase), -rule.priority, is_stored

    return sorted(rules, key=key)


class Snapshot(typing.NamedTuple):
    """The rules that run, with their tables and their revision.

    ``revision`` is None before the stored rules have been read. ``plans`` are
    the compiled rules of each phase, in the order in which they run.
    ``tables`` are all tables by name, and ``stored_tables`` are the tables
    that are not built in. ``reads_previous`` is whether any rule that runs on
    a node may read the data of the previous inspection.
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
    :ivar snapshot: the compiled rule set; empty until :meth:`refresh` is
        called.
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
        # The thread that builds a snapshot holds this lock.
        self._lock = threading.Lock()
        self.snapshot = Snapshot()
        # Format the options once, because every stored run has them.
        self.options = self._format_options()

    def _format_options(self) -> str:
        """Return the built-in rules and other options as JSON text.

        For example, ``{"built_in": [{"uuid": …}], "default_scope": null,
        "mask_secrets": "always"}``.

        The result of a run depends on the stored rules and on these options.
        The options are stored with the run, so that :meth:`with_options` can
        replay it after the configuration has changed. Equal options always
        give the same text.
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

        A run is replayed with the options that were stored with it.

        :param options: the :attr:`options` of another repository, as JSON
            text. They may have other built-in rules or another default scope.
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
        """Update :attr:`snapshot` if the stored rules have changed.

        Threads share the snapshot, which is replaced as a whole. A thread that
        reads the attribute once has the rules of a single revision.

        :param context: Ironic's context, for database queries.
        :returns: the snapshot of the newest revision.
        :raises: :class:`.exceptions.InvalidRule` if a stored rule cannot be
            compiled, e.g. because its plugin was removed. The snapshot is then
            not changed.
        :raises: :class:`.exceptions.Conflict` if rows of a table are missing
            although the rules have not changed in the meantime.
        """
        # Read the revision outside the lock, so that no inspection waits for
        # the query of another inspection. Usually nothing has changed.
        revision = self._read_revision(context)
        # One thread builds the snapshot. The others wait, and then use it. If
        # a thread has read an older revision than that of the snapshot, it
        # builds one more, but also ends with the newest revision.
        with self._lock:
            while revision != self.snapshot.revision:
                revision = self._try_to_replace_snapshot(context, revision)
            return self.snapshot

    def _try_to_replace_snapshot(
        self, context: typing.Any, revision: int
    ) -> int:
        """Build a snapshot, and use it unless the rule set has changed.

        :param revision: the revision of the rule set that was read last.
        :returns: the newest revision. If it is another one, the snapshot was
            not replaced.
        :raises: the errors of :meth:`refresh`.
        """
        try:
            snapshot = self._build_snapshot(context, revision)
        except exceptions.Conflict:
            # Rows of a table were replaced while it was read. If the rule set
            # has not changed, the rows are missing for good.
            newest_revision = self._read_revision(context)
            if newest_revision == revision:
                raise
            return newest_revision
        # If the revision has changed since it was read, it is unknown to which
        # of the two revisions the rules belong. Then discard the snapshot.
        newest_revision = self._read_revision(context)
        if newest_revision == revision:
            self.snapshot = snapshot
        return newest_revision

    def _build_snapshot(self, context: typing.Any, revision: int) -> Snapshot:
        """Read the stored rules and tables, and return a snapshot of them.

        :param revision: the revision of the snapshot. If a newer revision is
            stored in the meantime, the caller detects that.
        """
        stored_tables = {}
        if self._store is not None:
            stored_tables = self._store.refresh(context)
        tables_by_name = {
            name: stored.table for name, stored in stored_tables.items()
        }
        tables = self.with_stored_tables(tables_by_name)
        rules = self.read_rules_in_force(context)
        plans = self.compile(rules, tables)
        # A field such as {previous.inventory.cpu} reads the last inspection
        # of the node, which is only loaded if a rule needs it. Rules of the
        # early phase cannot read it, because the node is not known yet.
        plans_with_node = (*plans[model.PREPROCESS], *plans[model.MAIN])
        reads_previous = any(plan.reads_previous for plan in plans_with_node)
        return Snapshot(
            revision,
            plans,
            tables,
            stored_tables=stored_tables,
            reads_previous=reads_previous,
        )

    def read_rules_in_force(self, context: typing.Any) -> list[model.Rule]:
        """Read all rules, including rules whose mode is ``off``."""
        return self.with_stored(self._read_rules(context))

    def with_stored(
        self, stored: typing.Iterable[typing.Mapping[str, typing.Any]]
    ) -> list[model.Rule]:
        """Return the built-in rules followed by the given stored rules.

        Stored rules without a scope get the default scope.

        :param stored: the stored rules as mappings of their fields.
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
        """Return the tables of a revision, with today's built-in tables.

        The rules of this revision read them when an inspection of that time
        is evaluated again.
        """
        return self.with_stored_tables(
            self.stored_tables_of(context, revision)
        )

    def stored_tables_of(
        self, context: typing.Any, revision: int
    ) -> table.Tables:
        """Return the stored tables of a revision."""
        if self._store is None:
            return {}
        return self._store.read_revision(context, revision)

    def compile(
        self, rules: typing.Iterable[model.Rule], tables: table.Tables
    ) -> dict[str, tuple[compiler.CompiledRule, ...]]:
        """Compile rules, and return them by phase, in the order of running.

        Rules whose mode is ``off`` are skipped, because they never run.

        A rule may fail to compile if it was stored by another release, or by a
        service with other plugins. Then no rule runs, because the other rules
        may do harm without it. All rules that fail are logged.

        :param tables: the tables that rules read as ``{tables.NAME}``.
        :returns: for example, ``{'early': (), 'preprocess': (), 'main':
            (CompiledRule(…), …)}``.
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
            try:
                plan = self._compile_rule(rule, tables)
            except exceptions.InvalidRule as exc:
                LOG.error(
                    '%s; where it is in force, no rule runs until '
                    'it is mended, deleted or its mode is "off"',
                    exc,
                )
                errors.append(exc)
                continue
            if rule.phase == model.EARLY:
                _warn_of_node_fields(rule)
            plans[rule.phase].append(plan)
        if errors:
            raise errors[0]
        return {phase: tuple(compiled) for phase, compiled in plans.items()}

    def _compile_rule(
        self, rule: model.Rule, tables: table.Tables
    ) -> compiler.CompiledRule:
        """Compile one rule.

        :raises: :class:`.exceptions.InvalidRule` with the reason. The reason
            for a sensitive rule reveals at most the name of the op that
            failed, because its content must not be shown.
        """
        # disclose_text() returns the first text, or for a sensitive rule the
        # second text, which has no details.
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
        except (AttributeError, LookupError, TypeError):
            problem = self._find_problem_of_form(rule)
            if problem is None:
                # The mistake is in this package, not in the rule.
                raise
            reason = disclosure.disclose_text(
                rule, str(problem), _('it does not have the form of a rule')
            )
        raise exceptions.InvalidRule(
            [exceptions.Problem('', reason)], rule.uuid
        )

    def _find_problem_of_form(
        self, rule: model.Rule
    ) -> exceptions.Problem | None:
        """Return the first problem of what a stored rule does.

        The API checks rules, but somebody may have written the actions
        ``[{}]`` to the database.

        :returns: None if there is no problem.
        """
        content = {name: getattr(rule, name) for name in model.CONTENT}
        for name in model.OPERATIONS:
            content[name] = list(content[name])
        return next(iter(validation.validate(content, self.ops)), None)

    def with_default_scope(self, rule: model.Rule) -> model.Rule:
        """Return a stored rule with the default scope if it sets none.

        An early rule has no scope, because there is no node yet.
        """
        if rule.scope or rule.phase == model.EARLY:
            return rule
        return dataclasses.replace(rule, scope=self._default_scope)


def _warn_of_node_fields(rule: model.Rule) -> None:
    """Log a warning if a rule of the early phase reads the node.

    In this phase there is no node yet, so its values are always missing. The
    API rejects rules of this kind, but this rule may have been stored without
    this check. It still runs.
    """
    problems = validation.check_fields_of_node(rule.to_mapping())
    # The places in the rule, e.g. "/conditions/0/args/value". Two fields may
    # have the same place. A dict removes duplicates and keeps the order.
    places = dict.fromkeys(problem.pointer for problem in problems)
    if places:
        LOG.warning(
            'Inspection rule %(rule)s is of the early phase, where there is '
            'no node: what it reads of one is always missing%(places)s',
            {
                'rule': disclosure.rule_label(rule),
                'places': disclosure.disclose_text(
                    rule, f' ({", ".join(places)})'
                ),
            },
        )
