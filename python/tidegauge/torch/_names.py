"""Names of tensors: which block is which parameter, gradient or optimizer state.

Models and optimizers are held by weak references alone. Where their tensors lie is looked up when a
snapshot is taken, so a name follows `model.to()`, a new gradient and a lazily made state. A tensor
that `name()` or `refresh()` saw and that died since keeps its name for the time it was seen.
"""

from __future__ import annotations

import importlib
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from tidegauge.arguments import shown, text_of
from tidegauge.errors import UsageError, WrongTypeError

from ._live import torch_module

KINDS = ("parameter", "buffer", "gradient", "optimizer_state", "activation", "other")
# Names of tensors that died: the newest are kept. 200 bytes each.
SEEN_ENTRIES = 20_000
# The dead among the named tensors are looked for when there are more than this.
PRUNE_FROM = 1_000


class Named(NamedTuple):
    """A name of a piece of device memory. Address and bytes are the storage's, the shape is that of the shard here."""

    device: int
    address: int
    bytes: int
    name: str
    kind: str
    of: str
    state: str
    shape: tuple[int, ...]
    dtype: str
    time_us: int

    def to_dict(self) -> dict[str, Any]:
        """The entry as it stands in a snapshot."""
        return {**self._asdict(), "shape": list(self.shape)}


def now_us() -> int:
    """Microseconds since the epoch: the clock of PyTorch's events."""
    return time.time_ns() // 1000


def plain_tensors(tensor: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The tensors that hold memory: a DTensor's shard, the parts of a quantised weight, or itself."""
    torch = torch_module()
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) and hasattr(tensor, "__tensor_flatten__"):
        inner, _ = tensor.__tensor_flatten__()
        for attribute in inner:
            each = getattr(tensor, attribute)
            if hasattr(each, "untyped_storage"):
                whole = len(inner) == 1 or attribute == "_local_tensor"  # the shard of a DTensor
                yield from plain_tensors(each, name if whole else f"{name}.{attribute}")
    else:
        yield name, tensor


def entries(tensor: Any, name: str, kind: str, of: str = "", state: str = "") -> Iterator[Named]:
    """The entries of a tensor; none if it holds no memory of a CUDA device now."""
    for full_name, each in plain_tensors(tensor, name):
        if not getattr(each, "is_cuda", False):
            continue
        try:
            storage = each.untyped_storage()
            address, size = storage.data_ptr(), storage.nbytes()
        except RuntimeError:  # a fake tensor, or one without a storage
            continue
        if address and size:
            dtype = str(each.dtype).removeprefix("torch.")
            yield Named(each.device.index, address, size, full_name, kind, of, state,
                        tuple(each.shape), dtype, now_us())


