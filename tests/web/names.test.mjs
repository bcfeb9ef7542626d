// Tensors that the program named: in the inspector, in the table, by the search, in an exported page.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  ask, assert, axeComplaints, describe, generate, it, openPage, opened, run, use, whyNot,
} from "./harness.mjs";

const skip = whyNot();
const folder = mkdtempSync(join(tmpdir(), "names-"));

/** Until the inspector says that. */
function inspected(page, text) {
  return page.waitForFunction((of) => document.querySelector(".ins")?.innerText.includes(of), text);
}

describe("named tensors", { skip, timeout: 600_000 }, () => {
  const file = join(folder, "named.pickle");
  const here = opened(() => {
    generate(file, "--events", "400", "--live", "20", "--names");
    return [file];
  });

  // The table's row of a tensor: its columns by name.
  async function rowOf(page, name) {
    const answer = await ask(page, "table?name=tensors&sort=block_bytes&limit=1000");
    const cells = answer.rows.find((row) => row[1] === name);
    return Object.fromEntries(answer.columns.map((column, i) => [column.name, cells[i]]));
  }

  it("are in the inspector of their block, tied weights both", () =>
    use(here.browser, here.at("#timeline"), async (page) => {
      const row = await rowOf(page, "head.weight");
      await page.goto(here.at(`#timeline?sel=${row.allocation}`));
      await inspected(page, "layers.0.weight");
      const text = await page.locator(".ins").innerText();
      assert.match(text, /2 tensors/i);
      assert.match(text, /head\.weight/);
      assert.ok(text.includes(row.shape), text);
      assert.match(text, /bfloat16/);
      assert.deepEqual(await axeComplaints(page), []);
    }));

  it("have a table, and a row of it selects its block", () =>
    use(here.browser, here.at("#tables?table=tensors"), async (page) => {
      await page.waitForSelector(".grid tbody tr.picks");
      assert.match(await page.locator(".viewhead .sub").innerText(), /named tensors/);
      await page.locator(".grid tbody tr.picks").first().click();
      await inspected(page, "Shape, type");
    }));

  it("are found by the search", () =>
    use(here.browser, here.at("#timeline"), async (page) => {
      const found = await ask(page, "search?q=exp_avg%20layers.0");
      assert.equal(found.count, 1);
    }));

  it("are in an exported page", async () => {
    const out = join(folder, "page.html");
    const done = run(["export", file, "--to", "html", "-o", out]);
    assert.equal(done.status, 0, done.stderr);
    // the page holds details of the largest blocks
    const sql =
      "SELECT id, tensor FROM allocations WHERE tensor IS NOT NULL ORDER BY block_bytes DESC LIMIT 1";
    const [id, name] = run(["query", file, sql, "--format", "csv"]).stdout.split(/\r?\n/)[1].split(",");
    const page = await openPage(here.browser, `file://${out}#timeline?sel=${id}`);
    await inspected(page, name);
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  });
});
