// Starts the real program on real files and a real Chromium on its page.
//
//   TIDEGAUGE_BINARY   the program (also TIDEGAUGE_BIN); without it everything is skipped
//   TIDEGAUGE_SHARED   folder with the shared snapshots, else ../shared beside the checkout
//   TIDEGAUGE_CHROMIUM the browser, else Chromium on the PATH: its headless shell, if it is there, is the same
//                      engine without windows, which takes about half of the processor time
//   TIDEGAUGE_FIREFOX  for two_browsers.mjs; else firefox-esr or firefox on the PATH
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

// what every file of tests needs, so that it has one place to take it from
export { after, assert, before, describe, it };

// the packages of the page are installed beside it
export const require = createRequire(new URL("../../web/package.json", import.meta.url));
export const { chromium } = require("playwright-core");
const AXE = require.resolve("axe-core/axe.min.js");

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const START_MS = 60_000;
export const WAIT_MS = 20_000;

export const example = (name) => join(ROOT, "examples", name);

export function shared(name) {
  const folder = process.env.TIDEGAUGE_SHARED ?? join(ROOT, "..", "shared");
  return join(folder, "data", "snapshots", name);
}

export const FSDP = shared("fsdp-oom-rank0.pickle.zst");
export const NO_TRACE = shared("three-pools-no-trace.pickle.zst");

export function onPath(names) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of names) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // not here
      }
    }
  }
  return null;
}

const binary = process.env.TIDEGAUGE_BINARY ?? process.env.TIDEGAUGE_BIN ?? null;
const browserPath =
  process.env.TIDEGAUGE_CHROMIUM ??
  onPath(["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]);

/** Why these tests cannot run here, or false. */
export function whyNot() {
  if (binary === null) return "TIDEGAUGE_BINARY names no program: build one, then set it";
  if (!existsSync(binary)) return `${binary} does not exist: build it first`;
  if (browserPath === null) return "no Chromium on the PATH: apt-get install chromium-headless-shell";
  return false;
}

/** Why a test with this shared file cannot run, or false. */
export function withoutFile(path) {
  return existsSync(path) ? false : `${path} is not here: set TIDEGAUGE_SHARED`;
}

/** Runs the program to its end: `{ status, stdout, stderr }`. */
export function run(args) {
  return spawnSync(binary, args, { encoding: "utf8", timeout: START_MS, maxBuffer: 1 << 28 });
}

/** Writes a synthetic snapshot with tools/make_snapshot. */
export function generate(path, ...options) {
  const made = spawnSync("python3", [join(ROOT, "tools", "make_snapshot"), ...options, "-o", path]);
  assert.equal(made.status, 0, `make_snapshot: ${made.error ?? made.stderr}`);
}

/** Writes a recording of four processes with make_live_recording, answers what is true of it. */
export function makeLive(path, ...words) {
  const made = spawnSync(join(dirname(binary), "tests", "make_live_recording"), [path, ...words], {
    encoding: "utf8",
  });
  assert.equal(made.status, 0, `make_live_recording: ${made.error ?? made.stderr}`);
  return JSON.parse(made.stdout);
}

/** Runs `tidegauge view FILES` and answers its address. */
export function startServer(files) {
  return startPage(["view", ...files, "--no-browser"]);
}

/** Runs a command that prints the address of a page. */
export async function startPage(words) {
  const child = spawn(binary, words, { stdio: ["ignore", "pipe", "pipe"] });
  const address = await new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => reject(new Error(`no address after ${START_MS} ms: ${text}`)), START_MS);
    const read = (chunk) => {
      text += chunk;
      const found = /http:\/\/127\.0\.0\.1:\d+\/[\w-]+\//.exec(text);
      if (!found) return;
      clearTimeout(timer);
      resolve(found[0]);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", (code) => {
      clearTimeout(timer);
      reject(new Error(`tidegauge ended with ${code}: ${text}`));
    });
  });
  const stop = () =>
    new Promise((resolve) => {
      child.removeAllListeners("exit");
      child.on("exit", resolve);
      child.kill("SIGINT");
      setTimeout(() => child.kill("SIGKILL"), 3000).unref();
    });
  return { address, stop };
}

