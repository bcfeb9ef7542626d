// A page from disk in Chromium and in Firefox, by the same few words. Chromium is driven by
// playwright-core; Firefox as it is shipped speaks WebDriver BiDi, which puppeteer-core does.
//
//   const page = await browser.open("file:///tmp/page.html#timeline");
//   await page.press("ArrowUp"); page.requests; page.complaints
import { onPath, require, startBrowser, WAIT_MS, whyNot } from "./harness.mjs";

const SIZE = { width: 1440, height: 900 };
const firefoxPath = process.env.TIDEGAUGE_FIREFOX ?? onPath(["firefox-esr", "firefox"]);
// A proxy that nobody is behind: whatever is asked of the network fails.
const NOWHERE = {
  "network.proxy.type": 1,
  "network.proxy.http": "127.0.0.1",
  "network.proxy.http_port": 9,
  "network.proxy.ssl": "127.0.0.1",
  "network.proxy.ssl_port": 9,
  "network.proxy.allow_hijacking_localhost": true,
};

const firefox = {
  name: "Firefox",
  whyNot: () =>
    whyNot() || (firefoxPath === null && "no Firefox on the PATH: apt-get install firefox-esr"),
  async start() {
    const { default: puppeteer } = await import(require.resolve("puppeteer-core"));
    const browser = await puppeteer.launch({
      browser: "firefox",
      executablePath: firefoxPath,
      headless: true,
      extraPrefsFirefox: { ...NOWHERE, "ui.prefersReducedMotion": 1 },
    });
    return {
      close: () => browser.close(),
      async open(url, ready) {
        const page = await browser.newPage();
        await page.setViewport(SIZE);
        return watched(page, url, ready, {
          wheel: (by) => page.mouse.wheel({ deltaY: by }),
          message: (of) => [of.type(), of.text()],
          close: () => page.close(),
        });
      },
    };
  },
};

const chromium = {
  name: "Chromium",
  whyNot,
  async start() {
    const browser = await startBrowser();
    return {
      close: () => browser.close(),
      async open(url, ready) {
        const options = { viewport: SIZE, reducedMotion: "reduce", offline: true };
        const context = await browser.newContext(options);
        const page = await context.newPage();
        return watched(page, url, ready, {
          wheel: (by) => page.mouse.wheel(0, by),
          message: (of) => [of.type(), of.text()],
          close: () => context.close(),
        });
      },
    };
  },
};

export const BROWSERS = [chromium, firefox];

/** What the tests may do, whoever drives. */
async function watched(page, url, ready = ".topbar .file", own) {
  const requests = [];
  const complaints = [];
  page.on("request", (request) => {
    const asked = request.url();
    if (!asked.startsWith("data:") && !asked.startsWith("blob:")) requests.push(asked.split("#")[0]);
  });
  page.on("pageerror", (error) => complaints.push(`exception: ${error.message}`));
  page.on("console", (message) => {
    const [type, text] = own.message(message);
    if (type === "error") complaints.push(text);
  });
  await page.goto(url);
  const wait = async (test, argument) => {
    const deadline = Date.now() + WAIT_MS;
    for (;;) {
      const value = await page.evaluate(test, argument);
      if (value) return value;
      if (Date.now() > deadline) throw new Error(`never true: ${test} of ${argument}`);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
  };
  await wait((of) => document.querySelector(of) !== null, ready);
  return {
    requests,
    complaints,
    wait,
    evaluate: (test, argument) => page.evaluate(test, argument),
    text: (selector) => page.evaluate((of) => document.querySelector(of)?.innerText ?? "", selector),
    move: (x, y) => page.mouse.move(x, y),
    click: (x, y) => page.mouse.click(x, y),
    press: (key) => page.keyboard.press(key),
    wheel: own.wheel,
    close: own.close,
    /** Waits until the timeline has what it asked for. */
    settled: () =>
      wait(async () => {
        const frames = window.tidegaugeStats?.frames ?? 0;
        await new Promise((resolve) => setTimeout(resolve, 300));
        const stats = window.tidegaugeStats;
        return stats?.frames === frames && frames > 0 && stats.tiles > 0 && stats.waiting === 0;
      }),
    box: (selector) =>
      page.evaluate((of) => {
        const { x, y, width, height } = document.querySelector(of).getBoundingClientRect();
        return { x, y, width, height };
      }, selector),
    param: (name, test) =>
      wait(
        ([key, source]) => {
          const query = new URLSearchParams(location.hash.split("?")[1] ?? "");
          return new Function("value", `return (${source})(value)`)(query.get(key)) && (query.get(key) ?? "none");
        },
        [name, String(test)],
      ),
  };
}
