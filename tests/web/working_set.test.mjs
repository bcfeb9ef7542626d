// A file of `wss -o` as its own page and beside a snapshot: see harness.mjs for what it needs.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert, axeComplaints, describe, example, it, opened, use, whyNot } from "./harness.mjs";

const skip = whyNot();
const MIB = 1 << 20;
const LOW = 0x7f0000000000;

const bytes = (rss, referenced) => ({
  rss,
  pss: null,
  referenced,
  shared: null,
  dirty: 0,
  huge: 0,
  hugetlb: 0,
  swap: 0,
  locked: null,
});

function headOf(course) {
  return {
    tidegauge_wss: 1,
    pid: 4711,
    process: "my\u202esqld",
    backend: "pte",
    how: "accessed bits",
    why: "",
    cgroup: "",
    limits: ["one thing is not seen"],
    course,
    window_s: 0.1,
    is_sampled: false,
    knows_sharing: false,
    machine: {
      l2_bytes: MIB,
      l3_bytes: 16 * MIB,
      l3_processors: 8,
      tlb_entries: 0,
      huge_tlb_entries: 0,
      limit_bytes: 24 * MIB,
      limit_of: "/db",
      memory_bytes: 64 * 1024 * MIB,
    },
  };
}

function rowOf(time, rss, referenced, seconds = 0.1) {
  return {
    time,
    window_s: { asked: 0.1, least: seconds, mean: seconds, most: seconds },
    slept_s: 0.1,
    taken_s: 0.1,
    estimate_s: 0.1,
    bytes: bytes(rss, referenced),
    cost: { cpu_s: 0.001, stall_s: 0.001, clear_s: 0.001, read_s: 0.001 },
    error: { method: "exact", referenced_ci95: 0, unread_bytes: 0 },
  };
}

function written(folder, name, lines) {
  const path = join(folder, name);
  writeFileSync(path, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  return path;
}

/** As docs/formats/working-set.md says; of 30 windows each touches another fifth of 20 MiB. */
function measurement(folder, name, rows = 30) {
  const window_s = { asked: 0.1, least: 0.1, mean: 0.1, most: 0.1 };
  const lines = [headOf("rolling")];
  for (let row = 0; row < rows; row += 1) {
    const cells = [];
    for (let at = 0; at < 320; at += 1)
      cells.push([LOW + at * 65536, 16, Math.floor(at / 64) === row % 5 ? 16 : 0]);
    lines.push({
      ...rowOf(1000 + row * 0.1, 20 * MIB, 4 * MIB),
      groups: [
        { name: "[heap]", kind: "heap", window_s, bytes: bytes(12 * MIB, 4 * MIB), start: LOW, end: LOW + 12 * MIB },
        { name: "/lib/<b>x.so", kind: "file", window_s, bytes: bytes(8 * MIB, 0), start: LOW + 12 * MIB, end: LOW + 20 * MIB },
      ],
      rolling: {
        within: [1, 2, 4, 8, 16].map((windows) => ({ windows, bytes: Math.min(5, windows) * 4 * MIB })),
        again: [],
        first_bytes: 0,
        never_bytes: 0,
        cells,
      },
    });
  }
  return written(folder, name, lines);
}

/** A profile that gives 30 MiB back, in a cgroup that is short of memory, with memory that is pinned; as an
 * older version wrote it, without huge pages. */
function shrinking(folder, name) {
  const withoutHuge = (sums) => ({ ...sums, huge: undefined });
  const lines = [{ ...headOf("profile"), limits: [], pressure_cgroup: "/db", tells_writes: false }];
  [4, 40, 10, 10].forEach((mib, at) => {
    const rss = (at < 2 ? 64 : 34) * MIB;
    const row = rowOf(1000 + 2 ** at, rss, mib * MIB, 0.1 * 2 ** at);
    row.bytes = withoutHuge(row.bytes);
    row.error.unmapped_marks_bytes = MIB;
    row.pressure = {
      window_s: 0.1,
      stalled_percent: { some: 3, full: 0 },
      bytes: { scanned: 5 * MIB, taken: 0, refaulted_file: MIB, refaulted_anonymous: 0 },
      shortage: "short",
    };
    row.groups = [
      { name: "pinned host memory", kind: "pinned", window_s: row.window_s, bytes: withoutHuge(bytes(rss, mib * MIB)), start: LOW, end: LOW + rss },
    ];
    lines.push(row);
  });
  return written(folder, name, lines);
}

/** Windows of what was written. */
function writes(folder, name) {
  const lines = [{ ...headOf("cumulative"), tells_writes: true, backend: "write" }];
  [4, 8].forEach((mib, at) => {
    const row = rowOf(1000 + at, 64 * MIB, 0, 1 + at);
    row.bytes = { ...row.bytes, referenced: undefined, written: mib * MIB };
    lines.push(row);
  });
  return written(folder, name, lines);
}

const folder = mkdtempSync(join(tmpdir(), "working-set-"));

/** Whether anything but the ground was painted. */
const isPainted = (page, selector) =>
  page.locator(selector).evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.some((value) => value !== 0);
  });

