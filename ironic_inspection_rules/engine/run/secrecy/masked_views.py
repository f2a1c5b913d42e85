# SPDX-License-Identifier: Apache-2.0

"""The data of a machine in two views: with secrets, and masked."""

import typing

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.engine.run import views

Mask = typing.Callable[[typing.Any], typing.Any]
MaskOnce = typing.Callable[[str, typing.Any, Mask], typing.Any]


class _MaskedRoots(budget.View):
    """The data by root name; each root is masked when it is first read.

    :param roots: the data with secrets.
    :param tree: the tree of these data.
    :param mask_once: returns the masked data of a root, as
        :meth:`.views.Facts.mask_once`.
    """

    def __init__(
        self, roots: budget.View, tree: views.Tree, mask_once: MaskOnce
    ) -> None:
        super().__init__(budget=roots.budget)
        self._roots = roots
        self._tree = tree
        self._mask_once = mask_once

    def __missing__(self, root: str) -> typing.Any:
        """Mask a root, which a rule reads for the first time."""
        # Containers without secrets are now in both views: the tree of the
        # open view must copy them before it changes them. The tree of this
        # view has not copied any of them.
        self._tree.release_all()
        masked = self._mask_once(root, self._roots[root], masking.mask)
        self[root] = masked
        return masked


class Views:
    """Both views of the data; changes are made to both.

    A container without a secret in it is one object in both views. Each view
    has a :class:`.views.Tree` of its own, which copies such a container before
    it changes it. So a change of one view never shows in the other by itself.

    :ivar open: the data with secrets, by root name.
    :ivar masked: the data without secrets, by root name.
    :param roots: the data by root name; the values in it are never changed.
    :param mask_once: returns the masked data of a root, as
        :meth:`.views.Facts.mask_once`.
    """

    def __init__(self, roots: budget.View, mask_once: MaskOnce) -> None:
        self.open = roots
        self._tree = views.Tree()
        self._masked_tree = views.Tree()
        self.masked: budget.View = _MaskedRoots(roots, self._tree, mask_once)

    def release(self, value: typing.Any) -> None:
        """Note that a value of the data is kept somewhere else, too.

        It is copied before it changes; plain values never change.
        """
        if value.__class__ in views.CONTAINERS:
            self._tree.release(value)
            self._masked_tree.release(value)

    def release_all(self) -> None:
        """Note that all of the data are kept somewhere else, too.

        They are copied before they change.
        """
        self._tree.release_all()
        self._masked_tree.release_all()

    def has_member(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> bool:
        """Return whether the list at a path has an item equal to a value."""
        return self._tree.has_member(self.open[root], path, value)

    def assign(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Set the value at a path; see :meth:`.views.Tree.assign`.

        In the masked view, the value and its path are masked.
        """
        # The value may be a part of the data already, and is in two places
        # from now on.
        self.release(value)
        self.open[root] = self._tree.assign(self.open[root], path, value)
        # A root that no rule has read in this view is masked later, with the
        # value in it.
        if root in self.masked:
            masked_path, masked_value = masking.mask_along(path, value)
            self.masked[root] = self._masked_tree.assign(
                self.masked[root], masked_path, masked_value
            )

    def append(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Append a value to the list at a path, which may be absent.

        In the masked view, a list that is a secret, or is part of one, stays
        masked as a whole.
        """
        self.release(value)
        self.open[root] = self._tree.append(self.open[root], path, value)
        if root not in self.masked:
            return
        path_of_secret = masking.find_secret_along(path)
        if path_of_secret is None:
            self.masked[root] = self._masked_tree.append(
                self.masked[root], path, masking.mask(value)
            )
        else:
            self.masked[root] = self._masked_tree.assign(
                self.masked[root], path_of_secret, masking.MASK
            )

    def remove(self, root: str, path: data_path.Path) -> None:
        """Remove the value at a path; the caller has checked that it is there.

        In the masked view, a secret with a part of it removed stays masked.
        """
        self.open[root] = self._tree.remove(self.open[root], path)
        if root not in self.masked:
            return
        path_of_secret = masking.find_secret_along(path)
        if path_of_secret is None or path_of_secret == path:
            self.masked[root] = self._masked_tree.remove(
                self.masked[root], path
            )
            return
        # A part of the secret was removed. If nothing is left of it, the empty
        # value is shown: mask_at() masks only a value that is not empty.
        rest = data_path.get(self.open[root], path_of_secret)
        masked_rest = masking.mask_at(path_of_secret[-1], rest)
        self.masked[root] = self._masked_tree.assign(
            self.masked[root], path_of_secret, masked_rest
        )
