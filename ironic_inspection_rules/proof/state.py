# SPDX-License-Identifier: Apache-2.0

"""Machines before, between and after rules."""

import dataclasses
import typing

import z3

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.proof import value as values

ANY_PORT = '*'
"""Stands for a port that is not named by its MAC address."""

ERROR = -1
"""The result of an inspection that met an error."""


@dataclasses.dataclass(frozen=True)
class State:
    """All machines at one moment.

    ``going`` holds for those whose inspection goes on; ``result`` is 0 where
    it goes on, -1 where it ended with an error, else the number of the
    message that it failed with.
    """

    roots: typing.Mapping[str, values.Value]
    going: values.Formula = values.TRUE
    result: typing.Any = dataclasses.field(
        default_factory=lambda: z3.IntVal(0))

    def ended(self, ends: values.Formula, result: int = ERROR) -> 'State':
        """Return the state after some inspections have ended."""
        if ends is values.FALSE:
            return self
        return dataclasses.replace(
            self, going=values.conj(self.going, values.negated(ends)),
            result=z3.If(ends, z3.IntVal(result), self.result))

    def having(self, **roots: values.Value) -> 'State':
        """Return the state with other data under some roots."""
        return dataclasses.replace(self, roots={**self.roots, **roots})


@dataclasses.dataclass(frozen=True)
class Write:
    """The value that a rule leaves at one place, and when.

    ``place`` begins with the name of a root; after ``ports`` comes the MAC
    address of the port, or :data:`ANY_PORT`; ``port`` is it as a term.
    """

    place: data_path.Path
    when: values.Formula
    value: values.Value
    extends: bool = False
    port: typing.Any = None


@dataclasses.dataclass
class Passed:
    """One rule that has run.

    ``before`` are the machines as it found them, ``begin`` as its phase did;
    ``lasts`` says when it wrote a log or called somebody, ``fails`` when it
    failed an inspection, ``ends`` when it did that or met an error.
    """

    rule: model.Rule
    matched: values.Formula
    before: State
    begin: State
    writes: list[Write] = dataclasses.field(default_factory=list)
    lasts: values.Formula = values.FALSE
    fails: values.Formula = values.FALSE
    ends: values.Formula = values.FALSE