export function startBrowser(extra = []) {
  const root = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({
    executablePath: browserPath,
    args: [...root, "--enable-unsafe-swiftshader", ...extra],
  });
}

/** Runs in the page before its own scripts: counts open requests, and timers that fire soon. */
function countWork() {
  const SOON_MS = 300;
  const work = { asked: 0, timers: new Set() };
  const during = async (promise) => {
    work.asked += 1;
    try {
      return await promise;
    } finally {
      work.asked -= 1;
    }
  };
  const ask = window.fetch;
  window.fetch = (...of) => during(ask.apply(window, of));
  for (const read of ["json", "text", "arrayBuffer"]) {
    const plain = Response.prototype[read];
    Response.prototype[read] = function () {
      return during(plain.call(this));
    };
  }
  const [later, drop] = [window.setTimeout, window.clearTimeout];
  window.setTimeout = (act, ms = 0, ...of) => {
    const id = later.call(
      window,
      () => {
        work.timers.delete(id);
        act(...of);
      },
      ms,
    );
    if (ms <= SOON_MS) work.timers.add(id);
    return id;
  };
  window.clearTimeout = (id) => {
    work.timers.delete(id);
    drop.call(window, id);
  };
  const [repeat, stop] = [window.setInterval, window.clearInterval];
  window.setInterval = (act, ms = 0, ...of) => {
    const id = repeat.call(window, act, ms, ...of);
    if (ms <= SOON_MS) work.timers.add(id);
    return id;
  };
  window.clearInterval = (id) => {
    work.timers.delete(id);
    stop.call(window, id);
  };
  window.tidegaugeWork = work;
}

const REFUSAL = /status of 4\d\d/;

/** A fresh page, still empty. `page.complaints` collects everything that a browser's console would
    show in red. */
export async function newPage(browser, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: "reduce",
    ...options,
  });
  await context.addInitScript(countWork);
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(`exception: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() !== "error") return;
    if (!page.expectsRefusals || !REFUSAL.test(message.text())) page.complaints.push(message.text());
  });
  return page;
}

/** For a test whose requests the server refuses: the browser itself complains about each, before or after
    the page says why. That is not a fault of the page. */
export function expectRefusals(page) {
  page.expectsRefusals = true;
  page.complaints = page.complaints.filter((text) => !REFUSAL.test(text));
}

/** A page of the program, once it knows its files. */
export async function openPage(browser, url, options = {}) {
  const page = await newPage(browser, options);
  await page.goto(url);
  await page.waitForSelector(".topbar .file", { timeout: WAIT_MS });
  return page;
}

/** In a describe(): a server with these files and a browser, from before its tests to after them.
    Files are a function, because some are written only then. `at("#map")` is an address. */
export function opened(files) {
  let server;
  const here = {
    browser: undefined,
    get address() {
      return server.address;
    },
    at: (hash) => `${server.address}${hash}`,
  };
  before(async () => {
    server = await startServer(files());
    here.browser = await startBrowser();
  });
  after(async () => {
    await here.browser?.close();
    await server?.stop();
  });
  return here;
}

/** Opens, runs, and insists that the console stayed clean. */
export async function use(browser, url, body, options) {
  const page = await openPage(browser, url, options);
  try {
    await body(page);
    assert.deepEqual(page.complaints, []);
  } finally {
    await page.context().close();
  }
}

/** What axe-core says about the page: one line a rule. */
export async function axeComplaints(page) {
  // evaluated by the debugger, where the page's policy does not reach
  await page.evaluate(`${readFileSync(AXE, "utf8")}; null`);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    });
    return violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join(", ")}`);
  });
  return found;
}

