"""Allocations from Python frames of every kind, at random: frames.py TRUTH_FILE COUNT [SEED [late]]

Beside each cudaMalloc it notes traceback.extract_stack() of its own thread, with qualified names where
Python has them (3.11): what the recording must show. The size of a block says which note it belongs to: 256 × its number. At the end each note is a
line of JSON: [size, [[function, file, line], …]], innermost first."""
import asyncio
import ctypes
import functools
import json
import random
import sys
import threading
import time
import traceback

TRUTH, COUNT = sys.argv[1], int(sys.argv[2])
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
chance = random.Random(SEED)
runtime = ctypes.CDLL("libcudart.so.13")
notes, lock = [], threading.RLock()


def allocate():
    held = ctypes.c_void_p()
    with lock:
        number = len(notes) + 1
        notes.append(None)
    size = ctypes.c_size_t(256 * number)
    seen, code = traceback.extract_stack(), runtime.cudaMalloc(ctypes.byref(held), size)
    if code != 0:
        sys.exit("cudaMalloc failed")
    frames, frame = [], sys._getframe()
    for note in reversed(seen):
        assert frame.f_code.co_name == note.name, (frame, note)
        name = getattr(frame.f_code, "co_qualname", note.name)
        frames.append([name, note.filename, note.lineno])
        frame = frame.f_back
    notes[number - 1] = [256 * number, frames]
    runtime.cudaFree(held)


def straight():
    allocate()
    if chance.random() < 0.5:
        allocate()

    allocate()


def inner_of(depth):
    if depth == 0:
        return allocate()
    return inner_of(depth - 1)


def inlined():
    inner_of(chance.randrange(30))


def generator():
    for _ in range(2):
        allocate()
        yield
        allocate(
        )


def generators():
    def delegating():
        yield from generator()
    for _ in delegating():
        pass


def comprehensions():
    [allocate() for _ in range(2)]
    {allocate(): 1 for _ in range(1)}
    list(map(lambda _: allocate(), range(2)))


def through_c():
    # sorted() and reduce() are in C: they run an evaluation loop of their own for each call.
    sorted([2, 1], key=lambda _: allocate() or 0)
    functools.reduce(lambda a, _: allocate() and a, [1, 2, 3])
    max([1, 2], key=functools.partial(lambda _a, _b: allocate() or 0, 1))


class Number:
    def __init__(self, value):
        self.value = value
        allocate()

    def __add__(self, other):
        allocate()
        return self

    @property
    def half(self):
        allocate()
        return self

    def __del__(self):
        allocate()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        allocate()
        return True

    def __getitem__(self, at):
        allocate()
        return at


def methods():
    with Number(1) as one:
        one + one
        one.half
        one[
            3]
        raise ValueError("left by __exit__")


def decorated(function):
    @functools.wraps(function)
    def wrapper(*words, **more):
        try:
            return function(*words, **more)
        finally:
            allocate()
    return wrapper


@decorated
def closures():
    deep = 3

    def within():
        nonlocal deep
        deep -= 1
        return within() if deep else allocate()
    return within()


def coroutines():
    async def leaf():
        allocate()
        await asyncio.sleep(0)
        allocate()

    async def trunk():
        await asyncio.gather(leaf(), leaf())
        async for _ in numbers():
            allocate()

    async def numbers():
        allocate()
        yield 1
        allocate()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(trunk())
    loop.close()


def freed_code():
    """The code of each function is freed before the next is made, often at the same address."""
    for i in range(6):
        lines = "\n" * chance.randrange(5)
        name = "abcdef"[i]
        source = f"{lines}def made_{name}():\n{lines}    allocate()\nmade_{name}()\n"
        space = {"allocate": allocate}
        exec(compile(source, f"<made {chance.randrange(3)}>", "exec"), space)
        space.clear()


def names():
    space = {"allocate": allocate}
    exec(compile("def größe():\n    allocate()\ngröße()\n", "größe.py", "exec"), space)
    exec(compile("def 長さ():\n    allocate()\n長さ()\n", "長さ.py", "exec"), space)


def long_function():
    source = "def long():\n" + "".join(f"    x = [{i}, {i}, {i}]\n" for i in range(3000)) + "    allocate()\nlong()\n"
    exec(compile(source, "<long>", "exec"), {"allocate": allocate})


def in_threads():
    def work(kinds):
        for kind in kinds:
            kind()
    kinds = [kind for kind in KINDS if kind is not in_threads]
    threads = [threading.Thread(target=work, args=(chance.choices(kinds, k=2),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


KINDS = [straight, inlined, generators, comprehensions, through_c, methods, closures, coroutines, freed_code, names,
         long_function, in_threads]
if sys.argv[4:] == ["late"]:
    entry = ctypes.cast(runtime.cudaMalloc, ctypes.c_void_p).value
    while ctypes.string_at(entry, 1) != b"\xcc":
        time.sleep(0.02)  # until there is a probe
    time.sleep(0.5)  # and the others, too
while len(notes) < COUNT:
    chance.choice(KINDS)()
    allocate()
with open(TRUTH, "w", encoding="utf-8") as file:
    for note in notes:
        file.write(json.dumps(note) + "\n")
