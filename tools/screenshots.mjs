// Takes the pictures of docs/use/views.md: every view in both themes, of the examples.
//
//   TIDEGAUGE_BINARY=build/release/tidegauge node tools/screenshots.mjs [VIEW…]
//
// Needs what the browser tests need (tests/web/harness.mjs). Look at what it wrote, and make it small
// (pngquant --quality 60-95), before committing.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { example, generate, makeLive, openPage, startBrowser, startServer, whyNot } from "../tests/web/harness.mjs";

const OUT = fileURLToPath(new URL("../docs/images/", import.meta.url));
// Their places in the list of files.
const OOM = 0;
const RANK = 1;
const LEAK = 4;
const LIVE = 5;
const SQL = `SELECT s.label AS allocated_by, count(*) AS blocks, sum(a.block_bytes) AS bytes
FROM live_at(0, 20000) AS a JOIN stacks AS s ON s.id = a.stack_id
GROUP BY a.stack_id ORDER BY bytes DESC`;

const VIEWS = {
  overview: `#overview?file=${OOM}`,
  timeline: `#timeline?file=${OOM}&x=19000,23000&at=20000`,
  map: `#map?file=${OOM}&x=0,8000`,
  state: `#state?file=${OOM}&at=20000`,
  flame: `#flame?file=${OOM}&flame=peak`,
  lanes: `#lanes?file=${RANK}&at=12000`,
  diff: `#diff?file=${RANK}&vs=${RANK + 2}/0`,
  oom: `#oom?file=${OOM}&at=36503`,
  growth: `#growth?file=${LEAK}`,
  fragmentation: `#fragmentation?file=${OOM}&at=20000&fit=33554432`,
  live: `#live?file=${LIVE}&proc=0`,
  tables: `#tables?file=${OOM}&table=stacks`,
  sql: `#sql?file=${OOM}&sql=${encodeURIComponent(SQL)}`,
  "what-if": `#what-if?file=${OOM}`,
  filters: `#timeline?file=${OOM}&x=19000,23000&colour=category&filter=category:activations`,
};

const reason = whyNot();
if (reason) {
  console.error(`screenshots: ${reason}`);
  process.exit(1);
}
const wanted = process.argv.slice(2);
mkdirSync(OUT, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), "tidegauge-"));
const ranks = [1, 2, 3].map((seed) => join(folder, `rank${seed - 1}.pickle`));
ranks.forEach((path, i) => {
  generate(path, "--events", "20000", "--live", `${300 + 60 * i}`, "--seed", `${i + 1}`, "--annotations");
});
const leak = join(folder, "leak.pickle");
generate(leak, "--workload", "train", "--leak", "1MiB", "--events", "20000", "--annotations");
const recording = join(folder, "run.sqlite");
makeLive(recording);
const server = await startServer([example("oom.pickle.zst"), ...ranks, leak, recording]);
const browser = await startBrowser();
try {
  for (const [name, hash] of Object.entries(VIEWS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    for (const colorScheme of ["light", "dark"]) {
      const page = await openPage(browser, server.address + hash, {
        colorScheme,
        viewport: { width: 1440, height: 900 },
      });
      if (name === "sql") await page.getByRole("button", { name: /^Run/ }).click();
      await page.waitForLoadState("networkidle");
      await page.waitForTimeout(800);
      await page.screenshot({ path: `${OUT}${name}-${colorScheme}.png` });
      await page.context().close();
      console.log(`${name}-${colorScheme}.png`);
    }
  }
} finally {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true });
}
