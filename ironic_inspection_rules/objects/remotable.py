# SPDX-License-Identifier: Apache-2.0

"""Methods that run in the conductor if the caller has no database."""

from collections.abc import Callable
from typing import Any
import warnings

from oslo_versionedobjects import base


def class_method(function: Callable[..., Any]) -> Any:
    """Make a function a remotable method of a versioned object's class.

    :param function: takes the class, the context, and what else it needs.
    """
    # Ironic 35 comes with oslo.versionedobjects 3.9, where only
    # "remotable_classmethod" is for methods of classes. Ironic 36 to 39 come
    # with 3.10 to 3.12, where "remotable" is for these too, and
    # "remotable_classmethod" is deprecated. It is used until it is removed, as
    # all of them have it.
    decorate = getattr(base, 'remotable_classmethod', None)
    if decorate is None:
        return classmethod(base.remotable(function))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DeprecationWarning)
        return decorate(function)
