// A recording that is being written, as people watch it: the page follows, and nothing that they
// chose is lost. Written by tests/support/grow_recording.py, as far as each test says; and once by the
// real recorder, where this machine can record. See harness.mjs for what it needs.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import {
  after, ask, assert, axeComplaints, before, describe, hashOf, it, openPage, run, settled,
  startBrowser, startServer, until, use, waitForParam, whyNot,
} from "./harness.mjs";

const skip = whyNot();
const HERE = fileURLToPath(new URL(".", import.meta.url));

/** The writer: `await grow("calls 30")` returns once that is committed. */
async function startWriter(path, ...options) {
  const child = spawn("python3", [join(HERE, "../support/grow_recording.py"), path, ...options], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  const grow = async (...commands) => {
    for (const command of commands) {
      child.stdin.write(`${command}\n`);
      assert.ok(!(await lines.next()).done, `the writer ended at ${command}`);
    }
  };
  const kill = () =>
    new Promise((resolve) => {
      child.on("exit", resolve);
      child.stdin.write("kill\n");
    });
  return { grow, kill, child };
}

const pill = (page) => page.locator(".recording");
const shownEvents = (page) =>
  page.evaluate(() => {
    const found = /([\d,]+) events?/.exec(document.querySelector(".recording")?.textContent ?? "");
    return found ? Number(found[1].replaceAll(",", "")) : 0;
  });

/** Until the page shows more events than before; answers how many. */
async function grownTo(page, before) {
  const grown = async () => {
    const now = await shownEvents(page);
    return now > before && now;
  };
  const found = await until(grown, 30_000);
  if (found !== null) return found;
  const standing = await page.evaluate(async () => (await fetch("api/follow")).text());
  const shown = await pill(page).innerText();
  throw new Error(`still ${await shownEvents(page)} events, ${before} before; “${shown}”; ${standing}`);
}

async function deviceEvents(page) {
  const session = await page.evaluate(async () => (await fetch("api/session")).json());
  return session.files[0].devices[0].events;
}

describe("a recording that grows", { skip, timeout: 600_000 }, () => {
  let folder;
  let browser;
  let server;
  let writer;
  const at = (hash) => `${server.address}${hash}`;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "follow-"));
    const path = join(folder, "run.sqlite");
    writer = await startWriter(path);
    await writer.grow("process python", "calls 600");
    server = await startServer([path]);
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
    writer?.child.kill("SIGKILL");
    if (folder) rmSync(folder, { recursive: true });
  });

  it("says so, and how far it is", () =>
    use(browser, at("#timeline"), async (page) => {
      await settled(page);
      await page.waitForSelector(".recording.live");
      assert.match(await pill(page).innerText(), /Recording…\s*[\d,]+ events, (just now|\d+ s ago)/);
      assert.match(await pill(page).getAttribute("title"), /read again about every \d+ s/);
      assert.deepEqual(await axeComplaints(page), []);
    }));

  it("keeps the window, the selection and the link while it grows", () =>
    use(browser, at("#overview"), async (page) => {
      const session = await page.evaluate(async () => (await fetch("api/session")).json());
      // of the second device: blocks of the first come before it
      const first = session.files[0].devices[0].allocations + 12;
      await page.goto(at(`#timeline?file=0&dev=1&axis=step&x=40,90&sel=${first}&at=60`));
      await settled(page);
      await page.waitForSelector(".side .mono");
      const name = () =>
        page.evaluate(() => /b7f[0-9a-f]+_\d+/.exec(document.querySelector(".side")?.innerText ?? "")?.[0]);
      await page.waitForFunction(() => /b7f/.test(document.querySelector(".side")?.innerText ?? ""));
      const chosen = await name();
      const before = await shownEvents(page);
      await writer.grow("calls 120");
      const events = await grownTo(page, before);
      assert.ok(events >= before + 100, `${before} → ${events}`);
      await settled(page);
      // the block has another number now
      const sel = await waitForParam(page, "sel", (value) => value !== String(first));
      assert.ok(Number(sel) > first, sel);
      assert.equal(await name(), chosen);
      const { params, view } = hashOf(page);
      assert.equal(view, "timeline");
      assert.equal(params.get("x"), "40,90");
      assert.equal(params.get("at"), "60");
    }));

  it("stays at the right edge for who looks there, and shows all to who sees all", () =>
    use(browser, at("#timeline?file=0&dev=0&axis=step"), async (page) => {
      await settled(page);
      const end = await deviceEvents(page);
      await page.goto(at(`#timeline?file=0&dev=0&axis=step&x=${end - 80},${end}`));
      await settled(page);
      let events = await shownEvents(page);
      await writer.grow("calls 90");
      events = await grownTo(page, events);
      const more = await deviceEvents(page);
      assert.ok(more > end);
      const x = await waitForParam(page, "x", (value) => value?.endsWith(`,${more}`));
      assert.equal(x, `${more - 80},${more}`);
      await page.keyboard.press("f");
      await waitForParam(page, "x", (value) => value === null);
      await writer.grow("calls 30");
      await grownTo(page, events);
      assert.equal(hashOf(page).params.get("x"), null);
    }));

  it("draws the new part with the tiles of the new reading only", () =>
    use(browser, at("#timeline?file=0&dev=0&axis=step"), async (page) => {
      await settled(page);
      const asked = [];
      page.on("request", (request) => {
        if (/api\/(tile|lines)\?/.test(request.url())) asked.push(new URL(request.url()).searchParams.get("gen"));
      });
      const before = await shownEvents(page);
      await writer.grow("calls 60");
      await grownTo(page, before);
      await settled(page);
      const session = await page.evaluate(async () => (await fetch("api/session")).json());
      assert.ok(asked.length > 0);
      assert.deepEqual([...new Set(asked)], [String(session.files[0].gen)]);
    }));

  it("rests while it is paused, and catches up", () =>
    use(browser, at("#overview"), async (page) => {
      await page.waitForSelector(".recording.live");
      const before = await shownEvents(page);
      await page.getByRole("button", { name: "Pause: keep what is shown" }).click();
      await page.waitForSelector(".recording.still");
      // another page follows twice meanwhile: this one had as much time to
      const other = await openPage(browser, at("#overview"));
      let grown = await shownEvents(other);
      for (let time = 0; time < 2; time += 1) {
        await writer.grow("calls 60");
        grown = await grownTo(other, grown);
      }
      await other.context().close();
      assert.equal(await shownEvents(page), before);
      assert.match(await pill(page).innerText(), /Paused/);
      assert.equal(hashOf(page).view || "overview", "overview");
      await page.getByRole("button", { name: "Follow the recording" }).click();
      await grownTo(page, before);
    }));

  it("shows kernels and copies as they come, and keeps the row that was chosen", () =>
    use(browser, at("#tables?table=kernels"), async (page) => {
      await page.waitForSelector("text=No kernel launch was recorded");
      await writer.grow("launches sgemm 900", "launches axpy 500", "copies 8");
      await page.waitForSelector('.grid tbody tr:has-text("sgemm")');
      await page.locator('.grid tbody tr:has-text("axpy")').click();
      await page.waitForSelector('.grid tbody tr[aria-selected=true]:has-text("axpy")');
      await writer.grow("launches axpy 5000");
      await page.waitForSelector('.grid tbody tr:has-text("5,500")');
      // it is the first now
      await page.waitForSelector('.grid tbody tr[aria-rowindex="2"][aria-selected=true]:has-text("axpy")');
      assert.deepEqual(await axeComplaints(page), []);
      await page.locator('.strip a:text-is("SQL")').click();
      await page.waitForSelector(".view[aria-label=SQL]");
      await page.waitForSelector("text=2 rows");
      await page.goto(at("#tables?table=copies"));
      await page.waitForSelector('.grid tbody tr:has-text("cuMemcpyHtoD_v2"):has-text("16.0 MiB/s")');
      await page.waitForSelector('.grid tbody tr:has-text("cuMemcpyHtoDAsync_v2"):has-text("not timed")');
    }));

  it("refreshes the views that are open: map, state, tables, flame", () =>
    use(browser, at("#map?file=0&dev=0"), async (page) => {
      for (const view of ["map", "state", "tables", "flame", "overview"]) {
        await page.goto(at(`#${view}?file=0&dev=0`));
        await page.waitForSelector(".recording.live");
        const before = await shownEvents(page);
        await writer.grow("calls 30");
        await grownTo(page, before);
        assert.equal(await page.locator(".notice.error, .errornotice").count(), 0, view);
      }
    }));

  it("opens a file for a process that comes", () =>
    use(browser, at("#timeline?file=0&dev=0"), async (page) => {
      await settled(page);
      const before = await shownEvents(page);
      await writer.grow("process worker", "calls 60");
      await grownTo(page, before);
      const session = await page.evaluate(async () => (await fetch("api/session")).json());
      assert.deepEqual(session.files.map((one) => one.name), ["pid 500 python", "pid 501 worker"]);
      await page.goto(at("#timeline?file=1&dev=0"));
      await settled(page);
      assert.match(await page.locator(".topbar .file").innerText(), /worker/);
    }));

  it("says when the recorder has ended, with everything shown", () =>
    use(browser, at("#timeline?file=0&dev=0"), async (page) => {
      await settled(page);
      await writer.grow("calls 30", "end");
      await page.waitForSelector(".recording.still:has-text('Recording ended')", { timeout: 30_000 });
      const session = await page.evaluate(async () => (await fetch("api/session")).json());
      const all = session.files.reduce((sum, one) => sum + one.events, 0);
      assert.equal(session.recordings[0].events, all);
      await page.waitForFunction(
        (wanted) => (document.querySelector(".recording")?.textContent ?? "").replaceAll(",", "").includes(`${wanted} events`),
        all,
      );
      assert.equal(await page.locator(".recording button").count(), 0);
    }));
});

