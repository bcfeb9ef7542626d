"""Names of tensors, as Tidegauge's Python package adds them to a snapshot (--names).

Of the blocks that are in use at the end, four of five have a name: those of a made-up model, its
gradients and its optimizer. The first recorded block has one from the time of its alloc. Two names
share a block (tied weights), and one is where no block is.
"""

from allocator import ALLOC

KINDS = (("parameter", "weight", "", ""), ("gradient", "weight.grad", "weight", ""),
         ("optimizer_state", "weight.exp_avg", "weight", "exp_avg"), ("buffer", "cache", "", ""))


def names(program, skipped):
    """The value of the snapshot's key "tidegauge"."""
    tensors = []
    last_us = 0

    def add(device, address, size, name, kind, of="", state="", time_us=None):
        tensors.append({
            "device": device, "address": address, "bytes": size, "name": name, "kind": kind,
            "of": of, "state": state, "shape": [size // 2], "dtype": "bfloat16",
            "time_us": last_us if time_us is None else time_us})

    for ordinal, device in enumerate(program.devices):
        events = list(device.log.written(skipped))
        last_us = events[-1][8] if events else 0
        for record in events:
            if record[0] == ALLOC:
                add(ordinal, record[6], record[7], "first.output", "activation", time_us=record[8])
                break
        used = [block for _, blocks in device.allocator.ranges() for block in blocks
                if block.state == 1]
        for number, block in enumerate(used):
            layer, part = divmod(number, 5)
            if part < len(KINDS):
                kind, name, of, state = KINDS[part]
                layer_name = f"layers.{layer}"
                add(ordinal, block.address, block.requested, f"{layer_name}.{name}", kind,
                    of and f"{layer_name}.{of}", state)
        if used:
            add(ordinal, used[0].address, used[0].requested, "head.weight", "parameter")
        add(ordinal, 64, 512, "gone", "other")
    return {"version": 1, "tensors": tensors}
