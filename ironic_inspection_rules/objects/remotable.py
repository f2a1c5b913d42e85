# SPDX-License-Identifier: Apache-2.0

"""Methods that a service without a database has its conductor carry out."""

from collections.abc import Callable
from typing import Any
import warnings

from oslo_versionedobjects import base


def class_method(function: Callable[..., Any]) -> Any:
    """Make a function a remotable method of a versioned object's class.

    :param function: takes the class, the context, and what else it needs.
    """
    # Since oslo.versionedobjects 3.12 "remotable" is for methods of classes
    # too, and this decorator is deprecated. Before, it is the only one: Ironic
    # 35 to 38 come with 3.9 to 3.11.
    decorate = getattr(base, 'remotable_classmethod', None)
    if decorate is None:
        return classmethod(base.remotable(function))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DeprecationWarning)
        return decorate(function)
