// Small snapshots in JSON that hold one odd thing each, written to a temporary folder.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MIB = 1 << 20;
const BASE = 0x7f0000000000;
export const TURNED = "model\u202eyp.tnrap";

/** A segment, then blocks of 1 MiB; each of `frames` is the stack of one. */
export function snapshot({ frames = [[frame("train.py", 3, "main")]], times = (i) => 1e15 + i, more = {} } = {}) {
  const events = [
    { action: "segment_alloc", addr: BASE, size: 64 * MIB, stream: 0, time_us: times(0), frames: [] },
    ...frames.map((stack, i) => ({
      action: "alloc", addr: BASE + i * MIB, size: MIB, stream: 0, time_us: times(i + 1), frames: stack,
    })),
  ];
  const blocks = frames.map((stack) => ({ size: MIB, requested_size: MIB, state: "active_allocated", frames: stack }));
  blocks.push({ size: (64 - frames.length) * MIB, requested_size: 0, state: "inactive", frames: [] });
  const segment = {
    device: 0, address: BASE, total_size: 64 * MIB, allocated_size: frames.length * MIB,
    active_size: frames.length * MIB, stream: 0, segment_type: "large", segment_pool_id: [0, 0],
    is_expandable: false, blocks, frames: [],
  };
  return { segments: [segment], device_traces: [events], ...more };
}

export function frame(filename, line, name) {
  return { filename, line, name };
}

/** Two failed requests: the first short by 1 MiB, the second by 40 MiB. */
function twoOoms() {
  const file = snapshot();
  const oom = (size, free, i) => ({ action: "oom", addr: 0, device_free: free, size, stream: 0, time_us: 1e15 + i, frames: [] });
  file.device_traces[0].push(oom(100 * MIB, 99 * MIB, 5), oom(50 * MIB, 10 * MIB, 6));
  return file;
}

function unclosed(count) {
  const begin = (i) => ({ name: `phase ${i}`, stage: "START", device: 0, time_us: 1e15 });
  return snapshot({ more: { external_annotations: Array.from({ length: count }, (_, i) => begin(i)) } });
}

const FILES = {
  nothing: { segments: [], device_traces: [] },
  twoOoms: twoOoms(),
  turned: snapshot({ frames: [[frame(`/a/${TURNED}.py`, 3, "\u001b[31mrun\u202e\u2066")]] }),
  unclosed: unclosed(5000),
  sameTime: snapshot({ times: () => 1e15 }),
  alike: snapshot({
    frames: [10, 11, 12].map((line) => [
      frame("/usr/lib/python3.11/site-packages/torch/nn/functional.py", line, "relu"),
      frame("model.py", 8, "forward"),
    ]),
  }),
  umlauts: snapshot({ frames: [[frame("modell_für_größe.py", 7, "vorwärts_rechnen")]] }),
};

/** Paths by name, and the way to take them away. */
export function writeOddFiles() {
  const folder = mkdtempSync(join(tmpdir(), "tidegauge-odd-"));
  const paths = Object.entries(FILES).map(([name, content]) => {
    const path = join(folder, `${name}.json`);
    writeFileSync(path, JSON.stringify(content));
    return path;
  });
  const index = Object.fromEntries(Object.keys(FILES).map((name, i) => [name, i]));
  return { paths, index, remove: () => rmSync(folder, { recursive: true }) };
}
