// Out of memory: the verdict, the sum that proves it, what fits, who pins, what to try.
// Run by `npm run test:browser` in web/; see harness.mjs for what it needs.
import {
  ask, assert, axeComplaints, describe, example, FSDP, hashOf, it, opened, shared, use,
  waitForParam, whyNot, withoutFile,
} from "./harness.mjs";

const skip = whyNot();
const GPUS = shared("three-gpus-expandable-oom.pickle.zst");

const ready = (page) => page.waitForSelector(".oom .sumbar");
const textOf = async (page, selector) => {
  const text = await page.locator(selector).first().innerText();
  return text.replace(/\s+/g, " ");
};

describe("out of memory", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [example("oom.pickle.zst"), example("two_gpus.pickle.zst")]);
  const { at } = here;

  it("says why, with a sum that adds up, and marks the list that was searched", () =>
    use(here.browser, at("#oom?file=0"), async (page) => {
      await ready(page);
      const { ooms, ordinal } = (await ask(page, "session")).files[0].devices[0];
      assert.ok(ooms.length > 1);
      const worst = ooms.reduce((a, b) =>
        b.requested_bytes - b.device_free_bytes > a.requested_bytes - a.device_free_bytes ? b : a,
      );
      const story = await ask(page, `oom?file=0&device=${ordinal}&step=${worst.step}`);
      const { sum, rows } = story.verdict;
      assert.equal(sum.live_bytes + sum.free_bytes, sum.reserved_bytes);
      assert.equal(sum.reserved_bytes + sum.driver_bytes, sum.ceiling_bytes);
      assert.ok(rows.length > 0);
      assert.ok((await textOf(page, ".oom .story")).includes(rows[0].text));
      assert.match(await textOf(page, ".oom"), /Sum check adds up exactly/);
      assert.equal(await page.locator(".oom tr.own").count(), 1);
      // Once the replay has answered: first what it proves, last what it disproves.
      await page.waitForSelector("#advice .replayed");
      const { advice } = await ask(page, `proof?file=0&device=${ordinal}&step=${worst.step}`);
      assert.deepEqual(
        await page.locator("#advice .advice > li > p:first-child").allInnerTexts(),
        advice.map((one) => one.text),
      );
      const helps = advice.map((one) => one.replayed?.helps);
      assert.equal(helps[0], true);
      assert.equal(helps.at(-1), false);
      assert.match(await textOf(page, "#advice"), /What does not help/);
      assert.match(await textOf(page, "#advice"), /PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True/);
      assert.ok(story.advice.length > 0);
    }));

  it("goes from event to event; the URL holds it", () =>
    use(here.browser, at("#oom?file=0"), async (page) => {
      await ready(page);
      const { ooms } = (await ask(page, "session")).files[0].devices[0];
      await page.keyboard.press("[");
      await page.keyboard.press("[");
      await page.keyboard.press("[");
      const first = String(ooms[0].step);
      assert.equal(await waitForParam(page, "at", (now) => now === first), first);
      await page.waitForFunction(() =>
        document.querySelector(".viewhead .pick")?.textContent?.includes("1 of"),
      );
      await page.keyboard.press("]");
      assert.notEqual(await waitForParam(page, "at", (now) => now !== first), first);
    }));

  it("leads to the piece and to the block that pins, in State", () =>
    use(here.browser, at("#oom?file=0"), async (page) => {
      await ready(page);
      await page.locator(".oom a[title='Show its segment in State']").first().click();
      await page.waitForSelector(".segrow:not(.head) canvas");
      assert.ok((await hashOf(page)).params.get("seg") !== null);
      await page.goBack();
      await ready(page);
      await page.locator(".oom a[title='Show the oldest block in State']").first().click();
      await page.waitForSelector(".segrow:not(.head) canvas");
      assert.ok((await hashOf(page)).params.get("sel") !== null);
    }));

  it("says so where a device never ran out", () =>
    use(here.browser, at("#oom?file=1"), async (page) => {
      await page.waitForSelector(".note-box");
      assert.match(await textOf(page, ".note-box"), /never ran out of memory/);
    }));

  it("is linked from the story of the overview, which says what to try", () =>
    use(here.browser, at("#overview?file=0"), async (page) => {
      await page.waitForSelector(".story .go");
      assert.ok((await page.locator("#advice .advice > li").count()) > 0);
      await page.locator(".story .go", { hasText: "Out of memory" }).first().click();
      await ready(page);
    }));

  it("can be used by everyone, in both themes and in little room", () =>
    use(here.browser, at("#oom?file=0"), async (page) => {
      await ready(page);
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await axeComplaints(page), []);
      }
      await page.setViewportSize({ width: 1024, height: 700 });
      const wide = await page.evaluate(() => {
        const body = document.querySelector(".body");
        return body.scrollWidth - body.clientWidth;
      });
      assert.ok(wide <= 0, `${wide} px too wide`);
    }));
});

describe("out of memory in real files", { skip, timeout: 600_000 }, () => {
  const missing = withoutFile(FSDP) || withoutFile(GPUS);
  const here = opened(() => (missing ? [example("oom.pickle.zst")] : [FSDP, GPUS]));

  it("fragmentation: 166 MiB short", { skip: missing }, () =>
    use(here.browser, here.at("#oom?file=0"), async (page) => {
      await ready(page);
      const story = await textOf(page, ".oom .story");
      assert.match(story, /Fragmentation\. 807 MiB were in 27 free ranges/);
      assert.match(story, /A new segment needed 166 MiB more/);
      assert.match(await textOf(page, "#advice"), /expandable_segments:True/);
    }));

  it("capacity: no setting helps", { skip: missing }, () =>
    use(here.browser, here.at("#oom?file=1&dev=1"), async (page) => {
      await ready(page);
      assert.match(await textOf(page, ".oom .story"), /Capacity\. Even if all free memory were one range/);
      const advice = await textOf(page, "#advice");
      assert.match(advice, /No allocator setting helps/);
      assert.doesNotMatch(advice, /Try expandable_segments/);
    }));
});
