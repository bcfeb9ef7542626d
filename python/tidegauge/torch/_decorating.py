"""Decorators that hold a context round a whole call, also of a coroutine or a generator.

    async def step(): …        ContextDecorator would end the context when step() returns its coroutine
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractContextManager, aclosing
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def held(enter: Callable[[], AbstractContextManager[Any]], function: Callable[P, T]) -> Callable[P, T]:
    """The function inside a context: of a coroutine until it has ended, of a generator while it is iterated.

    Values that are sent into an asynchronous generator do not reach it.
    """
    decorated: Any = function
    if inspect.iscoroutinefunction(function):
        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with enter():
                return await decorated(*args, **kwargs)

        decorator: Any = awaited
    elif inspect.isasyncgenfunction(function):
        @wraps(function)
        async def each(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            with enter():
                async with aclosing(decorated(*args, **kwargs)) as values:
                    async for value in values:
                        yield value

        decorator = each
    elif inspect.isgeneratorfunction(function):
        @wraps(function)
        def iterated(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with enter():
                return (yield from decorated(*args, **kwargs))

        decorator = iterated
    else:
        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> T:
            with enter():
                return function(*args, **kwargs)

        decorator = called
    found: Callable[P, T] = decorator
    return found
