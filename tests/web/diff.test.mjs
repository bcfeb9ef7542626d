// Two recordings compared in the page: the same numbers as the program prints, rows that lead to both
// pictures, places that can be chosen. Run by `npm run test:browser` in web/; see harness.mjs.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  after, ask, assert, axeComplaints, describe, expectRefusals, generate, hashOf, it, opened, run,
  settled, shared, use, waitForParam, whyNot, withoutFile,
} from "./harness.mjs";

const skip = whyNot();
const RANKS = [shared("fsdp-oom-rank0.pickle.zst"), shared("fsdp-oom-rank1.pickle.zst")];
const folder = mkdtempSync(join(tmpdir(), "tidegauge-diff-"));
const [BEFORE, AFTER] = [join(folder, "before.pickle"), join(folder, "after.pickle")];
after(() => rmSync(folder, { recursive: true, force: true }));

const rowsOf = (page) =>
  page.locator(".diffrows tbody tr").evaluateAll((all) =>
    all.map((row) => ({
      key: row.dataset.key,
      cells: [...row.querySelectorAll("td")].map((cell) => cell.textContent),
      selected: row.getAttribute("aria-selected") === "true",
    })),
  );

async function ready(page) {
  await page.waitForSelector(".diffrows tbody tr");
  await page.waitForFunction(() => !document.querySelector(".diffbody.stale"));
}

