// Opens a notebook in JupyterLab, runs it, and prints as JSON what its cells show.
//
//   node lab.mjs URL [SCREENSHOT]
//
// {"chosen": text, "marked": text, "trace": text, "svg": count, "frame": address, "page": text of the page in
// the frame, "errors": […]}
import { startBrowser } from "../../web/harness.mjs";

const [url, screenshot] = process.argv.slice(2);
const browser = await startBrowser();
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 1600 } });
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(url, { waitUntil: "domcontentloaded" });
  await page.waitForSelector(".jp-Notebook .jp-Cell", { timeout: 90_000 });
  await page.waitForFunction(() => document.body.innerText.includes("| Idle"), null, { timeout: 60_000 });
  await page.click(".jp-Notebook .jp-Cell .cm-content");
  await page.evaluate(() => window.jupyterapp.commands.execute("notebook:run-all-cells"));
  const frame = await page.waitForSelector("iframe[title^=Tidegauge]", { timeout: 60_000 }).catch(async (error) => {
    if (screenshot) await page.screenshot({ path: screenshot });
    throw error;
  });
  const shown = await frame.contentFrame();
  await shown.waitForSelector("main, [role=main], #root *", { timeout: 60_000 });
  await shown.waitForFunction(() => document.body.innerText.includes("GiB"), null, { timeout: 60_000 });
  // A click into the middle of the widget's curves, and one step to the right and back by the keys.
  const widget = await page.waitForSelector("svg[tabindex='0'] rect", { timeout: 60_000 });
  await widget.scrollIntoViewIfNeeded();
  const box = await widget.boundingBox();
  await page.mouse.click(box.x + (box.width * (84 + 784)) / 2 / 800, box.y + box.height / 2);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowLeft");
  const last = page.locator(".jp-Notebook .jp-CodeCell").last();
  await last.locator(".cm-content").click();
  await page.evaluate(() => window.jupyterapp.commands.execute("notebook:run-cell"));
  await page.waitForFunction(() => /chosen \d/.test(document.querySelector(".jp-Notebook").innerText), null, { timeout: 60_000 });
  const result = {
    chosen: (await last.locator(".jp-OutputArea-output").innerText()).trim(),
    marked: await page.evaluate(() => document.querySelector("svg[tabindex='0'] g text").textContent),
    trace: await page.evaluate(() => document.querySelector(".jp-OutputArea-output strong")?.innerText ?? ""),
    svg: await page.evaluate(() => document.querySelectorAll(".jp-OutputArea-output svg").length),
    frame: shown.url(),
    page: (await shown.evaluate(() => document.body.innerText)).slice(0, 4000),
    errors,
  };
  if (screenshot) await page.screenshot({ path: screenshot });
  console.log(JSON.stringify(result));
} finally {
  await browser.close();
}
