# SPDX-License-Identifier: Apache-2.0

"""What may be said of the parts of a machine, from what was seen of them.

The oracle knows true identities, and counts what has none. Where equal parts
cannot be told from one another it accepts each answer that names one of them,
and goes on with the answer that was given.
"""

import collections
import dataclasses

from ironic_inspection_rules.tests.unit.machine import part_account
from ironic_inspection_rules.tests.unit.machine import part_model

GONE, NEW, MOVED, UNREPORTED = part_account.WHAT


class Oracle:
    """What is known of a machine after some inspections."""

    def __init__(self):
        self.accounts = {}
        self.heard = {}
        self.told = {}
        self.last = set()
        self.sights = None
        self.stays = collections.defaultdict(list)

    def check(self, time, report, changes):
        """Judge what was said of an inspection.

        :param report: lists of sights by channels.
        :param changes: as the API shows them; None of the first inspection,
            which is compared with no other.
        :returns: what is wrong with them, as texts.
        """
        report = {
            channel: sights
            for channel, sights in report.items()
            if sights or channel.kind != part_model.DIMM
        }
        same = {
            channel: collections.Counter(sights)
            for channel, sights in report.items()
        }
        before = {
            name: [
                channel
                for channel, account in self.accounts.items()
                if any(name in entry.ids for entry in account)
            ]
            for name in self.stays
        }
        report = self._without_shared(report)
        self.group = part_account.groups(
            [
                *(
                    entry.ids
                    for account in self.accounts.values()
                    for entry in account
                ),
                *(sight.ids for sights in report.values() for sight in sights),
            ]
        )
        self._compare(report)
        wrong = []
        if changes is not None:
            wrong = [
                *self._judge_sides(changes),
                *self._judge_all(report, changes),
            ]
            if same == self.sights and changes:
                wrong.append('said of a machine that is the same')
        self.sights = same
        self._learn(time, report, changes or [], before)
        return wrong

    def _judge_sides(self, changes):
        for each in changes:
            if each['kind'] not in part_model.KINDS:
                yield f'{each}: no such part'
            for side in (each['before'], each['after']):
                if (
                    side
                    and side['id'] is not None
                    and part_model.plain(side['id']) not in self.group
                ):
                    yield f'{each}: no such identity'

    def _judge_all(self, report, changes):
        for kind in part_model.KINDS:
            said = [each for each in changes if each['kind'] == kind]
            for text in self._judge(
                kind,
                {
                    channel: sights
                    for channel, sights in report.items()
                    if channel.kind == kind
                },
                said,
            ):
                yield f'{kind}: {text}'

    def _without_shared(self, report):
        """Take away identities that several parts have, also from before."""
        count = collections.Counter(
            (channel, name)
            for channel, sights in report.items()
            for sight in sights
            for name in sight.ids
        )
        shared = {
            name for (_channel, name), times in count.items() if times > 1
        }
        for account in self.accounts.values():
            for entry in account:
                entry.ids -= shared
                entry.shown = entry.shown and bool(entry.ids)
        return {
            channel: [
                dataclasses.replace(sight, ids=sight.ids - shared)
                for sight in sights
            ]
            for channel, sights in report.items()
        }

    def _compare(self, report):
        """Pair what each source said of parts that it named."""
        self.pairs, self.classes = {}, {}
        for channel, sights in report.items():
            self.pairs[channel] = pairs = []
            self.classes[channel] = classes = collections.defaultdict(
                part_account.Class
            )
            left = list(self.accounts.get(channel, ()))
            for sight in sights:
                entry = next(
                    (entry for entry in left if entry.ids & sight.ids), None
                )
                if entry is not None:
                    left.remove(entry)
                    pairs.append((entry, sight))
                elif sight.ids:
                    classes[sight.make].named.append(sight)
                else:
                    classes[sight.make].unnamed.append(sight)
            for entry in left:
                (
                    classes[entry.make].lost
                    if entry.shown
                    else classes[entry.make].nameless
                ).append(entry)

    def _judge(self, kind, report, said):
        self.named = collections.defaultdict(list)
        for each in said:
            if each['id'] is not None:
                self.named[
                    self.group.get(part_model.plain(each['id']))
                ].append(each['what'])
        if None in self.named:
            yield f'of unknown parts: {said}'
        known = {
            self.group[min(entry.ids)]
            for channel, account in self.accounts.items()
            if channel.kind == kind
            for entry in account
            if entry.ids
        }
        seen = {
            self.group[min(sight.ids)]
            for sights in report.values()
            for sight in sights
            if sight.ids
        }
        for group in sorted(known | seen):
            if group not in known:
                allowed = self._arrival(group, report)
            elif group in seen:
                allowed = self._stay(group, report)
            else:
                allowed = self._absence(group, report)
            what = tuple(self.named.pop(group, ()))
            if what not in allowed:
                yield f'{group}: {what}, not {allowed}'
            self.named[group] = what
        yield from self._judge_counts(report, said)

    def _arrival(self, group, report):
        options = []
        for channel, sights in report.items():
            for sight in sights:
                if sight.ids and self.group[min(sight.ids)] == group:
                    options.append(
                        {UNREPORTED}
                        if channel not in self.accounts
                        else self.classes[channel][sight.make].arrival()
                    )
        if {NEW} in options:
            return {(NEW,)}
        return {(each,) for option in options for each in option}

    def _stay(self, group, report):
        for channel in report:
            for entry, sight in self.pairs[channel]:
                if (
                    self.group[min(sight.ids)] == group
                    and entry.slot != sight.slot
                ):
                    if entry.slot == part_account.ANYWHERE:
                        return {(), (MOVED,)}
                    return {(MOVED,)}
        return {()}

    def _absence(self, group, report):
        options, was_there = [], False
        for channel, account in self.accounts.items():
            for entry in account:
                if not entry.ids or self.group[min(entry.ids)] != group:
                    continue
                if channel in report:
                    options.append(
                        self.classes[channel][entry.make].loss(entry)
                    )
                elif channel in self.last:
                    was_there = True
        if {GONE} in options:
            return {(GONE,)}
        if not options:
            return {(UNREPORTED,)} if was_there else {()}
        every = set.union(*options)
        allowed = {(GONE,)} if GONE in every else set()
        if UNREPORTED in every:
            allowed.add((UNREPORTED,))
        if None in every and {UNREPORTED} not in options:
            # Which of them has moved cannot be known.
            allowed |= {(), (MOVED,)}
        if was_there and () in allowed:
            allowed.add((UNREPORTED,))
        return allowed

    def _judge_counts(self, report, said):
        """Judge how often something is said of parts without identity."""
        count = collections.Counter(
            each['what'] for each in said if each['id'] is None
        )
        named = {
            what: {
                group for group, whats in self.named.items() if what in whats
            }
            for what in part_account.WHAT
        }
        old = [channel for channel in report if channel in self.accounts]
        ranges = [
            self._ranges(channel, report[channel], named) for channel in old
        ]
        for what in (GONE, NEW, MOVED):
            least = max([0, *(each[what][0] for each in ranges)])
            most = max([0, *(each[what][1] for each in ranges)])
            if what == MOVED and (
                len(old) > 1
                or named[MOVED]
                or any(
                    each.withheld
                    for channel in old
                    for each in self.classes[channel].values()
                )
            ):
                least = 0
            if not least <= count[what] <= most:
                yield (f'{count[what]} nameless {what}, not {least} to {most}')
        yield from self._judge_unreported(report, said)

    def _ranges(self, channel, sights, named):
        """Return how often a source may say something, at least, at most.

        What others have said before, or say now, it does not say again.
        """
        classes = self.classes[channel].values()
        told_gone, told_new = self.told.get(channel, (0, 0))
        own = {
            self.group[min(entry.ids)]
            for entry in self.accounts[channel]
            if entry.ids
        }
        now = {self.group[min(sight.ids)] for sight in sights if sight.ids}
        known = sum(len(each.named) for each in classes) - len(
            now & (named[NEW] | named[UNREPORTED])
        )
        gone = told_gone + len(named[GONE] - own)
        new = max(0, told_new - known) + len(named[NEW] - now)
        bounds = [each.gone() for each in classes]
        moves = sum(each.moves() for each in classes)
        appeared = sum(each.new() for each in classes) - new
        return {
            GONE: (
                sum(least for least, _most in bounds) - gone,
                sum(most for _least, most in bounds) - gone,
            ),
            NEW: (appeared, appeared),
            MOVED: (moves, moves),
        }

    def _judge_unreported(self, report, said):
        nameless = [
            each
            for each in said
            if each['id'] is None and each['what'] == UNREPORTED
        ]
        silent = [
            account
            for channel, account in self.accounts.items()
            if channel in self.last
            and channel not in report
            and channel.kind in {each['kind'] for each in said}
        ]
        first = [
            sights
            for channel, sights in report.items()
            if channel not in self.accounts
        ]
        most = max([len(sights) for sights in report.values()], default=0)
        before = sum(each['after'] is None for each in nameless)
        if report and all(len(account) <= most for account in silent):
            if before:
                yield f'{before} are unreported, of which all are there'
        elif (
            not report
            and before
            != max(
                (
                    sum(not entry.ids for entry in account)
                    for account in silent
                ),
                default=0,
            )
            and len(silent) == 1
        ):
            yield f'{before} are unreported'
        if len(nameless) > before and not first:
            yield 'a source that has reported before tells nothing new'

    def _learn(self, time, report, changes, before):
        """Go on from what was said."""
        gone = {
            self.group.get(part_model.plain(each['id']))
            for each in changes
            if each['what'] == GONE and each['id'] is not None
        }
        seen = {
            self.group[min(sight.ids)]
            for sights in report.values()
            for sight in sights
            if sight.ids
        }
        for channel, account in list(self.accounts.items()):
            if channel not in report:
                own = {
                    self.group[min(entry.ids)]
                    for entry in account
                    if entry.ids
                }
                self.accounts[channel] = [
                    entry
                    for entry in account
                    if not entry.ids or self.group[min(entry.ids)] not in gone
                ]
                self._tell(channel, own, changes)
        for channel, sights in report.items():
            self.accounts[channel] = self._account(channel, sights, gone, seen)
            self.told.pop(channel, None)
        there = {
            name
            for account in self.accounts.values()
            for entry in account
            for name in entry.ids
        }
        for name in there:
            if not self.stays[name] or self.stays[name][-1][1] is not None:
                self.stays[name].append([time, None])
        for name, stays in self.stays.items():
            if name not in there and stays[-1][1] is None:
                stays[-1][1] = max(
                    self.heard[channel] for channel in before[name]
                )
        self.heard.update(dict.fromkeys(report, time))
        self.last = set(report)

    def _tell(self, channel, own, changes):
        """Note what another source has said, so that it is not said again."""
        account = self.accounts[channel]
        gone, new = self.told.get(channel, (0, 0))
        for each in changes:
            if each['kind'] != channel.kind:
                continue
            group = each['id'] and self.group.get(part_model.plain(each['id']))
            gone += each['what'] == GONE and group not in own
            new += each['what'] == NEW
        self.told[channel] = (
            min(gone, sum(not entry.ids for entry in account)),
            new,
        )
        slots = {
            (
                self.group.get(part_model.plain(each['id']))
                if each['id']
                else None,
                each['before']['slot'],
            ): each['after']['slot']
            for each in changes
            if each['what'] == MOVED and each['kind'] == channel.kind
        }
        slots.update(
            {(None, slot): after for (_group, slot), after in slots.items()}
        )
        for entry in account:
            group = self.group[min(entry.ids)] if entry.ids else None
            entry.slot = slots.get((group, entry.slot), entry.slot)

    def _account(self, channel, sights, gone, seen):
        named = {name for sight in sights for name in sight.ids}
        account = []
        for entry, sight in self.pairs[channel]:
            account.append(
                part_account.Entry(
                    sight.ids | (entry.ids - named),
                    sight.make,
                    sight.slot,
                    True,
                )
            )
        for each in self.classes[channel].values():
            account += [
                part_account.Entry(sight.ids, sight.make, sight.slot, True)
                for sight in each.named
            ]
            account += each.entries(
                lambda entry: (
                    not (
                        self.group[min(entry.ids)] in gone or entry.ids & named
                    )
                ),
                lambda entry: self.group[min(entry.ids)] in seen,
            )
        return account
