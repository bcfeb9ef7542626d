"""The command lines that are compared.

    Case("report", ("examples/oom.pickle.zst",), ["report", "--json", …])

Every snapshot is asked for its report and its fragmentation as JSON; what is slow, and text, is asked
of some only. A case with `picture` writes a file, which is compared too.
"""

import dataclasses
import itertools

from inputs import shown
from recordings import pids


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str
    files: tuple
    words: list
    is_json: bool = True
    picture: str = ""  # ending of a file that the command writes: the word PICTURE stands for it

    @property
    def name(self):
        return ", ".join(map(shown, self.files)) or "no file"

    @property
    def command(self):
        return "tidegauge " + " ".join(shown(word) if "/" in str(word) else str(word)
                                       for word in self.words)


PICTURE = "PICTURE"
PARTS = (["--from", "10", "--to", "200"], ["--capacity", "80GiB"], ["--no-replay"])


def command_cases(inputs, recordings, joined):
    """All of them; `joined` is (snapshot, recording) or None."""
    return [*_json_of_each([*inputs.snapshots, *recordings]), *_variants(inputs),
            *_pairs(inputs, recordings), *_what_ifs(inputs, recordings),
            *_texts([*inputs.some, *recordings], inputs.pairs), *_joined(joined),
            *_of_recordings(recordings), *_working_sets(inputs), *_plain()]


def _json_of_each(files):
    for file in files:
        yield Case("report", (file,), ["report", "--json", file])
        yield Case("frag", (file,), ["frag", "--json", file])


def _variants(inputs):
    for file, words in itertools.product(inputs.some, PARTS):
        yield Case("report", (file,), ["report", "--json", file, *words])
    for file in inputs.some:
        yield Case("frag", (file,), ["frag", "--json", file, "--request", "512MiB"])
    for file in inputs.examples[:3]:
        for ending in (".svg", ".png"):
            yield Case("frag --plot", (file,), ["frag", file, "--plot", PICTURE], False, ending)


def _pairs(inputs, recordings):
    for pair in [*inputs.pairs, *itertools.combinations(recordings, 2)]:
        yield Case("diff", pair, ["diff", "--json", *pair])
    for pair, at in itertools.product(inputs.pairs[:1], ("end", "oom", "step:100")):
        yield Case("diff", pair, ["diff", "--json", "--at", at, *pair])
    for pair, by in itertools.product(inputs.pairs[:1], ("category", "size", "segment")):
        yield Case("diff", pair, ["diff", "--json", "--by", by, *pair])
    ranks = tuple(inputs.some[:3])
    if len(ranks) == 3:
        yield Case("diff", ranks, ["diff", "--json", *ranks])


def _what_ifs(inputs, recordings):
    for file in [*inputs.some, *recordings]:
        yield Case("whatif", (file,), ["whatif", "--json", file])
    for file in inputs.snapshots:
        yield Case("whatif", (file,), ["whatif", "--json", "--verify", file])
    file = inputs.examples[0]
    yield Case("whatif", (file,), ["whatif", "--json", "--set", "max_split_size_mb:64", file])
    yield Case("whatif", (file,), ["whatif", "--json", "--min-capacity", file])


def _texts(files, pairs):
    for file in files:
        yield Case("report text", (file,), ["report", file], False)
        yield Case("frag text", (file,), ["frag", file], False)
        yield Case("whatif text", (file,), ["whatif", file], False)
    for pair in pairs:
        yield Case("diff text", pair, ["diff", *pair], False)


def _joined(joined):
    if joined:
        words = [joined[0], "--with", joined[1]]
        yield Case("report", joined, ["report", "--json", *words])
        yield Case("report text", joined, ["report", *words], False)


def _of_recordings(recordings):
    for file in recordings:
        for pid in map(str, pids(file)):
            yield Case("report", (file,), ["report", "--json", "--pid", pid, file])
            yield Case("report text", (file,), ["report", "--pid", pid, file], False)


def _working_sets(inputs):
    for file in inputs.working_sets:
        yield Case("wss text", (file,), ["wss", file], False)
        yield Case("wss text", (file,), ["wss", file, "--top", "2"], False)


COMMANDS = ("view", "report", "query", "frag", "whatif", "diff", "record", "top", "monitor", "wss",
            "doctor", "categories", "export")


def _plain():
    yield Case("categories", (), ["categories"], False)
    yield Case("doctor", (), ["doctor", "--json"])
    yield Case("help", (), ["--help"], False)
    for command in COMMANDS:
        yield Case("help", (), [command, "--help"], False)