def _parameters(model: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Names and parameters, each tied weight under all of its names."""
    for name, parameter in model.named_parameters(prefix=prefix, remove_duplicate=False):
        clean = name.replace("_fsdp_wrapped_module.", "").replace("_orig_mod.", "")
        originals = getattr(parameter, "_fqns", None)  # FSDP's flat parameter holds several
        if originals:
            above = clean.rpartition(".")[0]
            for original in originals:
                yield f"{above}.{original}".lstrip("."), parameter
        else:
            yield clean, parameter


class _Source:
    """A model, and the optimizers of its parameters."""

    def __init__(self, model: Any, optimizers: tuple[Any, ...], prefix: str) -> None:
        self.model = weakref.ref(model) if model is not None else (lambda: None)
        self.optimizers = [weakref.ref(each) for each in optimizers if each is not None]
        self.prefix = prefix

    def alive(self) -> bool:
        return self.model() is not None or any(each() is not None for each in self.optimizers)

    def of_model(self, names: dict[int, str]) -> Iterator[Named]:
        """Parameters, gradients and buffers. Puts the names of parameters, by their id, into `names`."""
        model = self.model()
        if model is not None:
            for name, parameter in _parameters(model, self.prefix):
                yield from entries(parameter, name, "parameter")
                if id(parameter) not in names:
                    names[id(parameter)] = name
                    if parameter.grad is not None:
                        yield from entries(parameter.grad, f"{name}.grad", "gradient", of=name)
            for name, buffer in model.named_buffers(prefix=self.prefix, remove_duplicate=False):
                yield from entries(buffer, name, "buffer")

    def of_optimizers(self, names: dict[int, str]) -> Iterator[Named]:
        """The state of the optimizers."""
        for reference in self.optimizers:
            optimizer = reference()
            if optimizer is not None:
                yield from self._states(optimizer, names)

    def _states(self, optimizer: Any, names: dict[int, str]) -> Iterator[Named]:
        for at, group in enumerate(optimizer.param_groups):
            for place, parameter in enumerate(group["params"]):
                name = names.get(id(parameter), f"{self.prefix}group{at}.{place}")
                # .get(): the state of an optimizer is a defaultdict, and asking must not make entries.
                for state, value in dict(optimizer.state.get(parameter) or {}).items():
                    if hasattr(value, "untyped_storage"):
                        yield from entries(value, f"{name}.{state}", "optimizer_state", of=name, state=str(state))


class _NamedTensor:
    """What `name()` was given. A tensor may die before its storage, of which it was a view."""

    def __init__(self, tensor: Any, text: str, kind: str, found: list[Named]) -> None:
        self.tensor = weakref.ref(tensor)
        self.text, self.kind, self.found = text, kind, found
        self.storages = _storages_of(tensor, text)

    def key(self) -> tuple[Any, ...]:
        """Equal for all views of the same storages that have the same name."""
        return (self.text, *(each.cdata for each in self.storages)) if self.storages else (self.text, id(self))

    def alive(self) -> bool:
        return self.tensor() is not None or not all(each.expired() for each in self.storages)

    def entries(self) -> Iterator[Named]:
        """Where it lies now; of a tensor that died, where what is left of its storages lies."""
        tensor = self.tensor()
        if tensor is not None:
            yield from entries(tensor, self.text, self.kind)
        elif len(self.storages) == len(self.found):
            for reference, each in zip(self.storages, self.found):
                storage = torch_module().UntypedStorage._new_with_weak_ptr(reference.cdata)
                if storage is not None and storage.data_ptr() and storage.nbytes():
                    yield each._replace(address=storage.data_ptr(), bytes=storage.nbytes(), time_us=now_us())


def _storages_of(tensor: Any, text: str) -> list[Any]:
    """Weak references to the storages of a device; none if one of its parts has no storage."""
    reductions = importlib.import_module("torch.multiprocessing.reductions")
    try:
        return [reductions.StorageWeakRef(each.untyped_storage()) for _, each in plain_tensors(tensor, text)
                if getattr(each, "is_cuda", False)]
    except RuntimeError:
        return []


class _Registry:
    """All names of this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.sources: list[_Source] = []
        self.tensors: dict[tuple[Any, ...], _NamedTensor] = {}
        self.prune_at = PRUNE_FROM  # tensors
        self.seen: deque[Named] = deque(maxlen=SEEN_ENTRIES)

    def resolve(self) -> Iterator[tuple[Named, bool]]:
        """Names of what lives now (True), and of what was seen and lies elsewhere or nowhere now (False)."""
        live: set[tuple[int, int, str]] = set()
        for each in self.live():
            live.add((each.device, each.address, each.name))
            yield each, True
        with self.lock:
            seen = list(self.seen)
        for each in seen:
            if (each.device, each.address, each.name) not in live:
                yield each, False

    def add(self, tensor: _NamedTensor) -> None:
        with self.lock:
            self.seen.extend(tensor.found)
            self.tensors[tensor.key()] = tensor
            if len(self.tensors) > self.prune_at:
                self._prune()

    def _prune(self) -> None:
        """Forgets tensors that died. Costs as much as there are, so the next one is due at twice as many."""
        self.tensors = {key: each for key, each in self.tensors.items() if each.alive()}
        self.prune_at = max(PRUNE_FROM, 2 * len(self.tensors))

    def live(self) -> Iterator[Named]:
        with self.lock:
            self.sources = [each for each in self.sources if each.alive()]
            self._prune()
            sources, tensors = list(self.sources), list(self.tensors.values())
        names: dict[int, str] = {}  # of all models: an optimizer may have come without its own
        for source in sources:
            yield from source.of_model(names)
        for source in sources:
            yield from source.of_optimizers(names)
        for tensor in tensors:
            yield from tensor.entries()

    def clear(self) -> None:
        with self.lock:
            self.sources.clear()
            self.tensors.clear()
            self.seen.clear()


registry = _Registry()


def names(model: Any = None, *optimizers: Any, prefix: str = "") -> None:
    """Gives the blocks of a model their names: parameters, buffers, gradients and optimizer state.

    Call it once, after the optimizer is made. Weak references are kept. A second call with the same
    model replaces the first. An optimizer belongs to the newest call that had it.

    Args:
        model: a `torch.nn.Module`, sharded (FSDP, DTensor) or not; None names the optimizers' state alone.
        optimizers: `torch.optim.Optimizer`s of its parameters.
        prefix: put before each name, with a dot: two models of one process stay apart.

    Raises:
        WrongTypeError: the model has no parameters to name, or an optimizer has no groups.
    """
    if model is not None and not hasattr(model, "named_parameters"):
        raise WrongTypeError(f"model is {shown(model)}", advice="Give a torch.nn.Module")
    for each in optimizers:
        if each is not None and not hasattr(each, "param_groups"):
            raise WrongTypeError(f"an optimizer is {shown(each)}", advice="Give a torch.optim.Optimizer")
    source = _Source(model, optimizers, text_of(prefix, "prefix", "Give a text, such as 'teacher'"))
    with registry.lock:
        registry.sources = [each for each in registry.sources if model is None or each.model() is not model]
        for earlier in registry.sources:
            earlier.optimizers = [each for each in earlier.optimizers
                                  if not any(each() is optimizer for optimizer in optimizers)]
        registry.sources.append(source)


def name(tensor: Any, text: str, kind: str = "other") -> Any:
    """Gives the storage of a tensor a name, such as "kv_cache.0".

    The tensor is not kept alive. If it dies before a snapshot, its memory keeps the name for that time.

    Args:
        tensor: a tensor of a CUDA device. One of the host is left unnamed.
        text: the name.
        kind: "parameter", "buffer", "gradient", "optimizer_state", "activation" or "other".

    Returns:
        The tensor, so that a call can stand inside an expression.

    Raises:
        WrongTypeError: not a tensor.
        UsageError: an unknown kind.
    """
    if not hasattr(tensor, "untyped_storage"):
        raise WrongTypeError(f"tensor is {shown(tensor)}", advice="Give a torch.Tensor")
    text_of(text, "text", "Give a name, such as 'kv_cache.0'")
    if kind not in KINDS:
        raise UsageError(f"kind is {shown(kind)}", advice="Give one of " + ", ".join(KINDS))
    found = list(entries(tensor, text, kind))
    if found:
        registry.add(_NamedTensor(tensor, text, kind, found))
    return tensor


def refresh() -> None:
    """Remembers where the named tensors lie now, gradients included.

    `step()` calls it. Without it, gradients that are freed before the snapshot have no name.
    Cost: about 5 µs per tensor. The newest 20,000 entries are kept.
    """
    found = list(registry.live())
    with registry.lock:
        registry.seen.extend(found)


def forget() -> None:
    """Drops all names."""
    registry.clear()