describe("two recordings", { skip }, () => {
  const here = opened(() => {
    generate(BEFORE, "--events", "400", "--seed", "3");
    generate(AFTER, "--events", "600", "--seed", "4");
    return [BEFORE, AFTER];
  });
  const at = here.at;

  it("shows the rows, sums and the verdict that the program prints", () =>
    use(here.browser, at("#diff"), async (page) => {
      await ready(page);
      const printed = JSON.parse(run(["diff", BEFORE, AFTER, "--json"]).stdout);
      const answer = await ask(page, "diff?file=0&file_b=1");
      assert.equal(answer.total.change_bytes, printed.total.change_bytes);
      assert.equal(
        answer.rows.reduce((sum, row) => sum + row.change_bytes, 0),
        answer.total.b_bytes - answer.total.a_bytes,
        "the identity",
      );
      assert.equal(await page.locator(".diffverdict b").innerText(), printed.verdict);
      const rows = await rowsOf(page);
      assert.equal(rows.length, printed.rows.length);
      const changes = await page
        .locator(".diffrows tbody td:nth-child(5)")
        .evaluateAll((all) => all.map((cell) => cell.title));
      assert.deepEqual(
        changes.map((text) => Number(text.replace("−", "-").replaceAll(/[, B]/g, ""))),
        printed.rows.map((row) => row.change_bytes),
      );
      assert.deepEqual(
        rows.map(({ cells }) => cells.at(-1)),
        printed.rows.map((row) => row.change),
      );
      await page.locator(".diffverdict .btn").click();
      assert.equal(await page.locator(".diffverdict li").count(), printed.particulars.length);
    }));

  it("changes sign when A and B are exchanged", () =>
    use(here.browser, at("#diff"), async (page) => {
      await ready(page);
      const before = await ask(page, "diff?file=0&file_b=1");
      await page.keyboard.press("e");
      await waitForParam(page, "file", (now) => now === "1");
      await ready(page);
      assert.equal(hashOf(page).params.get("vs"), "0/0");
      const after = await ask(page, "diff?file=1&file_b=0");
      assert.equal(after.total.change_bytes, -before.total.change_bytes);
      await page.waitForFunction(
        (text) => document.querySelector(".diffverdict b")?.textContent === text,
        after.verdict,
      );
    }));

  it("takes rows by category, size and segment; the reserved total is that of segments", () =>
    use(here.browser, at("#diff"), async (page) => {
      await ready(page);
      for (const by of ["category", "size", "segment"]) {
        await page.keyboard.press("m");
        await waitForParam(page, "by", (now) => now === by);
        await page.waitForFunction((of) => document.querySelector("tr[data-key]")?.dataset.key.startsWith(`${of} `), by);
        const answer = await ask(page, `diff?file=0&file_b=1&by=${by}`);
        assert.equal((await rowsOf(page)).length, answer.rows.length);
        assert.ok(answer.total.adds_up, by);
      }
      assert.match(await page.locator(".diffsums").innerText(), /Reserved/);
    }));

  it("marks a chosen row in both timelines and leads to each of them", () =>
    use(here.browser, at("#diff?pic=lanes"), async (page) => {
      await ready(page);
      await settled(page);
      const answer = await ask(page, "diff?file=0&file_b=1");
      const both = answer.rows.findIndex(
        (row) => row.a_stack_ids.length > 0 && row.b_stack_ids.length > 0,
      );
      assert.ok(both >= 0, "some stack is in both");
      const filtered = ["a", "b"].map((side, file) => {
        const ids = answer.rows[both][`${side}_stack_ids`].join("%2C");
        return page.waitForResponse((response) =>
          response.url().includes(`tile?file=${file}`) && response.url().includes(`filter=stack_id%3A${ids}`),
        );
      });
      await page.locator(".diffrows tbody tr").nth(both).click();
      for (const response of filtered) assert.equal((await response).status(), 200);
      await waitForParam(page, "row", Boolean);
      assert.ok((await rowsOf(page))[both].selected);
      assert.equal(await page.locator(".difflinks a").count(), 2);
      await page.keyboard.press("ArrowDown");
      const next = await waitForParam(page, "row", (now) => now === null || now !== "");
      assert.ok(next !== "");
      await page.keyboard.press("Escape");
      await waitForParam(page, "row", (now) => now === null);
      await page.locator(".diffrows tbody tr").nth(both).click();
      await page.getByRole("link", { name: /B’s timeline/ }).click();
      await page.waitForSelector("#timeline");
      assert.equal(hashOf(page).params.get("file"), "1");
      assert.match(hashOf(page).params.get("filter"), /^stack_id:/);
    }));

  it("compares where a lane was pressed", () =>
    use(here.browser, at("#diff?pic=lanes"), async (page) => {
      await ready(page);
      await settled(page);
      const box = await page.locator("#difflanes").boundingBox();
      await page.mouse.click(box.x + box.width * 0.3, box.y + 30);
      const pa = await waitForParam(page, "pa", Boolean);
      assert.match(pa, /^step:\d+$/);
      assert.equal(hashOf(page).params.get("pb"), "peak", "B stays where it was");
      await ready(page);
      await page.waitForFunction(() => /A at step/.test(document.querySelector(".diffverdict b")?.textContent));
      await page.goBack();
      await waitForParam(page, "pa", (now) => now === null);
    }));

  it("draws the difference as a flame that zooms, by size or by change", () =>
    use(here.browser, at("#diff"), async (page) => {
      await page.waitForSelector("#diffflame");
      const answer = await ask(page, "diff_flame?file=0&file_b=1");
      const { bytes, minus_bytes, same_bytes } = answer.tree;
      const rows = await ask(page, "diff?file=0&file_b=1");
      assert.equal(same_bytes[0] + minus_bytes[0], rows.total.a_bytes);
      assert.equal(same_bytes[0] + bytes[0], rows.total.b_bytes);
      await page.locator("#diffflame").focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      await page.waitForSelector(".tip.on");
      assert.match(await page.locator(".tip.on").innerText(), /A, B/);
      await page.keyboard.press("Enter");
      await waitForParam(page, "way", Boolean);
      const asked = page.waitForResponse((response) => response.url().includes("width=change"));
      await page.keyboard.press("b");
      assert.equal((await asked).status(), 200);
      await waitForParam(page, "way", (now) => now === null);
    }));

  it("finds rows by name, and says when none matches", () =>
    use(here.browser, at("#diff"), async (page) => {
      await ready(page);
      const all = (await rowsOf(page)).length;
      await page.keyboard.press("p");
      await page.keyboard.type("/nothing is called so/");
      await page.getByText(/None of \d+ rows matches/).waitFor();
      await page.getByRole("button", { name: "Show all" }).click();
      assert.equal((await rowsOf(page)).length, all);
    }));

  it("says beside the field what is wrong with an expression", () =>
    use(here.browser, at("#diff"), async (page) => {
      await ready(page);
      const all = (await rowsOf(page)).length;
      await page.keyboard.press("p");
      await page.keyboard.type("/attention(/");
      await page.getByText("Invalid regular expression: Unterminated group. All rows are shown.").waitFor();
      assert.equal(await page.locator("#diff-find").getAttribute("aria-invalid"), "true");
      assert.equal((await rowsOf(page)).length, all);
      assert.deepEqual(await axeComplaints(page), []);
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => document.querySelector("#diff-find-note")?.textContent === "");
    }));

  it("names the device of each", () =>
    use(here.browser, at("#diff"), async (page) => {
      await ready(page);
      const [a, b] = await page.locator(".diffpick").allInnerTexts();
      assert.match(a, /^A\s+before\.pickle\s+cuda:0/);
      assert.match(b, /^B\s+after\.pickle\s+cuda:0/);
    }));

  it("says what of a link is not there", () =>
    use(here.browser, at("#diff?vs=7/0"), async (page) => {
      await ready(page);
      assert.match(await page.locator("main").innerText(), /compares with recording 7\/0, which is not open/);
      assert.equal(hashOf(page).params.get("vs"), null);
    }));

  it("says in words that a place is not there", () =>
    use(here.browser, at("#diff"), async (page) => {
      await ready(page);
      expectRefusals(page);
      await page.goto(at("#diff?pa=phase%3Anone"));
      await page.getByText(/has no step, time or annotation/).waitFor();
      await page.getByRole("button", { name: "Compare at the peaks" }).click();
      await ready(page);
    }));

  for (const [theme, width, height] of [
    ["dark", 1440, 900],
    ["light", 1024, 700],
  ]) {
    it(`is usable by all, ${theme}, ${width} × ${height}`, () =>
      use(
        here.browser,
        at("#diff"),
        async (page) => {
          await ready(page);
          assert.deepEqual(await axeComplaints(page), []);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, "nothing is wider than the window");
          await page.keyboard.press("v");
          await settled(page);
          assert.deepEqual(await axeComplaints(page), []);
        },
        { colorScheme: theme, viewport: { width, height } },
      ));
  }
});

