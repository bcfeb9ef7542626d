// Other settings replayed: their table, the chosen one over the recording, what somebody writes. See harness.mjs
// for what it needs.
import {
  ask, assert, axeComplaints, describe, example, expectRefusals, it, opened, use, waitForParam,
  whyNot,
} from "./harness.mjs";

const skip = whyNot();
const rows = ".wilist tbody tr";

describe("what if", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [example("oom.pickle.zst"), example("fragmented.pickle.zst")]);
  const { at } = here;

  it("says what would have helped, and proves the recording first", () =>
    use(here.browser, at("#what-if"), async (page) => {
      await page.waitForSelector(rows);
      const data = await ask(page, "what_if?file=0&device=0&set=");
      assert.equal(data.verify.events_exact, data.verify.events_checked);
      assert.equal(data.best, "expandable_segments:True");
      assert.equal(await page.locator(rows).count(), data.candidates.length + 1);
      assert.match(await page.locator(".viewhead .tag").innerText(), /37,378 events proven/);
      assert.match(await page.locator(".sentences").innerText(), /The result is best with expandable_segments:True/);
      const first = await page.locator(rows).first().innerText();
      assert.match(first, /1\s+expandable_segments:True\s+no failure\s+5\.65\s*GiB/);
      assert.equal(await page.locator(`${rows}[aria-selected=true]`).count(), 1);
      assert.match(await page.locator(".wilist").innerText(), /as recorded/);
      for (const { reserved_line: line } of [data.own, ...data.candidates]) {
        assert.equal(line.length, 400);
        assert.equal(Math.max(...line) > 0, true);
      }
      assert.equal(Math.max(...data.own.reserved_line), data.own.peak_reserved_bytes);
      assert.deepEqual(await axeComplaints(page), []);
    }));

  it("draws the one that is chosen, by pointer and by key, and a link keeps it", () =>
    use(here.browser, at("#what-if"), async (page) => {
      await page.waitForSelector(rows);
      await page.locator(rows).nth(2).click();
      const conf = await waitForParam(page, "conf", Boolean);
      await page.waitForSelector(`.phead h2:text-is("${conf}")`);
      assert.match(await page.locator("canvas[role=img]").first().getAttribute("aria-label"), /Reserved bytes over 37,378 steps/);
      await page.keyboard.press("ArrowDown");
      const next = await waitForParam(page, "conf", (now) => now !== conf);
      await page.reload();
      await page.waitForSelector(`.phead h2:text-is("${next}")`);
    }));

  it("opens the chosen one as a recording, whose state can be stepped", () =>
    use(here.browser, at("#what-if"), async (page) => {
      await page.waitForSelector(rows);
      const { candidates } = await ask(page, "what_if?file=0&device=0&set=");
      await page.getByRole("button", { name: "Open as a recording" }).click();
      await page.waitForSelector('section[aria-label="State"]');
      assert.equal(await waitForParam(page, "file", Boolean), "2");
      const { files } = await ask(page, "session");
      assert.equal(files[2].name, "oom.pickle.zst under expandable_segments:True");
      assert.equal(files[2].devices[0].peak.reserved.bytes, candidates[0].peak_reserved_bytes);
      assert.equal(files[2].devices[0].ooms.length, candidates[0].ooms);
      const before = await waitForParam(page, "at", () => true).catch(() => null);
      await page.keyboard.press("ArrowLeft");
      assert.notEqual(await waitForParam(page, "at", (now) => now !== null && now !== before), before);
      assert.deepEqual(await axeComplaints(page), []);
      // It is one of the files from now on, and the same when it is asked for again.
      await page.goBack();
      await page.waitForSelector(rows);
      await page.getByRole("button", { name: "Open as a recording" }).click();
      await page.waitForSelector('section[aria-label="State"]');
      assert.equal((await ask(page, "session")).files.length, 3);
    }));

  it("says beside the advice what a replay of it would have done", () =>
    use(here.browser, at("#overview"), async (page) => {
      await page.waitForSelector("#advice .replayed");
      assert.match(await page.locator("#advice .replayed").first().innerText(), /In a replay with this setting, no request fails \(3 did\), and peak reserved memory is 5\.65 GiB or more/);
      assert.match(await page.locator("#advice .sentences").innerText(), /The replay reproduces all 37,378 events/);
      await page.locator('#advice .sentences a:text-is("What if")').click();
      await page.waitForSelector(rows);
    }));

  it("tries what somebody writes, and says why PyTorch would refuse it", () =>
    use(here.browser, at("#what-if"), async (page) => {
      await page.waitForSelector(rows);
      const before = await page.locator(rows).count();
      await page.fill("#wiset", "max_split_size_mb:200");
      await page.keyboard.press("Enter");
      await page.waitForFunction(
        ([of, count]) => document.querySelectorAll(of).length === count,
        [rows, before + 1],
      );
      await page.waitForSelector('.phead h2:text-is("max_split_size_mb:200")');
      expectRefusals(page);
      await page.fill("#wiset", "max_split_size_mb:5");
      await page.getByRole("button", { name: "Try" }).click();
      await page.getByText(/max_split_size_mb is “5”/).waitFor();
      await page.getByRole("button", { name: "Remove the setting" }).click();
      await page.waitForFunction(
        ([of, count]) => document.querySelectorAll(of).length === count,
        [rows, before],
      );
    }));

  it("asks about another card", () =>
    use(here.browser, at("#what-if?file=1"), async (page) => {
      await page.waitForSelector(rows);
      assert.match(await page.locator(".sentences").innerText(), /The file does not contain the size of the device/);
      await page.fill("#wicap", "4");
      await page.keyboard.press("Tab");
      assert.equal(await waitForParam(page, "cap", Boolean), String(4 * 2 ** 30));
      await page.waitForSelector(`${rows} .tag.is-danger`);
      const data = await ask(page, `what_if?file=1&device=0&set=&capacity=${4 * 2 ** 30}`);
      assert.equal(data.capacity_source, "given");
      assert.ok(data.own.ooms > 0);
      assert.match(await page.locator(".wilist").innerText(), /own settings/);
      await page.keyboard.press("t");
      assert.deepEqual(await axeComplaints(page), []);
    }));
});
