// torch's own page of a snapshot, MemoryViz.js, against the page of `tidegauge view`: until the timeline is
// drawn, processor time and memory of the browser.
//
//   bench/report/get_memory_viz.sh build/bench/memory_viz
//   python3 build/bench/memory_viz/_memory_viz.py trace_plot FILE.pickle -o FILE.html
//   node bench/page/memory_viz.mjs --viz build/bench/memory_viz FILE.html
//   node bench/page/memory_viz.mjs --binary build/release/tidegauge FILE.pickle
//
// Prints a line of JSON per file. MemoryViz.js and d3 come from the folder, not from the web: the page gets an
// import map. Memory is the largest sum over the browser's processes of what is not a mapped file.
import { createReadStream, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { basename, join } from "node:path";
import { newPage, startBrowser, startServer, words } from "./pages.mjs";
import { BrowserCost } from "./processes.mjs";

const given = words({
  binary: "build/release/tidegauge",
  browser: "/usr/bin/chromium-headless-shell",
  viz: "",
  limit: "180", // seconds until a page counts as not drawn
  screenshot: "",
});
const limit_ms = Number(given.limit) * 1000;
const of_torch = "https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js";
const is_ours = given.viz === "";

/** Every package of d3 by its name, and the addresses that MemoryViz.js names. */
function importMap(folder) {
  const imports = { [of_torch]: "/MemoryViz.js" };
  for (const name of readdirSync(join(folder, "node_modules"))) {
    if (!name.startsWith("d3")) continue;
    const text = readFileSync(join(folder, "node_modules", name, "package.json"), "utf8");
    imports[name] = `/node_modules/${name}/${JSON.parse(text).module}`;
  }
  const script = readFileSync(join(folder, "MemoryViz.js"), "utf8");
  for (const [address, name] of script.matchAll(/https:\/\/cdn\.skypack\.dev\/([\w-]+)@\d+/g))
    imports[address] = imports[name];
  return `<script type="importmap">${JSON.stringify({ imports })}</script>`;
}

function sendPage(path, map, response) {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
  response.write(`<!DOCTYPE html>${map}`);
  createReadStream(path).pipe(response);
}

function serve(folder, html) {
  const map = importMap(folder);
  const server = createServer((request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    if (path === "/") return sendPage(html, map, response);
    const inside = join(folder, path); // URL has resolved "..": it stays inside
    // d3 imports its own files without their ending
    const isFile = (name) => statSync(name, { throwIfNoEntry: false })?.isFile();
    const file = [inside, `${inside}.js`].find(isFile);
    if (file === undefined) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": "text/javascript; charset=utf-8" });
    createReadStream(file).pipe(response);
  });
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () =>
      resolve({
        address: `http://127.0.0.1:${server.address().port}/`,
        stop: () => server.close(),
      }),
    ),
  );
}

/** In the page: is there a timeline? */
const isDrawn = (is_ours) =>
  is_ours ? (window.tidegaugeStats?.tiles ?? 0) > 0 : document.querySelector("polygon") !== null;
const twoFrames = () =>
  new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));

async function drawn(page, address, failed) {
  const until = async () => {
    await page.goto(address, { waitUntil: "commit", timeout: limit_ms });
    await page.waitForFunction(isDrawn, is_ours, { polling: 100, timeout: limit_ms });
    await page.evaluate(twoFrames);
  };
  const late = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`not drawn after ${given.limit} s`)), limit_ms).unref();
  });
  await Promise.race([until(), failed, late]);
}

async function measure(file) {
  const browser = await startBrowser(given.browser);
  const page = await newPage(browser);
  await page.goto("about:blank");
  const failed = new Promise((_, reject) => {
    page.on("crash", () => reject(new Error("the page's process ended")));
    page.on("requestfailed", (request) => reject(new Error(`not found: ${request.url()}`)));
    page.on("response", (response) => {
      if (response.status() >= 400) reject(new Error(`not found: ${response.url()}`));
    });
    page.on("pageerror", (error) => reject(new Error(`${error.name}: ${error.message}`)));
  });
  failed.catch(() => {}); // it may come after the end
  const cost = new BrowserCost(basename(given.binary));
  const begin = performance.now();
  const server = is_ours ? await startServer(given.binary, [file]) : await serve(given.viz, file);
  const result = { file };
  try {
    await drawn(page, is_ours ? `${server.address}#timeline` : server.address, failed);
    if (given.screenshot !== "") await page.screenshot({ path: given.screenshot });
  } catch (error) {
    result.failed = error.message.split("\n")[0];
  }
  result.drawn_ms = Math.round(performance.now() - begin);
  Object.assign(result, cost.end());
  server.stop();
  await Promise.race([browser.close(), new Promise((done) => setTimeout(done, 5000).unref())]);
  return result;
}

for (const file of given.rest) process.stdout.write(`${JSON.stringify(await measure(file))}\n`);
process.exit(0); // a page that still computes would keep its browser
