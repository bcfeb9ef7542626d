// The first picture over a slow link: how long it takes from the navigation, and how much is sent.
//
//   node bench/page/slow_link.mjs --binary build/release/tidegauge FILE
//   … --mbit 20 --rtt 40 --browser /usr/bin/chromium-headless-shell --views overview,timeline
//
// The program has read the file when the measurement begins. Each view is opened in a browser with
// an empty cache. "picture" is the moment at which the view has what it shows first: the headline of
// the overview, all tiles of the timeline. Bytes are those on the link, headers included, until
// the page is at rest.
import { newPage, startBrowser, startServer, words } from "./pages.mjs";

const given = words({
  binary: "build/release/tidegauge",
  browser: "/usr/bin/chromium-headless-shell",
  mbit: "20",
  rtt: "40",
  views: "overview,timeline,map,flame",
});

/** In the page: when the view shows what it has to show first, or false. */
function shownAt(view) {
  const { tiles = 0, idle = false } = window.tidegaugeStats ?? {};
  const canvas = document.querySelector("main canvas") !== null;
  const waits = document.querySelector("main .progress") !== null;
  const shown = {
    overview: document.querySelector("h1.headline") !== null && canvas,
    timeline: tiles > 0 && idle,
  };
  return (shown[view] ?? (canvas && !waits)) && performance.now();
}

async function measure(browser, address, view) {
  const page = await newPage(browser);
  const link = await page.context().newCDPSession(page);
  await link.send("Network.enable");
  await link.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: Number(given.rtt),
    downloadThroughput: (Number(given.mbit) * 1e6) / 8,
    uploadThroughput: (Number(given.mbit) * 1e6) / 8,
  });
  const sent = new Map(); // by request: the path and its bytes
  let latest = performance.now();
  link.on("Network.requestWillBeSent", ({ requestId, request }) => {
    const { pathname } = new URL(request.url);
    sent.set(requestId, { path: pathname.split("/").slice(2).join("/"), bytes: 0 });
    latest = performance.now();
  });
  link.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    const one = sent.get(requestId);
    if (one) one.bytes = encodedDataLength;
    latest = performance.now();
  });
  await page.goto(`${address}#${view}`, { waitUntil: "commit" });
  const found = await page.waitForFunction(shownAt, view, { polling: "raf", timeout: 120_000 });
  const shown = await found.jsonValue();
  const paint = await page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
  );
  const before = total(sent);
  while (performance.now() - latest < 1500) await new Promise((done) => setTimeout(done, 100));
  await page.context().close();
  return { paint, shown, before, all: total(sent), sent };
}

function total(sent) {
  return [...sent.values()].reduce((sum, { bytes }) => sum + bytes, 0);
}

function largest(sent) {
  const by = new Map();
  for (const { path, bytes } of sent.values()) {
    const name = path.replace(/-[\w-]{8}\./, ".") || "index.html";
    const one = by.get(name) ?? { count: 0, bytes: 0 };
    by.set(name, { count: one.count + 1, bytes: one.bytes + bytes });
  }
  const list = [...by].sort((a, b) => b[1].bytes - a[1].bytes).slice(0, 6);
  return list.map(([name, { count, bytes }]) => `${name} ${count}× ${kilo(bytes)}`).join(", ");
}

const kilo = (bytes) => `${(bytes / 1000).toFixed(0)} kB`;
const server = await startServer(given.binary, given.rest);
const browser = await startBrowser(given.browser);
try {
  await new Promise((done) => setTimeout(done, 2000)); // what the program prepares after reading
  process.stdout.write(`${given.mbit} Mbit/s, ${given.rtt} ms\n`);
  for (const view of given.views.split(",")) {
    const { paint, shown, before, all, sent } = await measure(browser, server.address, view);
    process.stdout.write(
      `${view.padEnd(9)} paint ${paint.toFixed(0)} ms, picture ${shown.toFixed(0)} ms, ` +
        `sent until then ${kilo(before)}, in all ${kilo(all)} in ${sent.size} requests\n` +
        `          ${largest(sent)}\n`,
    );
  }
} finally {
  await browser.close();
  server.stop();
}
