# SPDX-License-Identifier: Apache-2.0

"""Provides two views of a machine's data: with secrets, and masked.

In the masked view, secrets read ``******``. A change is made in both views,
because rules that see secrets and other rules run in the same phase.
"""

import typing

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.engine.run import views

Mask = typing.Callable[[typing.Any], typing.Any]
MaskOnce = typing.Callable[[str, typing.Any, Mask], typing.Any]


class _MaskedRoots(budget.View):
    """Maps root names to masked data, and masks a root when it is first read.

    :param roots: the data with secrets.
    :param tree: the tree that changes these data.
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
        """Mask a root when a rule reads it for the first time."""
        # From now on, both views share the containers without secrets, so the
        # tree of the open view must copy them before it changes them. The
        # tree of this view needs no such note because it has not copied any.
        self._tree.release_all()
        masked = self._mask_once(root, self._roots[root], masking.mask)
        self[root] = masked
        return masked


class Views:
    """Holds the open and the masked view of the data, and changes both.

    Both views share the containers that hold no secrets. Each view has its own
    :class:`.views.Tree`, which copies a shared container before changing it,
    so that a change in one view never appears in the other by accident.

    :ivar open: the data with secrets, by root name.
    :ivar masked: the data without secrets, by root name.
    :param roots: the data by root name. Its values are never changed in place.
    :param mask_once: returns the masked data of a root, as
        :meth:`.views.Facts.mask_once`.
    """

    def __init__(self, roots: budget.View, mask_once: MaskOnce) -> None:
        self.open = roots
        self._tree = views.Tree()
        self._masked_tree = views.Tree()
        self.masked: budget.View = _MaskedRoots(roots, self._tree, mask_once)

    def release(self, value: typing.Any) -> None:
        """Note that a value of the data is also kept elsewhere.

        The value is copied before it is changed. Plain values are skipped
        because they are immutable.
        """
        if value.__class__ in views.CONTAINERS:
            self._tree.release(value)
            self._masked_tree.release(value)

    def release_all(self) -> None:
        """Note that all of the data are also kept elsewhere.

        They are copied before they are changed.
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

        :param root: the name of the root, e.g. ``node``.
        :param path: the path below the root.
        """
        # The value may already be part of the data, and is then in two places
        # from now on.
        self.release(value)
        self.open[root] = self._tree.assign(self.open[root], path, value)
        # A root that no rule has read in the masked view is masked later,
        # together with the new value.
        if root in self.masked:
            masked_path, masked_value = masking.mask_along(path, value)
            self.masked[root] = self._masked_tree.assign(
                self.masked[root], masked_path, masked_value
            )

    def append(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Append a value to the list at a path, which may be absent.

        In the masked view, a list stays masked as a whole if it is a secret or
        part of a secret.
        """
        self.release(value)
        self.open[root] = self._tree.append(self.open[root], path, value)
        if root not in self.masked:
            return
        # The path up to the first name of a secret, if there is one.
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
        """Remove the value at a path; the caller has checked that it exists.

        In the masked view, a secret stays masked if a part of it is removed.
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
        # A part of the secret was removed. If nothing is left, the empty value
        # is shown, because mask_secret() does not mask it.
        rest = data_path.get(self.open[root], path_of_secret)
        masked_rest = masking.mask_secret(rest)
        self.masked[root] = self._masked_tree.assign(
            self.masked[root], path_of_secret, masked_rest
        )
