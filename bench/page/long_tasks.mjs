// How long the page keeps its thread while a recording is zoomed and dragged.
//
//   node bench/page/long_tasks.mjs --binary build/release/tidegauge FILE
//   … --view timeline --steps 60 --browser /usr/bin/chromium-headless-shell
//   … --page file:///…/bench/floors/empty_canvas.html      another page, without the program
//
// The picture is zoomed in by the wheel to single steps, dragged, and zoomed out, while the browser
// traces what its main thread does. A long task takes 50 ms or more. The table has elapsed time and
// processor time, because other programs make the first longer; and the processor time of script in a
// task, because without a GPU the rest is mostly software WebGL.
import { newPage, startBrowser, startServer, words } from "./pages.mjs";

const given = words({
  binary: "build/release/tidegauge",
  browser: "/usr/bin/chromium-headless-shell",
  view: "timeline",
  page: "",
  steps: "60",
});

/** Starts a trace; answers a function that ends it and returns the events of the page's main thread. */
async function trace(browser) {
  const session = await browser.newBrowserCDPSession();
  const events = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  const categories = ["devtools.timeline", "toplevel", "blink.user_timing", "__metadata"];
  const traceConfig = { includedCategories: categories, excludedCategories: ["*"] };
  await session.send("Tracing.start", { transferMode: "ReportEvents", traceConfig });
  return async () => {
    const complete = new Promise((done) => session.once("Tracing.tracingComplete", done));
    await session.send("Tracing.end");
    await complete;
    return mainThread(events);
  };
}

/** The renderer's main thread that ran the most script. */
function mainThread(events) {
  const by = new Map();
  for (const event of events) {
    if (event.ph !== "X") continue;
    const thread = `${event.pid}/${event.tid}`;
    if (!by.has(thread)) by.set(thread, []);
    by.get(thread).push(event);
  }
  const script = (list) => list.filter((one) => SCRIPT.has(one.name)).length;
  return [...by.values()].sort((a, b) => script(b) - script(a))[0] ?? [];
}

const SCRIPT = new Set(["FunctionCall", "EvaluateScript", "v8.run", "RunMicrotasks"]);

/** Tasks of a thread: elapsed and processor time, and that of the script in them, in ms. */
function tasksOf(events) {
  const within = (one, task) => one.ts >= task.ts && one.ts + one.dur <= task.ts + task.dur;
  const scripts = events.filter((one) => SCRIPT.has(one.name));
  return events
    .filter((one) => one.name.endsWith("RunTask") || one.name === "RunTask")
    .map((task) => {
      const inside = scripts.filter((one) => within(one, task));
      const outermost = inside.filter((one) => !inside.some((of) => of !== one && within(one, of)));
      const cpu = outermost.reduce((sum, one) => sum + (one.tdur ?? one.dur), 0);
      return { ms: task.dur / 1000, cpu: (task.tdur ?? task.dur) / 1000, script: cpu / 1000 };
    });
}

async function act(page) {
  const front = page.locator("main canvas.front");  // the last one is the minimap
  const box = await ((await front.count()) > 0 ? front : page.locator("main canvas")).last().boundingBox();
  const [x, y] = [box.x + box.width * 0.6, box.y + box.height * 0.6];
  await page.mouse.move(x, y);
  const wheel = async (delta) => {
    for (let i = 0; i < Number(given.steps); i += 1) {
      await page.mouse.wheel(0, delta);
      await page.waitForTimeout(30);
    }
  };
  await wheel(-240);
  await page.mouse.down();
  for (let i = 0; i < 40; i += 1) await page.mouse.move(x - i * 12, y + i * 2);
  await page.mouse.up();
  await wheel(240);
  await page.waitForTimeout(1500);
}

const server = given.page
  ? { address: given.page, stop: () => {} }
  : await startServer(given.binary, given.rest);
const browser = await startBrowser(given.browser);
try {
  const page = await newPage(browser);
  await page.goto(`${server.address}#${given.view}`);
  await page.waitForFunction(() => document.querySelector("main canvas") !== null);
  await page.waitForTimeout(3000);
  const end = await trace(browser);
  await act(page);
  const tasks = tasksOf(await end());
  const row = (name, of) => {
    const values = tasks.map(of).sort((a, b) => b - a);
    const long = values.filter((one) => one >= 50).length;
    const [most = 0, p99 = 0] = [values[0], values[Math.floor(values.length / 100)]];
    process.stdout.write(
      `${name.padEnd(32)}${String(long).padStart(6)}${most.toFixed(1).padStart(10)}` +
        `${p99.toFixed(1).padStart(10)}\n`,
    );
  };
  process.stdout.write(`${`${given.page ? "page" : given.view}: ${tasks.length} tasks, ms`.padEnd(32)}  long      most       p99\n`);
  row("elapsed", (one) => one.ms);
  row("processor time", (one) => one.cpu);
  row("processor time of script", (one) => one.script);
} finally {
  await browser.close();
  server.stop();
}
