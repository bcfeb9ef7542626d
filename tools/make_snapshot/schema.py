"""What a snapshot of each torch release holds: dicts with the keys of that release, in its order.

A Shared value is one object however often it is referenced (frames, stacks); a Fresh string is a
new object each time it is written. Picklers need to know both; JSON needs neither.
"""

from allocator import ACTIONS, ALLOC, ANNOTATE, OOM, STATES
from event_log import NO_STACK
from tensor_names import names
from workload import LABELS

RELEASES = ((2, 0), (2, 1), (2, 2), (2, 3), (2, 5), (2, 9), (2, 10), (2, 12), (2, 13), (2, 14))


class Fresh(str):
    """A string that Python would not share with an equal one."""

    __slots__ = ()


class Shared:
    """A value with an identity: key distinguishes two, make() gives the plain value."""

    __slots__ = ("key", "make")

    def __init__(self, key, make):
        self.key, self.make = key, make


EMPTY_FRAMES = Shared(("empty",), list)
NOT_COMPILED = Fresh("N/A")
COMPILED = Fresh("Torch-Compiled Region: 3/0")


class Schema:
    def __init__(self, program, stacks):
        self.program = program
        self.options = program.options
        self.torch = program.options.torch
        self.stacks = stacks
        # They need the events, which are gone once they are written.
        self.names = names(program, self.options.skip_actions) if self.options.names else None
        # Raw values of the streams: the default stream is 0, others are pointers.
        self.streams = [0] + [0x5581_0000_0000 + 0x1_A2B0 * i for i in range(1, 256)]

    def pool_id(self, pool):
        return (pool, 0) if pool % 2 else (0, pool)

    # ---- frames --------------------------------------------------------------------------------

    def frame(self, number):
        def make():
            name, filename, line = self.stacks.frame(number)
            return {"name": Fresh(name), "filename": Fresh(filename), "line": line}

        return Shared(("frame", number), make)

    def frames(self, stack):
        if stack is None or stack == NO_STACK:
            return EMPTY_FRAMES
        return Shared(stack, lambda: [self.frame(number) for number in self.stacks.frames(stack)])

    # ---- events --------------------------------------------------------------------------------

    def event(self, kind, address, size, time_us, frames):
        """kind = (action, stream, pool, label, compiled); frames None if there is no such key."""
        action, stream, pool, label, compiled = kind
        entry = {"action": ACTIONS[action],
                 "device_free" if action == OOM else "addr": address,
                 "size": size, "stream": self.streams[stream]}
        if self.torch >= (2, 2):
            entry["time_us"] = time_us
        if self.torch >= (2, 9):
            entry["compile_context"] = COMPILED if compiled else NOT_COMPILED
        if self.torch >= (2, 10):
            text = "made by the generator" if action == ANNOTATE else LABELS[label]
            # Python has only one empty string.
            entry["user_metadata"] = Fresh(text) if text else ""
        if self.torch >= (2, 12):
            entry["pool_id"] = self.pool_id(pool)
        if frames is not None:
            entry["frames"] = frames
        return entry

    def kind(self, record):
        action, stream, pool, label, stack = record[:5]
        return action, stream, pool, label, action == ALLOC and stack % 20 == 0

    # ---- segments ------------------------------------------------------------------------------

    def block(self, block):
        active = block.state != 0
        state = STATES[block.state]
        frames = self.frames(block.stack)
        if self.torch < (2, 1):
            entry = {"size": block.size, "requested_size": block.requested, "state": state}
            if active:
                entry["history"] = [{"addr": block.address, "real_size": block.requested,
                                     "frames": frames}]
            return entry
        entry = {"address": block.address} if self.torch >= (2, 3) else {}
        entry |= {"size": block.size, "requested_size": block.requested, "state": state,
                  "frames": frames}
        return entry

    def segment(self, ordinal, segment, blocks):
        def total(amount, states):
            return sum(getattr(block, amount) for block in blocks if block.state in states)

        pool = segment.pool
        entry = {
            "device": ordinal,
            "address": blocks[0].address,
            "total_size": sum(block.size for block in blocks),
            "allocated_size": total("size", (1,)),
            "active_size": total("size", (1, 2)),
            "requested_size": total("requested", (1, 2)),
            "stream": self.streams[pool.stream],
            "segment_type": "small" if pool.small else "large",
        }
        if self.torch >= (2, 1):
            entry["segment_pool_id"] = self.pool_id(pool.id)
            entry["is_expandable"] = segment.expandable
        frames = self.frames(segment.stack)
        if (2, 1) <= self.torch < (2, 14):
            entry["frames"] = frames
        entry["blocks"] = [self.block(block) for block in blocks]
        if self.torch >= (2, 14):
            entry["frames"] = frames
        return entry

    def segments(self):
        for ordinal, device in enumerate(self.program.devices):
            for segment, blocks in device.allocator.ranges():
                yield self.segment(ordinal, segment, blocks)

    # ---- the rest ------------------------------------------------------------------------------

    def settings(self):
        expandable = self.options.expandable
        entry = {
            "PYTORCH_CUDA_ALLOC_CONF": Fresh("expandable_segments:True") if expandable else "",
            "max_split_size": -1,
            "garbage_collection_threshold": 0.0,
            "expandable_segments": expandable,
            "pinned_num_register_threads": 1,
            "release_lock_on_cudamalloc": False,
            "pinned_use_cuda_host_register": False,
        }
        if self.torch >= (2, 9):
            entry["graph_capture_record_stream_reuse"] = False
        entry["roundup_power2_divisions"] = {str(1 << i): 0 for i in range(16)}
        return entry

    def annotations(self):
        for stage, name, time_us in self.program.annotations:
            yield {"stage": Fresh(stage), "name": Fresh(name), "device": 0, "time_us": time_us}

    def extra_keys(self):
        """Top-level keys after segments and device_traces: (key, list of items or a value)."""
        keys = []
        if self.torch >= (2, 3):
            keys.append(("allocator_settings", self.settings()))
        if self.torch >= (2, 5):
            keys.append(("external_annotations", list(self.annotations())))
        if self.torch >= (2, 13):
            keys += [("host_segments", []), ("host_traces", [])]
        if self.names:
            keys.append(("tidegauge", self.names))
        return keys
