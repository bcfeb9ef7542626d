// The page beside the real recorder with --max-size: the file under its name is replaced every few
// seconds. The page continues with the new file, in each view, and never says that the recording has
// ended, is missing or cannot be read while it continues. See harness.mjs for what it needs.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  assert, describe, it, openPage, quiet, run, settled, startBrowser, startServer, whyNot,
} from "./harness.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const binary = process.env.TIDEGAUGE_BINARY ?? process.env.TIDEGAUGE_BIN;
const LIMIT_MS = 60_000;

/** Why the real recorder cannot run here, or false. */
function whyNotLive() {
  const skip = whyNot();
  if (skip) return skip;
  const doctor = run(["doctor"]);
  return doctor.status === 0 ? false : "this machine cannot record; tidegauge doctor says what is missing";
}

/** The number of the part that has the recording's name now; 0: it cannot be read just now. */
function partOf(path) {
  const asked = run(["query", path, "SELECT number FROM part", "--format", "csv"]);
  return asked.status === 0 ? Number(asked.stdout.split(/\r?\n/)[1] || 0) : 0;
}

/** What the page was given by now: the part, and the events of each of its files. */
const shown = (page) =>
  page.evaluate(async () => {
    const session = await (await fetch("api/session")).json();
    const asked = await fetch("api/sql", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ file: 0, gen: session.files[0].gen, sql: "SELECT number FROM part" }),
    });
    const answer = await asked.json();
    const part = answer.rows?.[0]?.[0] ?? 0;
    return { part, status: asked.status, files: session.files, recordings: session.recordings };
  });

/** The files of a folder, and how large each is. */
function statSizes(folder) {
  const size = (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size;
  return Object.fromEntries(readdirSync(folder).map((name) => [name, size(name)]));
}

/** What `ready` gives as soon as it gives something; the error has `state()` if it never does. */
async function until(ready, what, state = () => "") {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const found = await ready();
    if (found) return found;
    if (Date.now() > end) throw new Error(`never came: ${what}; ${JSON.stringify(state())}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

describe("a recording that is kept below a size", { skip: whyNotLive(), timeout: 400_000 }, () => {
  it("is followed across its parts, in every view", async () => {
    const folder = mkdtempSync(join(tmpdir(), "parts-"));
    const made = spawnSync("python3", [
      "-c",
      "import sys; sys.path.insert(0, sys.argv[1]); import live; print(live.program('steady'))",
      join(HERE, "../live"),
    ]);
    assert.equal(made.status, 0, `${made.stderr}`);
    const path = join(folder, "run.sqlite");
    const words = ["record", "--max-size", "16MiB", "-o", path, "--", `${made.stdout}`.trim(), "300"];
    const recorder = spawn(binary, words, { stdio: "ignore" });
    let server;
    let browser;
    try {
      await until(() => partOf(path) === 1, "the first part");
      server = await startServer([path]);
      browser = await startBrowser();
      const page = await openPage(browser, `${server.address}#timeline?file=0&dev=0`);
      await settled(page);
      await page.waitForSelector(".recording.live");
      // Every word that the pill ever says.
      await page.evaluate(() => {
        window.said = new Set();
        const note = () => {
          const pill = document.querySelector(".recording");
          if (pill) window.said.add(`${pill.className}: ${pill.textContent.replace(/[\d,]+/g, "N")}`);
        };
        new MutationObserver(note).observe(document.body, {
          subtree: true,
          childList: true,
          characterData: true,
          attributes: true,
        });
        note();
      });
      let part = 1;
      for (const view of ["timeline", "map", "tables", "flame", "live", "overview"]) {
        await page.evaluate((to) => {
          location.hash = `#${to}?file=0&dev=0`;
        }, view);
        let it;
        const state = () => ({ it, files: statSizes(folder), recorder: recorder.exitCode });
        const now = await until(
          async () => {
            it = await shown(page);
            return it.part > part && it;
          },
          `part ${part + 1}, in ${view}`,
          state,
        );
        part = now.part;
        assert.equal(now.recordings[0].state, "recording", view);
        await page.waitForSelector(".recording.live");
        // only timeline and map have a picture of tiles; the Live view never rests
        if (view === "timeline" || view === "map") await settled(page);
        else if (view !== "live") await quiet(page);
        assert.equal(await page.locator(".notice.error, .errornotice").count(), 0, view);
      }
      for (const said of await page.evaluate(() => [...window.said]))
        assert.doesNotMatch(said, /ended|died|no new data|error|gone|no longer|cannot|bad/i);
      recorder.kill("SIGTERM");
      await page.waitForSelector(".recording.still:has-text('Recording ended')", { timeout: LIMIT_MS });
      const last = partOf(path);
      assert.ok(last >= part);
      assert.equal((await until(async () => {
        const it = await shown(page);
        return it.part === last && it;
      }, "the last part")).part, last);
      // A part that ends between a question and its answer: the browser notes each such answer, the page
      // (and shown() above) asks again.
      const real = page.complaints.filter((text) => !/status of 409/.test(text));
      assert.deepEqual(real, []);
    } finally {
      await browser?.close();
      await server?.stop();
      recorder.kill("SIGTERM");
      await new Promise((done) => (recorder.exitCode !== null ? done() : recorder.on("exit", done)));
      rmSync(folder, { recursive: true });
    }
  });
});
