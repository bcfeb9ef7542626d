// The Live view: of a finished recording whose truth is known, of one that a real recorder is writing
// while the page looks, and of a monitor. See harness.mjs for what it needs; the last two need what
// `tidegauge record` needs (root, BPF), and are skipped with its own words elsewhere.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  after, ask, assert, assertHeadFits, axeComplaints, before, describe, example, expectRefusals,
  it, makeLive, opened, openPage, run, startBrowser, startPage, startServer, use, WAIT_MS,
  waitForParam, whyNot,
} from "./harness.mjs";

const skip = whyNot();
const MIB = 2 ** 20;
const NARROW = { viewport: { width: 1024, height: 700 } };
const folder = mkdtempSync(join(tmpdir(), "live-"));
after(() => rmSync(folder, { recursive: true }));
const rows = (page) => page.locator(".liveprocs tbody tr");
const ready = (page) => page.waitForSelector(".liveprocs tbody tr");
const isLive = (request) => request.url().includes("api/live");

describe("live: a finished recording", { skip, timeout: 600_000 }, () => {
  let truth;
  const here = opened(() => {
    truth = makeLive(join(folder, "run.sqlite"));
    makeLive(join(folder, "lost.sqlite"), "1204");
    return [join(folder, "run.sqlite"), join(folder, "lost.sqlite"), example("annotated.pickle.zst")];
  });
  const { at } = here;
  const LOST = 4;
  const SNAPSHOT = 8;

  it("has the figures of the recording, process by process", () =>
    use(here.browser, at("#live"), async (page) => {
      await ready(page);
      const live = await ask(page, "live");
      assert.equal(live.state, "finished");
      assert.equal(live.incomplete, false);
      for (const wanted of truth.processes) {
        const found = live.processes.find(({ pid }) => pid === wanted.pid);
        assert.equal(found.live_bytes, wanted.live, `live of ${wanted.pid}`);
        assert.equal(found.peak_bytes, wanted.peak);
        assert.equal(found.launches, wanted.launches);
        assert.equal(found.copied_to_device_bytes, wanted.to_device);
        assert.equal(found.failures, wanted.refused);
      }
      assert.equal(await rows(page).count(), truth.processes.length);
      const ended = rows(page).last();
      assert.match(await ended.innerText(), /preprocess[\s\S]*ended, 6 m 0 s/);
      assert.match(await ended.locator("td[title*='not freed']").getAttribute("title"), /12\.0 MiB/);
      assert.match(await page.locator(".viewhead .sub").innerText(), /4 processes on 2 devices · finished.* 0 events lost/);
      assert.match(await page.locator("[aria-label='Who holds device memory now']").innerText(), /linear\.py:134 Linear\.forward/);
      assert.match(await page.locator("[aria-label='Who holds device memory now']").innerText(), /Not freed when the process ended\s+12\.0 MiB[\s\S]*preprocess 60877/);
      assert.match(await page.locator("[aria-label=Launches]").innerText(), /flash_fwd_kernel/);
      assert.match(await page.locator("[aria-label=Copies]").innerText(), /host to device/);
      assert.match(await page.locator("[aria-label='Refused calls']").innerText(), /cuMemAlloc_v2\s+2 out of memory\s+3\s+3\.91 GiB/);
      assert.match(await page.locator("[aria-label='Lost events']").innerText(), /every figure is complete/);
      assert.equal(await page.getByText("incomplete", { exact: true }).count(), 0);
    }));

  it("a row chooses its process, the URL keeps it, Escape shows all again", () =>
    use(here.browser, at("#live"), async (page) => {
      await ready(page);
      const before = await page.locator("[aria-label=Launches] .note").innerText();
      await page.locator(".rowbtn").first().focus();
      await page.keyboard.press("Enter");
      const proc = await waitForParam(page, "proc", Boolean);
      await page.waitForFunction((old) => document.querySelector("[aria-label=Launches] .note").innerText !== old, before);
      const live = await ask(page, `live?process=${proc}`);
      const row = live.processes.find(({ process }) => process === Number(proc));
      assert.ok((await page.locator("[aria-label=Launches] .note").innerText()).startsWith(row.launches.toLocaleString("en-US")));
      assert.equal(live.stacks.bytes, row.live_bytes);
      assert.deepEqual(live.copies.find((one) => one.direction === "host to device").bytes, row.copied_to_device_bytes);
      await page.reload();
      await page.waitForSelector(".liveprocs tr[aria-selected=true]");
      await page.keyboard.press("Escape");
      await waitForParam(page, "proc", (value) => value === null);
      assert.equal(await page.locator(".liveprocs tr[aria-selected=true]").count(), 0);
    }));

  it("leads to the timeline of a process, which has its bytes", () =>
    use(here.browser, at("#live"), async (page) => {
      await ready(page);
      const live = await ask(page, "live");
      const { files } = await ask(page, "session");
      for (const row of live.processes) {
        const file = files.find(({ id }) => id === row.file);
        assert.ok(file.name.endsWith(`pid ${row.pid} ${row.name}`), `${row.pid} is not ${file.name}`);
        const peak = file.devices.reduce((most, one) => Math.max(most, one.peak.reserved.bytes), 0);
        assert.equal(peak, row.peak_bytes);
      }
      await page.getByRole("link", { name: "Timeline of serve 52110" }).click();
      await page.waitForFunction(() => location.hash.startsWith("#timeline"));
      const served = live.processes.find(({ pid }) => pid === 52110);
      assert.equal(await waitForParam(page, "file", Boolean), String(served.file));
    }));

  it("sorts by its heads and changes its window by keyboard", () =>
    use(here.browser, at("#live"), async (page) => {
      await ready(page);
      const pids = () => rows(page).locator("td:first-child").allInnerTexts();
      await page.getByRole("button", { name: "PID", exact: true }).click();
      assert.deepEqual((await pids()).slice(0, 3), ["41207", "41208", "52110"]);
      await page.getByRole("button", { name: "Launches/s" }).click();
      assert.equal((await pids())[2], "52110");
      assert.equal(await page.locator("th[aria-sort]").innerText(), "Launches/s");
      await waitForParam(page, "rates", (value) => value === "launches");
      await page.keyboard.press("m");
      await waitForParam(page, "win", (value) => value === "whole");
      assert.match(await page.locator(".liveplot canvas").getAttribute("aria-label"), /python 41207/);
    }));

  it("every figure says that it is incomplete once an event was lost, and why", () =>
    use(here.browser, at(`#live?file=${LOST}`), async (page) => {
      await ready(page);
      const marked = (where) => page.locator(where).getByText("incomplete", { exact: true }).count();
      // Lost were memory calls and stacks.
      for (const where of [".viewhead", ".livelines", "[aria-label='Who holds device memory now']"])
        assert.equal(await marked(where), 1, where);
      const devices = await page.locator(".livedev").count();
      assert.equal(await marked(".livedev"), devices);
      assert.equal(await page.locator(".picks [aria-label='incomplete']").count(), await page.locator(".picks").count());
      for (const where of ["[aria-label='Launches']", "[aria-label='Copies']"])
        assert.equal(await marked(where), 0, where);
      // One process launches by a function that was not watched.
      const launches = page.locator("[aria-label='Launches']");
      assert.equal(await launches.getByText("at least", { exact: true }).count(), 1);
      assert.match(await page.locator("[aria-label='Not watched']").innerText(), /cuLaunchKernelEx\s+launches\s+its first instruction/);
      assert.equal(await page.locator("[aria-label='Copies']").getByText("at least").count(), 0);
      assert.match(await page.locator(".livenote").innerText(), /1,207 events were lost/);
      assert.match(await page.locator("[aria-label='Lost events']").innerText(), /memory ring full\s+1,204\s+Memory calls came faster/);
    }));

  it("says that a snapshot is not a recording, and how to record", () =>
    use(here.browser, at(`#live?file=${SNAPSHOT}`), async (page) => {
      await page.getByText("This file is not a recording").waitFor();
      assert.match(await page.locator("pre.code").innerText(), /tidegauge record -o run\.sqlite/);
      assert.deepEqual(await axeComplaints(page), []);
    }));

  it("mends a link to a process that is not there, and says so", () =>
    use(here.browser, at("#live?proc=77"), async (page) => {
      await page.getByText(/names process 77, which this recording does not have/).waitFor();
      await waitForParam(page, "proc", (value) => value === null);
      await ready(page);
    }));

  it("refuses questions that cannot be answered, in words", () =>
    use(here.browser, at("#overview"), async (page) => {
      const status = (path) => page.evaluate(async (url) => (await fetch(url)).status, path);
      expectRefusals(page);
      for (const wrong of ["source=9", "source=x", "process=-1", "window=year", "columns=0", "columns=1e9"])
        assert.equal(await status(`api/live?${wrong}`), 400, wrong);
    }));

  it("asks only while it is in sight", () =>
    use(here.browser, at("#live"), async (page) => {
      await ready(page);
      let asked = 0;
      page.on("request", (request) => {
        asked += isLive(request) ? 1 : 0;
      });
      await page.keyboard.press("1");
      await page.waitForFunction(() => !location.hash.startsWith("#live"));
      // a page that stays asks again after five seconds
      const other = await openPage(here.browser, at("#live"));
      await ready(other);
      await other.waitForRequest(isLive);
      await other.context().close();
      assert.equal(asked, 0);
    }));

  it("is readable by anybody, in both themes, wide and narrow", async () => {
    for (const colorScheme of ["light", "dark"]) {
      for (const size of [{}, NARROW]) {
        await use(
          here.browser,
          at(`#live?file=${LOST}&proc=0`),
          async (page) => {
            await ready(page);
            assert.deepEqual(await axeComplaints(page), []);
            await assertHeadFits(page);
            const wide = await page.evaluate(() => document.querySelector(".livebody").scrollWidth - document.querySelector(".livebody").clientWidth);
            assert.ok(wide <= 0, `${wide} px too wide`);
          },
          { colorScheme, ...size },
        );
      }
    }
  });
});

