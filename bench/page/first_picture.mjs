// From the command to the first picture: when the address is printed, when the page shows the rough
// curve of what is read, when it shows exact tiles or the overview, and when it is at rest.
//
//   node bench/page/first_picture.mjs --binary build/release/tidegauge FILE
//   … --view timeline --runs 3 --browser /usr/bin/chromium-headless-shell --screenshots FOLDER
//
// The browser runs already, as it does on a desk. All times are in ms from the start of the program.
import { newPage, startBrowser, startServer, words } from "./pages.mjs";

const given = words({
  binary: "build/release/tidegauge",
  browser: "/usr/bin/chromium-headless-shell",
  view: "timeline",
  runs: "3",
  screenshots: "",
});

/** In the page: has it the exact picture? */
function isExact(view) {
  const { tiles = 0 } = window.tidegaugeStats ?? {};
  const canvas = document.querySelector("main canvas") !== null;
  if (view === "overview") return document.querySelector("h1.headline") !== null && canvas;
  return view === "timeline" ? tiles > 0 : canvas;
}

/** No request is open and nothing is to be painted. */
const isAtRest = () => window.tidegaugeStats?.idle ?? true;

const rough = () => document.querySelector("main .opening path") !== null;

async function measure(browser, run) {
  const page = await newPage(browser);
  await page.goto("about:blank");
  const begin = performance.now();
  const since = () => Math.round(performance.now() - begin);
  const server = await startServer(given.binary, given.rest);
  const printed = since();
  await page.goto(`${server.address}#${given.view}`, { waitUntil: "commit" });
  const polling = { polling: "raf", timeout: 120_000 };
  const curve = page.waitForFunction(rough, null, polling).then(since, () => null);
  const exact = page.waitForFunction(isExact, given.view, polling).then(since);
  // A small file is open before there is a curve.
  const first = await Promise.race([curve, exact.then(() => null)]);
  if (given.screenshots !== "")
    await page.screenshot({ path: `${given.screenshots}/opening-${run}.png` });
  const picture = await exact;
  const rest = await page.waitForFunction(isAtRest, null, polling).then(since);
  if (given.screenshots !== "")
    await page.screenshot({ path: `${given.screenshots}/open-${run}.png` });
  await page.context().close();
  server.stop();
  return `address ${printed}, rough curve ${first ?? "none"}, picture ${picture}, at rest ${rest}\n`;
}

const browser = await startBrowser(given.browser);
try {
  for (let run = 1; run <= Number(given.runs); ++run) {
    process.stdout.write(await measure(browser, run));
  }
} finally {
  await browser.close();
}