/** Nothing in the head lies over its neighbour or outside. */
export async function assertHeadFits(page) {
  const crowded = await page.evaluate(() => {
    const head = document.querySelector(".viewhead");
    const { left, right } = head.getBoundingClientRect();
    const boxes = [...head.children].map((one) => one.getBoundingClientRect()).filter((one) => one.width > 0);
    const over = (a, b) => a.right > b.left + 0.5 && b.right > a.left + 0.5 && a.bottom > b.top && b.bottom > a.top;
    const pairs = boxes.some((a, i) => boxes.slice(i + 1).some((b) => over(a, b)));
    return pairs || boxes.some((one) => one.left < left || one.right > right + 0.5);
  });
  assert.equal(crowded, false, "the head is crowded");
}

/** In the page: whether there is nothing to do after `ms`, and no frame was painted meanwhile. */
async function isQuiet(ms) {
  const painted = () => window.tidegaugeStats?.frames;
  const before = painted();
  await new Promise((resolve) => setTimeout(resolve, ms));
  await new Promise((resolve) => requestAnimationFrame(resolve));
  const { asked, timers } = window.tidegaugeWork;
  const idle = window.tidegaugeStats?.idle ?? true;
  return asked === 0 && timers.size === 0 && idle && painted() === before;
}

/** Waits until the page has done what it was asked for: no open request, no timer that fires soon (so
    the URL is written, and nothing plays), no frame to paint. What has not happened by then will not
    happen. */
export async function quiet(page) {
  // page.waitForFunction takes any promise for a yes
  assert.ok(await until(() => page.evaluate(isQuiet, 30)), "the page does not come to rest");
  // this side learns of a new hash a little after the page has it
  const isKnown = async () =>
    new URL(page.url()).hash === (await page.evaluate(() => location.hash));
  assert.ok(await until(isKnown), "the hash of the page is not known here");
}

/** Waits until the picture has what it asked for: tiles, and no frame for a while. One of a recording that is being
    written gets new ones each 0.4 s. */
export async function settled(page) {
  await page.waitForFunction(() => (window.tidegaugeStats?.tiles ?? 0) > 0);
  const ms = (await page.locator(".recording.live").count()) > 0 ? 150 : 350;
  assert.ok(await until(() => page.evaluate(isQuiet, ms)), "the picture does not come to rest");
}

/** What the server says, asked from the page. */
export function ask(page, path) {
  return page.evaluate(async (url) => (await fetch(`api/${url}`)).json(), path);
}

/** Asks `check` again until it answers something, at most for `ms`; answers that, or null. */
export async function until(check, ms = WAIT_MS) {
  const deadline = Date.now() + ms;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > deadline) return null;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** axe finds nothing in either theme and at either width. */
export async function assertReadable(browser, url, ready) {
  for (const colorScheme of ["light", "dark"]) {
    for (const viewport of [{ width: 1440, height: 900 }, { width: 1024, height: 700 }]) {
      const look = async (page) => {
        await ready(page);
        assert.deepEqual(await axeComplaints(page), [], `${colorScheme} ${viewport.width}`);
      };
      await use(browser, url, look, { colorScheme, viewport });
    }
  }
}

export function hashOf(page) {
  const hash = new URL(page.url()).hash.slice(1);
  const cut = hash.indexOf("?");
  return {
    view: cut < 0 ? hash : hash.slice(0, cut),
    params: new URLSearchParams(cut < 0 ? "" : hash.slice(cut + 1)),
  };
}

/** The key that opens a view. */
export async function keyOf(page, title) {
  return page.locator(`.rail a[title="${title}"]`).getAttribute("aria-keyshortcuts");
}

/** Waits for a parameter of the URL to satisfy a test; the page writes it with a little delay. */
export async function waitForParam(page, name, test) {
  const value = () => hashOf(page).params.get(name);
  const found = await until(() => test(value()) && { value: value() });
  if (found === null) throw new Error(`${name} stayed ${value()}`);
  return found.value;
}