describe("working set alone", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [measurement(folder, "one.jsonl")]);
  const { at } = here;

  for (const theme of ["light", "dark"]) {
    it(`shows the profile, the heat and the mappings, ${theme}`, () =>
      use(here.browser, at(""), async (page) => {
        await page.evaluate((wanted) => document.documentElement.setAttribute("data-theme", wanted), theme);
        await page.waitForSelector(".wsmaps tbody tr");
        await page.waitForURL(/#working_set/); // written a moment after the page is there
        assert.equal(await page.locator(".wsmaps tbody tr").count(), 2);
        const heap = await page.locator(".wsmaps tbody tr").first().innerText();
        assert.match(heap, /\[heap\]/);
        assert.match(heap, /33\.3\s*%/);
        const library = await page.locator(".wsmaps tbody tr").nth(1).innerText();
        assert.match(library, /<b>x\.so/);
        assert.ok(await isPainted(page, ".wscurve canvas"));
        assert.ok(await isPainted(page, ".wsheat canvas"));
        assert.match(
          await page.locator(".wscurve canvas").getAttribute("aria-label"),
          /20\.0 MiB touched in 1\.6 s\. The process touches nearly all of its memory \(20\.0 MiB of 20\.0 MiB\), within 0\.8 s/,
        );
        assert.match(await page.locator(".sentences").innerText(), /The process touches nearly all of its memory/);
        assert.match(await page.locator(".sentences").innerText(), /wss suggests no memory limit/);
        assert.match(await page.locator(".livenote").innerText(), /one thing is not seen/);
        // a character that turns the text around is shown, not obeyed
        assert.doesNotMatch(await page.locator(".viewhead .sub").innerText(), /\u202e/);
        assert.equal(await page.locator(".rail a").count(), 1);
        assert.deepEqual(await axeComplaints(page), []);
      }));
  }

  it("fits a narrow page", () =>
    use(
      here.browser,
      at(""),
      async (page) => {
        await page.waitForSelector(".wsmaps tbody tr");
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${wide} px too wide`);
        assert.ok(await page.locator(".wscurve").evaluate((plot) => plot.clientWidth > 300));
      },
      { viewport: { width: 800, height: 700 } },
    ));
});

describe("working set beside others", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [
    example("annotated.pickle.zst"),
    measurement(folder, "two.jsonl"),
    measurement(folder, "empty.jsonl", 0),
  ]);
  const { at } = here;

  it("is one more view, reached by key, and turns through its files", () =>
    use(here.browser, at("#overview"), async (page) => {
      await page.waitForSelector(".headline");
      await page.keyboard.press("H");
      await page.waitForSelector(".wsmaps tbody tr");
      await page.keyboard.press("m");
      await page.getByText("Nothing was measured").waitFor();
      assert.deepEqual(await axeComplaints(page), []);
      await page.keyboard.press("M");
      await page.waitForSelector(".wsmaps tbody tr");
    }));
});

describe("working sets of other courses", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [shrinking(folder, "shrinking.jsonl"), writes(folder, "writes.jsonl")]);

  it("says as the terminal does that memory was freed, was short, and what is unknown", () =>
    use(here.browser, here.at(""), async (page) => {
      await page.waitForSelector(".wsmaps tbody tr");
      const label = await page.locator(".wscurve canvas").getAttribute("aria-label");
      assert.match(label, /The kernel reclaimed memory during the measurement, so the windows are not comparable/);
      assert.doesNotMatch(label, /still grows/);
      const notes = (await page.locator(".livenote").allInnerTexts()).join("\n");
      assert.equal(await page.locator(".livenote").count(), 1);
      assert.match(notes, /memory was short in 4 of 4 windows\. Their touched memory is a lower bound/);
      assert.match(notes, /This file does not contain: huge\./);
      assert.match(notes, /1\.0 MiB of the memory that the file lists as pinned are no longer mapped/);
      const row = await page.locator(".wsmaps tbody tr").first().innerText();
      assert.match(row, /pinned host memory\s+pinned/);
      assert.match(row, /unknown$/);
      assert.equal(await page.getByText("short", { exact: true }).count(), 4);
      assert.deepEqual(await axeComplaints(page), []);
    }));

  it("cuts nothing of the windows on a narrow page", () =>
    use(
      here.browser,
      here.at(""),
      async (page) => {
        await page.waitForSelector(".wsmaps tbody tr");
        for (const table of await page.locator(".view.on table").all()) {
          const right = await table.evaluate((it) => it.getBoundingClientRect().right - innerWidth);
          assert.ok(right <= 0, `${right} px too wide`);
        }
      },
      { viewport: { width: 700, height: 860 } },
    ));

  it("says of writes that they were written, and of no working set that it fits", () =>
    use(here.browser, here.at(""), async (page) => {
      await page.waitForSelector(".wsmaps tbody tr");
      await page.keyboard.press("m");
      await page.getByText(/ · writes · /).waitFor();
      assert.match(await page.locator(".sentences").innerText(), /8\.0 MiB were written in 2 s \(4\.0 MiB\/s\)/);
      assert.match(await page.locator(".wscurve canvas").getAttribute("aria-label"), /^8\.0 MiB written in 2 s\.$/);
      assert.equal(await page.getByText("Touched", { exact: true }).count(), 0);
      assert.deepEqual(await axeComplaints(page), []);
    }));
});

describe("no working set", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [example("annotated.pickle.zst")]);

  it("says how to measure one to who has a link to it", () =>
    use(here.browser, here.at("#working_set"), async (page) => {
      await page.getByText("No working set was measured").waitFor();
      assert.match(await page.locator("pre.code").innerText(), /wss --rolling/);
      assert.equal(await page.locator('.rail a[title="Working set"]').count(), 0);
    }));
});