// ---- with a recorder at work

/** The stand-in for a GPU and a program that works a line's worth for each line it reads. */
function standIn() {
  const script = `import sys; sys.path.insert(0, "tests/live"); import live; live.FOLDER.mkdir(parents=True, exist_ok=True)
print(live.program("holds")); print(live.libraries())`;
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const made = spawnSync("python3", ["-c", script], { cwd, encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  const [holds, libraries] = made.stdout.trim().split("\n");
  return { holds, env: { ...process.env, LD_LIBRARY_PATH: libraries, EXPECT: join(folder, "expected.json") } };
}

function whyNoRecorder() {
  if (skip) return skip;
  const tried = run(["record", "--no-summary", "-o", join(folder, "tried.sqlite"), "--", "true"]);
  return tried.status === 0 ? false : `${tried.stderr.trim()} (run as root on Linux 6.6 or later)`;
}

/** Reads a child's lines, one at a time. */
function linesOf(child) {
  let text = "";
  const waiting = [];
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
    for (let end = text.indexOf("\n"); end >= 0 && waiting.length > 0; end = text.indexOf("\n")) {
      waiting.shift()(text.slice(0, end));
      text = text.slice(end + 1);
    }
  });
  return () =>
    new Promise((resolve, reject) => {
      const end = text.indexOf("\n");
      if (end >= 0) {
        resolve(text.slice(0, end));
        text = text.slice(end + 1);
        return;
      }
      waiting.push(resolve);
      setTimeout(() => reject(new Error("the program says nothing")), WAIT_MS).unref();
    });
}

