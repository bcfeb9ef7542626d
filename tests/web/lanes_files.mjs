// Files for the tests of recordings side by side, written to a temporary folder: ranks that differ, a
// run before and after another, and one that cannot be read.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generate } from "./harness.mjs";
import { frame, snapshot } from "./odd_files.mjs";

export const RANKS = 5;
/** the rank that runs out of memory */
export const OOM_RANK = 3;

/** As jobs write them: a folder for every rank, the same name in each. */
function rankFiles(folder) {
  return Array.from({ length: RANKS }, (_, rank) => {
    mkdirSync(join(folder, `rank${rank}`));
    const path = join(folder, `rank${rank}`, "snapshot.pickle");
    const events = String(1500 + 100 * rank);
    const more = rank === OOM_RANK ? ["--oom"] : [];
    generate(path, "--seed", String(rank), "--events", events, "--annotations", ...more);
    return path;
  });
}

/** The same code some days apart: clocks that cannot be compared. */
function runs(folder) {
  return [0, 1].map((run) => {
    const path = join(folder, `${run === 0 ? "before" : "after"}.json`);
    const frames = Array.from({ length: 6 + run * 2 }, (_, i) => [frame("train.py", i + 1, "main")]);
    const times = (i) => 1e15 + run * 3e11 + i * (1000 + 200 * run);
    writeFileSync(path, JSON.stringify(snapshot({ frames, times })));
    return path;
  });
}

export function writeLaneFiles() {
  const folder = mkdtempSync(join(tmpdir(), "tidegauge-lanes-"));
  const bad = join(folder, "bad.pickle");
  writeFileSync(bad, "no pickle at all");
  return {
    ranks: rankFiles(folder),
    runs: runs(folder),
    bad,
    remove: () => rmSync(folder, { recursive: true }),
  };
}