describe("a recorder that was killed", { skip, timeout: 120_000 }, () => {
  it("is distinguished from one that has nothing to say", async () => {
    const folder = mkdtempSync(join(tmpdir(), "follow-"));
    const path = join(folder, "run.sqlite");
    const writer = await startWriter(path);
    let server;
    let browser;
    try {
      await writer.grow("process python", "calls 60");
      server = await startServer([path]);
      browser = await startBrowser();
      const page = await openPage(browser, `${server.address}#timeline`);
      await settled(page);
      // silent for longer than anything that has no lock may be
      const silent = async () => (await ask(page, "follow")).recordings[0].changed_s > 6;
      assert.ok(await until(silent, 30_000));
      await page.waitForSelector(".recording.live");
      const before = await shownEvents(page);
      await writer.grow("calls 30");
      await writer.kill();
      await page.waitForSelector(".recording.bad:has-text('Recorder died')", { timeout: 30_000 });
      assert.match(await pill(page).innerText(), /no new data/);
      assert.ok((await shownEvents(page)) > before);
      assert.deepEqual(page.complaints, []);
      assert.match(run(["report", "--full", path]).stdout, /without the recorder's end/);
    } finally {
      await browser?.close();
      await server?.stop();
      writer.child.kill("SIGKILL");
      rmSync(folder, { recursive: true });
    }
  });

  it("has no pill if the page was opened after a good end", async () => {
    const folder = mkdtempSync(join(tmpdir(), "follow-"));
    const path = join(folder, "run.sqlite");
    const writer = await startWriter(path);
    let server;
    let browser;
    try {
      await writer.grow("process python", "calls 60", "end");
      server = await startServer([path]);
      browser = await startBrowser();
      const page = await openPage(browser, `${server.address}#timeline`);
      await settled(page);
      assert.equal(await pill(page).count(), 0);
    } finally {
      await browser?.close();
      await server?.stop();
      rmSync(folder, { recursive: true });
    }
  });
});

/** Why the real recorder cannot run here, or false. */
function whyNotLive() {
  if (skip) return skip;
  const doctor = run(["doctor"]);
  return doctor.status === 0 ? false : "this machine cannot record; tidegauge doctor says what is missing";
}

describe("the real recorder", { skip: whyNotLive(), timeout: 300_000 }, () => {
  it("is followed from its first moments to its end", async () => {
    const folder = mkdtempSync(join(tmpdir(), "follow-"));
    const made = spawnSync("python3", [
      "-c",
      "import sys; sys.path.insert(0, sys.argv[1]); import live; print(live.program('slowly'))",
      join(HERE, "../live"),
    ]);
    assert.equal(made.status, 0, `${made.stderr}`);
    const path = join(folder, "run.sqlite");
    const binary = process.env.TIDEGAUGE_BINARY ?? process.env.TIDEGAUGE_BIN;
    // Far longer than this takes on any machine: it is ended once it was seen to grow.
    const recorder = spawn(binary, ["record", "-o", path, "--", `${made.stdout}`.trim(), "280"], {
      stdio: "ignore",
    });
    let server;
    let browser;
    try {
      const deadline = Date.now() + 60_000;
      while (run(["query", path, "SELECT 1"]).status !== 0 && Date.now() < deadline);
      server = await startServer([path]);
      browser = await startBrowser();
      const page = await openPage(browser, `${server.address}#timeline`);
      await page.waitForSelector(".recording.live");
      const first = await grownTo(page, 0);
      const second = await grownTo(page, first);
      assert.ok(second > first);
      recorder.kill("SIGTERM");
      await page.waitForSelector(".recording.still:has-text('Recording ended')", { timeout: 60_000 });
      const query = run(["query", path, "SELECT count(*) AS n FROM events", "--format", "csv"]);
      const all = Number(query.stdout.split(/\r?\n/)[1]);
      await page.waitForFunction(
        (wanted) => (document.querySelector(".recording")?.textContent ?? "").replaceAll(",", "").includes(`${wanted} events`),
        all,
      );
      await page.goto(`${server.address}#tables?table=kernels`);
      const launches = run(["query", path, "SELECT sum(count) AS n FROM launches", "--format", "csv"]);
      const wanted = launches.stdout.split(/\r?\n/)[1];
      assert.ok(Number(wanted) > 0, launches.stderr);
      await page.waitForSelector(`.grid tbody tr:has-text("${wanted}")`);
      assert.deepEqual(page.complaints, []);
    } finally {
      await browser?.close();
      await server?.stop();
      recorder.kill("SIGTERM");
      rmSync(folder, { recursive: true });
    }
  });
});
