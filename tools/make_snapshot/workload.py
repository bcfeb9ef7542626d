"""A made-up training program: phases that fill memory and empty it again, over the allocators.

      live blocks
    N |      /\        /\        /
      |     /  \      /  \      /     each tooth is one iteration: forward fills, backward frees;
  .4N |  __/    \____/    \____/      the program stops at the top of the last one
"""

import random

import event_log
from allocator import ANNOTATE, SNAPSHOT, Allocator
from scenarios import Scenario

BASE_ADDRESS = 0x7000_0000_0000
HIGH_BIT = 0xFFFF << 48  # as on devices whose pointers have the top bit set
START_US = 1_700_000_000_000_000
LABELS = ("", "forward", "backward")


class Device:
    """One allocator, the blocks that the program holds on it, and its log."""

    def __init__(self, program, ordinal):
        options = program.options
        base = BASE_ADDRESS + (ordinal << 41) + (HIGH_BIT if options.high_addresses else 0)
        self.program = program
        self.log = event_log.EventLog()
        self.allocator = Allocator(base, options.capacity, options.expandable, self.record)
        self.held = []

    def record(self, action, stream, pool, address, size, block_bytes, stack):
        program = self.program
        if program.recording:
            self.log.add(action, stream, pool, program.label, event_log.NO_STACK if stack is None
                         else stack, block_bytes >> 9, address, size, program.now_us)
            program.recorded += 1