describe("many recordings", { skip }, () => {
  const here = opened(() =>
    [0, 1, 2, 3, 4].map((rank) => {
      const path = join(folder, `rank${rank}.pickle`);
      generate(path, "--events", "500", "--seed", "7", ...(rank === 3 ? ["--oom"] : []));
      return path;
    }),
  );

  it("are compared with the odd one out, with the reason until B is chosen", () =>
    use(here.browser, here.at("#diff"), async (page) => {
      await ready(page);
      assert.match((await page.locator(".diffpick").allInnerTexts())[1], /^B\s+rank3\.pickle/);
      assert.match(await page.locator(".viewhead").innerText(), /B: the only one out of memory/);
      await page.locator(".diffpick").nth(1).click();
      await page.getByRole("option", { name: "rank1.pickle" }).click();
      assert.equal(await waitForParam(page, "vs", Boolean), "1/0");
      await ready(page);
      assert.doesNotMatch(await page.locator(".viewhead").innerText(), /B: the only/);
    }));

  it("give the first other file to the odd one", () =>
    use(here.browser, here.at("#diff?file=3"), async (page) => {
      await ready(page);
      assert.match((await page.locator(".diffpick").allInnerTexts())[1], /^B\s+rank0\.pickle/);
      assert.match(await page.locator(".viewhead").innerText(), /B: the first other file/);
    }));
});

describe("one recording", { skip }, () => {
  const here = opened(() => {
    generate(BEFORE, "--events", "400", "--seed", "3");
    return [BEFORE];
  });

  it("says what to do, and compares two places of it", () =>
    use(here.browser, here.at("#diff"), async (page) => {
      await page.getByText("One recording is open; a comparison needs two").waitFor();
      assert.match(await page.locator("main").innerText(), /tidegauge view before.pickle after.pickle/);
      assert.deepEqual(await axeComplaints(page), []);
      await page.getByRole("button", { name: "Compare its peak with its end" }).click();
      await ready(page);
      assert.equal(hashOf(page).params.get("pb"), "end");
      assert.match(await page.locator(".diffverdict b").innerText(), /A at the peak, B at the end/);
      await page.keyboard.press("v");
      await settled(page);
    }));
});

describe("ranks of one job", { skip: skip || withoutFile(RANKS[0]) }, () => {
  const here = opened(() => RANKS);

  it("are alike, and the page names the differences", () =>
    use(here.browser, here.at("#diff"), async (page) => {
      await ready(page);
      assert.equal(
        await page.locator(".diffverdict b").innerText(),
        "A and B are equal: 33.74 GiB and 33.74 GiB at the peak; all 26 stacks hold the same bytes.",
      );
      await page.locator(".diffverdict .btn").click();
      assert.match(await page.locator(".diffverdict ul").innerText(), /All 3,274 events are the same[\s\S]*A lasts 2.003 s, B 1.849 s/);
      await page.locator(".diffplace").click();
      await page.getByRole("option", { name: "Out of memory" }).click();
      await waitForParam(page, "pa", (now) => now === "oom");
      await page.waitForFunction(() => /at the out-of-memory event/.test(document.querySelector(".diffverdict b")?.textContent));
    }));
});