function worker(command, words, env) {
  const child = spawn(command, words, { env, stdio: ["pipe", "pipe", "ignore"] });
  const line = linesOf(child);
  const ended = new Promise((resolve) => child.on("exit", resolve));
  return {
    child,
    ready: async () => assert.equal(await line(), "ready"),
    step: async (times) => {
      for (let i = 0; i < times; i += 1) {
        child.stdin.write("x\n");
        assert.equal(await line(), "done");
      }
    },
    end: () => {
      child.stdin.end();
      return ended;
    },
  };
}

const unrecorded = whyNoRecorder();

/** Waits until the row says what `steps` of the program did: 2 MiB, 10 launches, 1 MiB each. */
async function sees(page, source, steps) {
  await page.waitForFunction(
    async ([path, wanted]) => {
      const live = await (await fetch(path)).json();
      const row = live.processes.find(({ name }) => name === "holds");
      return row && row.live_bytes === wanted * 2 * 2 ** 20 && row.launches === wanted * 10 &&
        row.copied_to_device_bytes === wanted * 2 ** 20;
    },
    [`api/live?source=${source}`, steps],
    { polling: 100, timeout: WAIT_MS },
  );
  await page.waitForFunction((text) => document.querySelector(".liveprocs tbody tr")?.innerText.includes(text),
    `${(steps * 2).toFixed(1)}`, { timeout: WAIT_MS });
  await page.waitForFunction((text) => document.querySelector("[aria-label=Launches] .note")?.innerText.startsWith(text),
    `${steps * 10} in total`, { timeout: WAIT_MS });
}