class Program:
    def __init__(self, options):
        self.options = options
        self.rng = random.Random(options.seed)
        self.recording = options.shape != "midrun"
        self.recorded = 0
        self.now_us = START_US
        self.label = 0
        self.annotations = []  # (stage, name, time_us)
        self.next_stack = 0
        self.devices = [Device(self, ordinal) for ordinal in range(options.devices)]
        self.live_target = max(1, options.live // options.devices)
        self.sizes = self.make_sizes()
        self.scenario = (None if options.workload == "teeth"
                         else Scenario(self, self.devices[0]))

    def make_sizes(self):
        """61 request sizes over a wide range whose mean lets the live blocks fill half the device."""
        mean = min(24 << 20, self.options.capacity // 2 // self.live_target)
        raw = [2.0 ** self.rng.uniform(0, 14) for _ in range(61)]
        scale = mean * len(raw) / sum(raw)
        return [max(1, int(size * scale)) for size in raw]

    # ---- running -------------------------------------------------------------------------------

    def run(self):
        options = self.options
        if self.scenario:
            self.scenario.run()
            return self
        for device in self.devices:  # blocks that each fill a segment of their own, held to the end
            for _ in range(options.segments // options.devices):
                device.allocator.alloc(12 << 20, 0, 0, self.pick_stack())
        if options.shape == "midrun":
            self.run_until(options.events // 2, options.events // 2)
            self.recording = True
            self.recorded = 0
        factor = 1.5 if options.shape == "overflow" else 1.0
        self.run_until(int(options.events * factor), options.events)
        for device in self.devices:
            if options.shape == "overflow":
                device.log.keep_last(options.events // options.devices)
        return self

    def run_until(self, events, tooth_events):
        """Runs until that many events happened. Counts them even while nothing is recorded."""
        done = ops = 0
        tooth = max(200, 6 * self.live_target * len(self.devices), tooth_events // 60)
        teeth = max(1, round(events / tooth))
        ooms = [int(events * (i + 1) / (self.options.oom + 1)) for i in range(self.options.oom)]
        dumps = [int(events * (i + 1) / (self.options.dumps + 1))
                 for i in range(self.options.dumps)]
        entered = None
        start = self.recorded
        while done < events:
            if len(self.devices) == 1:
                device = self.devices[0]
            else:
                device = self.devices[int(self.rng.random() * len(self.devices))]
            place = done / events * (teeth - 0.5)
            phase = place % 1.0
            if (int(place), phase < 0.5) != entered:
                self.enter_phase(entered, int(place), phase < 0.5)
                entered = (int(place), phase < 0.5)
            fill = 0.4 + 1.2 * (phase if phase < 0.5 else 1 - phase)
            last_rise = events - done <= self.live_target * len(self.devices)
            self.step(device, self.live_target * (1 if last_rise else fill))
            ops += 1
            if ooms and done >= ooms[0]:
                ooms.pop(0)
                self.fail(device)
            if dumps and done >= dumps[0]:
                dumps.pop(0)
                for each in self.devices:
                    each.record(SNAPSHOT, 0, 0, 0, each.allocator.active, 0, None)
            done = self.recorded - start if self.recording else ops * 3 // 2

    def enter_phase(self, old, iteration, forward):
        if not self.options.annotations:
            return
        mark = self.mark
        if old is not None:
            mark("END", "## forward ##" if old[1] else "## backward ##")
            if old[0] != iteration:
                mark("END", f"ProfilerStep#{old[0]}")
        if old is None or old[0] != iteration:
            mark("START", f"ProfilerStep#{iteration}")
        mark("START", "## forward ##" if forward else "## backward ##")
        self.label = 1 if forward else 2

    def mark(self, stage, name):
        self.now_us += 3
        if self.recording:
            self.annotations.append((stage, name, self.now_us))

    def step(self, device, wanted):
        random_float = self.rng.random
        self.now_us += 1 + int(random_float() * 20)
        allocator, held = device.allocator, device.held
        slack = 2 + self.live_target // 50
        live = len(held)
        if live < wanted - slack or (live <= wanted + slack and random_float() < 0.5):
            self.allocate(device)
            return
        if not held:
            return
        # Mostly the youngest, as activations go; now and then anything.
        at = live - 1 if random_float() < 0.7 else int(random_float() * live)
        block, held[at] = held[at], held[-1]
        held.pop()
        late = self.options.streams > 1 and random_float() < 0.05
        allocator.free(block, self.free_stack(block.stack), late)
        if random_float() < 0.2 / max(1, self.live_target):
            allocator.empty_cache()

    def allocate(self, device):
        random_float = self.rng.random
        options, allocator = self.options, device.allocator
        if allocator.pending and random_float() < 0.3:
            allocator.complete_pending(1)
        stack = self.pick_stack()
        size = self.sizes[(stack or int(random_float() * 61)) % 61]
        stream = int(random_float() ** 3 * options.streams) if options.streams > 1 else 0
        pool = int(random_float() ** 3 * options.pools) if options.pools > 1 else 0
        block = allocator.alloc(size, stream, pool, stack)
        if block is None:
            for _ in range(len(device.held) // 4):  # the program frees some and continues
                allocator.free(device.held.pop(), self.free_stack(stack))
            return
        device.held.append(block)
        if options.annotations and options.torch >= (2, 14) and random_float() < 0.01:
            device.record(ANNOTATE, stream, pool, block.address, size, 0, stack)

    def fail(self, device):
        """Asks for more than there can be."""
        allocator = device.allocator
        allocator.alloc(allocator.capacity - allocator.active // 2, 0, 0, self.pick_stack())

    def pick_stack(self):
        count = self.options.stacks
        if not self.recording or count == 0:
            return None
        if self.next_stack < count and self.rng.random() < 0.5:
            self.next_stack += 1
            return self.next_stack - 1
        return int(self.rng.random() ** 2 * max(1, self.next_stack))

    def free_stack(self, alloc_stack):
        if not self.recording or self.options.stacks == 0:
            return None
        return ((alloc_stack or 0) * 31 + 7) % max(1, self.next_stack)

    # ---- results -------------------------------------------------------------------------------

    def truth(self):
        skipped = self.options.skip_actions
        devices = []
        for device in self.devices:
            live = [block for _, blocks in device.allocator.ranges() for block in blocks
                    if block.state]
            devices.append(event_log.truth(device.log, skipped, device.allocator, live))
        truth = {"devices": devices, "annotation_marks": len(self.annotations)}
        if self.scenario:
            truth["program"] = self.scenario.truth()
        return truth
