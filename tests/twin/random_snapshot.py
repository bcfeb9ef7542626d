"""Random snapshots with everything that the format allows, and some things that it should not.

Not a simulation of an allocator (tools/make_snapshot is that): the reader must carry over what is
written, whether it makes sense or not.
"""

import io
import json
import pickle
import random

import torch_pickler

ACTIONS = (
    "alloc free_requested free_completed segment_alloc segment_free segment_map segment_unmap"
    " snapshot annotate user_defined free".split()
)
NAMES = ["forward", "backward", "at::native::add", "größe", "步骤", "a\nb", "", "x" * 300, "N/A"]
FILES = ["train.py", "/opt/a b/c.py", "??", "lib.so", "<string>", "", "y" * 70000]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.next_word = 0

    def chance(self, probability):
        return self.random.random() < probability

    def number(self):
        bits = self.random.choice([0, 1, 8, 9, 16, 17, 31, 32, 33, 40, 49])
        return self.random.getrandbits(bits) if bits else 0

    def address(self, json_safe):
        kind = self.random.random()
        if kind < 0.05:
            return (1 << 64) - 1 - self.number()  # as XPU has them: 9-byte LONG1
        if kind < 0.1 and not json_safe:
            return -1 - self.number()
        return 0x7F0000000000 + self.number()

    def fresh(self, text):
        """An equal string that is another object: Python writes it out again."""
        return "".join(list(text)) if len(text) > 1 else text

    def frame(self):
        frame = {
            "filename": self.random.choice(FILES[:-1] if self.chance(0.95) else FILES),
            "line": self.random.choice([0, 1, 12, 70000, (1 << 64) - 1]),
            "name": self.random.choice(NAMES) + str(self.random.randrange(40)),
        }
        if self.chance(0.05):
            frame["fx_node_op"] = "call_function"
            frame["fx_node_name"] = "add_1"
            frame["fx_original_trace"] = "line one\nline two"
        if self.chance(0.02):
            frame["colour"] = "blue"
        return self.shuffled(frame)

    def shuffled(self, dictionary):
        items = list(dictionary.items())
        if self.chance(0.1):
            self.random.shuffle(items)
        return dict(items)

    def stacks(self):
        frames = [self.frame() for _ in range(self.random.randint(1, 60))]
        depths = [0, 1, 1, 2, 5, 20, 60, 1000, 1001, 2500]
        weights = [4, 3, 3, 9, 9, 9, 5, 0.2, 0.2, 0.2]
        count = self.random.randint(1, 30)
        return [
            [self.random.choice(frames) for _ in range(depth)]
            for depth in self.random.choices(depths, weights, k=count)
        ]

    def forward(self):
        """As PyTorch writes it: the outermost frame first, with its code."""
        depth = self.random.choice([1, 1, 2, 4])
        texts = ['  File "fwd/train.py", line 1, in <module>\n    main()\n']
        for level in range(depth):
            line = self.random.choice([3, 77, 912])
            code = f"    y = f{level}(x)\n" if self.chance(0.9) else ""
            texts.append(f'  File "fwd/model {level}.py", line {line}, in f{level}\n{code}')
        return ["".join(texts)] if self.chance(0.1) else texts

    def event(self, options, stacks):
        action = self.random.choice(ACTIONS)
        event = {"action": action, "addr": self.address(options["json"])}
        if self.chance(0.03):
            event["action"] = "oom"
            event["device_free"] = self.number()
            del event["addr"]
        if self.chance(0.02):
            event["action"] = self.random.choice(["workspace_snapshot", "freeze", "größer"])
        event["size"] = self.number()
        event["stream"] = self.random.choice([0, 0, 0, 94000000000000, 7, (1 << 64) - 8])
        if options["time"] and not self.chance(options["gaps"]):
            self.time += self.random.choice([0, 1, 5, 300])
            event["time_us"] = self.time if not self.chance(options["gaps"]) else self.time - 9999
        if options["context"] and not self.chance(options["gaps"]):
            event["compile_context"] = self.fresh(self.random.choice(["N/A", "N/A", "Region 0/1"]))
        if options["metadata"] and not self.chance(options["gaps"]):
            event["user_metadata"] = self.random.choice(["", "", "batch 7", "z" * 90])
            if self.chance(0.02):
                event["user_metadata"] = {"step": 3, "name": "x"}
        if options["pool"] and not self.chance(options["gaps"]):
            event["pool_id"] = self.random.choice([(0, 0), (0, 0), (0, 3), (1, 0)])
        if options["category"] and self.chance(0.5):
            event["category"] = self.random.choice(["parameter", "gradient"])
        if not self.chance(0.1):
            event["frames"] = self.random.choice(stacks)
        if options["forward"] and self.chance(0.3):
            event["forward_frames"] = self.forward() if self.chance(0.9) else []
        if options["internal"] and self.chance(0.3):
            event["internal_metadata"] = "mallocWithAddress"
        if self.chance(0.02):
            event["frobnicate"] = self.random.choice([None, 1.5, [1, 2, {"a": []}], {}, "x"])
        if self.chance(0.01):
            event["key %d" % self.random.randrange(20)] = True
        return self.shuffled(event)

    def block(self, options, stacks):
        block = {"address": None, "size": 512 * self.random.randint(1, 9999)}
        block["state"] = self.random.choice(["active_allocated", "active_pending_free", "inactive"])
        if options["history"]:
            entry = {"addr": 1, "real_size": self.number()}
            if self.chance(0.8):
                entry["frames"] = self.random.choice(stacks)
            block["history"] = [entry] * self.random.randint(0, 2)
        else:
            block["requested_size"] = self.number()
            block["frames"] = self.random.choice(stacks)
            if options["forward"] and self.chance(0.2):
                block["forward_frames"] = self.forward()
        return block

    def segment(self, device, options, stacks):
        segment = {"device": device, "address": 0x7E0000000000 + self.number() * 512}
        blocks = [self.block(options, stacks) for _ in range(self.random.choice([1, 1, 2, 9, 40]))]
        place = segment["address"]
        for block in blocks:
            block["address"] = place
            place += block["size"]
            if options["history"]:
                del block["address"]
        segment["total_size"] = sum(block["size"] for block in blocks)
        for key in ("allocated_size", "active_size", "requested_size"):
            if self.chance(0.9):
                segment[key] = self.number()
        segment["stream"] = self.random.choice([0, 7])
        segment["segment_type"] = self.random.choice(["large", "small"])
        if options["pool"]:
            segment["segment_pool_id"] = self.random.choice([(0, 0), (0, 3)])
        segment["is_expandable"] = self.chance(0.3)
        if self.chance(0.5):
            segment["frames"] = self.random.choice(stacks)
        segment["blocks"] = blocks
        if self.chance(0.05):
            segment["shade"] = "grey"
        return self.shuffled(segment)

    def annotations(self):
        marks, time_us = [], 1_700_000_000_000_000
        for _ in range(self.random.choice([0, 0, 5, 60])):
            time_us += self.random.randint(0, 50)
            marks.append(
                {
                    "name": self.random.choice(["step", "forward", "backward"]),
                    "stage": self.random.choice(["START", "START", "END"]),
                    "device": self.random.choice([0, 0, 1]),
                    "time_us": time_us,
                }
            )
        return marks

    def settings(self):
        settings = {
            "PYTORCH_CUDA_ALLOC_CONF": self.random.choice(["", "max_split_size_mb:128"]),
            "max_split_size": self.random.choice([-1, 134217728]),
            "garbage_collection_threshold": self.random.choice([0.0, 0.8]),
            "expandable_segments": self.chance(0.5),
            "roundup_power2_divisions": {str(1 << i): self.random.choice([0, 4]) for i in range(16)},
        }
        if self.chance(0.3):
            settings["nested"] = {"a": [1, 2, 3], "b": None, "c": ()}
        return settings

    def tensor(self, json_safe):
        tensor = {
            "device": self.random.choice([0, 0, 1, 7, -1]),
            "address": self.address(json_safe),
            "bytes": self.number(),
            "name": self.random.choice(NAMES[:6]) + str(self.random.randrange(40)),
            "kind": self.random.choice("parameter buffer gradient optimizer_state activation"
                                       " other".split()),
            "of": self.random.choice(["", "größe"]),
            "state": self.random.choice(["", "exp_avg"]),
            "shape": [self.number() for _ in range(self.random.choice([0, 1, 2, 4]))],
            "dtype": self.random.choice(["float32", "bfloat16"]),
            "time_us": 1_700_000_000_000_000 + self.number() % 5000,
        }
        for key in ("bytes", "of", "state", "shape", "dtype", "time_us"):
            if self.chance(0.1):
                del tensor[key]
        if self.chance(0.05):
            tensor["colour"] = "blue"
        return self.shuffled(tensor)

    def names(self, json_safe):
        count = self.random.choice([0, 1, 12, 1001])
        return {"version": 1, "tensors": [self.tensor(json_safe) for _ in range(count)]}

    def snapshot(self, json_safe):
        options = {key: self.chance(0.7) for key in "time context metadata pool".split()}
        options["category"] = self.chance(0.1)
        options["history"] = self.chance(0.1)
        options["forward"] = self.chance(0.4)
        options["internal"] = self.chance(0.2)
        options["gaps"] = self.random.choice([0, 0, 0.05])
        options["json"] = json_safe
        self.time = 1_700_000_000_000_000
        stacks = self.stacks()
        devices = self.random.choice([0, 1, 1, 1, 2, 5])
        counts = [0, 1, 2, 30, 300, 999, 1000, 1001, 2500]
        top = {
            "segments": [
                self.segment(device, options, stacks)
                for device in range(devices)
                for _ in range(self.random.choice([0, 1, 3, 12]))
            ],
            "device_traces": [
                [self.event(options, stacks) for _ in range(self.random.choice(counts))]
                for _ in range(devices)
            ],
        }
        if self.chance(0.1):
            self.random.shuffle(top["segments"])
        if self.chance(0.7):
            top["allocator_settings"] = self.settings()
        if self.chance(0.7):
            top["external_annotations"] = self.annotations()
        if self.chance(0.15):
            top["host_segments"] = [self.segment(-1, options, stacks) for _ in range(3)]
            top["host_traces"] = [self.event(options, stacks) for _ in range(20)]
        if self.chance(0.1) and devices:
            for key in ("device_traces", "allocator_settings"):
                top.pop(key, None)
        if self.chance(0.1):
            top["extra"] = [{"action": "alloc", "addr": 1}, {"filename": "a", "name": "b"}]
        if self.chance(0.05):
            return top["segments"]
        if self.chance(0.3):
            top["tidegauge"] = self.names(json_safe)
        return top


def make(seed):
    """(how it was written, the bytes)"""
    ways = ["protocol 2", "protocol 3", "protocol 4", "protocol 5", "torch", "JSON", "one by one"]
    way = ways[seed % len(ways)]
    top = Maker(seed).snapshot(json_safe=way == "JSON")
    if way == "JSON":
        return way, json.dumps(top, ensure_ascii=seed % 2 == 0).encode()
    if way == "torch":
        return way, torch_pickler.dumps(top)
    if way == "one by one":
        return way, one_by_one(top)
    return way, pickle.dumps(top, protocol=int(way[-1]))


def one_by_one(top):
    """Every item by its own SETITEM or APPEND: legal, and what no fast path expects."""
    out = io.BytesIO()
    pickler = pickle._Pickler(out, 4)
    pickler._BATCHSIZE = 1
    pickler.dump(top)
    return out.getvalue()