describe("live: a recorder at work", { skip: unrecorded, timeout: 600_000 }, () => {
  let browser;
  let stand;
  before(async () => {
    stand = standIn();
    browser = await startBrowser();
  });
  after(() => browser?.close());

  it("follows a recording that is being written", async () => {
    const path = join(folder, "growing.sqlite");
    const binary = process.env.TIDEGAUGE_BINARY ?? process.env.TIDEGAUGE_BIN;
    const program = worker(binary, ["record", "--no-summary", "-o", path, "--", stand.holds], stand.env);
    await program.ready();
    await program.step(2);
    const server = await startServer([path]);
    try {
      await use(browser, `${server.address}#live`, async (page) => {
        await ready(page);
        await sees(page, 0, 2);
        assert.match(await page.locator(".viewhead .sub").innerText(), /1 process on 1 device · being written/);
        await program.step(5);
        await sees(page, 0, 7);
        assert.match(await page.locator("[aria-label='Who holds device memory now']").innerText(), /holds\.c:\d+ main/);
        assert.match(await page.locator("[aria-label=Launches]").innerText(), /one\(float\*\)[\s\S]*70/);
        // paused: new data is not shown until it is resumed
        await page.keyboard.press("p");
        await page.getByRole("button", { name: "Resume" }).waitFor();
        let asked = 0;
        page.on("request", (request) => {
          asked += isLive(request) ? 1 : 0;
        });
        await program.step(3);
        // another page that is not paused shows it, and has asked twice more since
        await use(browser, `${server.address}#live`, async (other) => {
          await sees(other, 0, 10);
          await other.waitForRequest(isLive);
          await other.waitForRequest(isLive);
        });
        assert.equal(asked, 0, "a paused page asks nothing");
        assert.match(await rows(page).first().innerText(), /14\.0/);
        await page.keyboard.press("p");
        await sees(page, 0, 10);
        assert.equal(await program.end(), 0);
        await page.getByText(/· finished/).waitFor();
        assert.match(await rows(page).first().innerText(), /ended, /);
        const live = await ask(page, "live");
        assert.equal(live.processes[0].unfreed_bytes, 20 * MIB);
        assert.deepEqual(await axeComplaints(page), []);
      });
    } finally {
      await server.stop();
      program.child.kill("SIGKILL");
    }
  });

  it("says of a recording whose recorder was killed that it has no end", async () => {
    const path = join(folder, "killed.sqlite");
    const binary = process.env.TIDEGAUGE_BINARY ?? process.env.TIDEGAUGE_BIN;
    const program = worker(binary, ["record", "--no-summary", "-o", path, "--", stand.holds], stand.env);
    await program.ready();
    await program.step(3);
    const server = await startServer([path]);
    try {
      await use(browser, `${server.address}#live`, async (page) => {
        await sees(page, 0, 3);
        program.child.kill("SIGKILL");
        await page.getByText("The recording has no end:").waitFor();
        assert.match(await rows(page).first().innerText(), /6\.0/);
      });
    } finally {
      await server.stop();
    }
  });

  it("is the page of a monitor, and of nothing else in it", async () => {
    const program = worker(stand.holds, [], stand.env);
    await program.ready();
    const server = await startPage(["monitor", "--listen", "127.0.0.1:0", "-p", `${program.child.pid}`]);
    try {
      await use(browser, server.address, async (page) => {
        await page.waitForFunction(() => location.hash.startsWith("#live"));
        await program.step(4);
        await ready(page);
        await sees(page, 0, 4);
        assert.deepEqual(await page.locator(".rail a").allInnerTexts(), ["Live"]);
        assert.match(await page.locator("[aria-label='Who holds device memory now']").innerText(), /holds\.c:\d+ main/);
        assert.match(await page.locator(".viewhead .sub").innerText(), /watched for/);
        assert.deepEqual(await axeComplaints(page), []);
        const metrics = await page.evaluate(async () => (await fetch("/metrics")).text());
        assert.match(metrics, /tidegauge_device_memory_bytes\{[^}]*kind="device"\} 8388608/);
        await program.step(1);
        await sees(page, 0, 5);
        await program.end();
        await page.getByText(/^ended, /).waitFor();
      });
    } finally {
      await server.stop();
      program.child.kill("SIGKILL");
    }
  });
});
