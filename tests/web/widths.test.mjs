// The usable floor of 1024 × 700: heads that fit, controls that stay, texts that are not cut.
// Run by `npm run test:browser` in web/; see harness.mjs for what it needs.
import {
  assert, assertHeadFits, describe, example, FSDP, it, opened, shared, use, whyNot, withoutFile,
} from "./harness.mjs";

const skip = whyNot();
const THREE_GPUS = shared("three-gpus-expandable-oom.pickle.zst");
const NARROW = { viewport: { width: 1024, height: 700 } };
/** a view, what stands there once it has its answer, and buttons that must be there */
const VIEWS = [
  ["oom", ".sumlegend", []],
  ["fragmentation", ".forecast", ["Reserved", "Address space"]],
  ["growth", ".sentences", ["Growing", "Never freed", "Churn"]],
  ["what-if", ".wilist tbody tr", []],
  ["diff", ".diffrows tbody tr", ["Stack", "Category", "Size", "Segment"]],
  ["state", ".evrow .i", ["Shares", "To scale", /^Group/, /^Sort/, "Play"]],
];

/** Texts of the head, the notes and the events that end in "…" though they are no names of files. */
function cutTexts() {
  const out = [];
  for (const one of document.querySelectorAll(".viewhead *, .phead *, .tile *, .evrow *")) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || one.closest(".mono, .vh") || one.clientWidth === 0) continue;
    const inline = getComputedStyle(one).display === "inline";
    if (!inline && one.scrollWidth > one.clientWidth + 1) out.push(one.textContent);
  }
  return out;
}

async function assertFits(page, view, stands, buttons) {
  await page.waitForSelector(stands);
  await assertHeadFits(page);
  assert.deepEqual(await page.evaluate(cutTexts), [], view);
  for (const name of buttons) {
    const button = page.locator(".viewhead").getByRole("button", { name });
    assert.ok(await button.first().isVisible(), `${name} of ${view}`);
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= NARROW.viewport.width, `${view} is ${wide} wide`);
}

describe("narrow pages", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [example("oom.pickle.zst"), example("fragmented.pickle.zst")]);
  for (const [view, stands, buttons] of VIEWS) {
    it(`${view} fits`, () =>
      use(here.browser, here.at(`#${view}`), (page) => assertFits(page, view, stands, buttons), NARROW));
  }

  it("rows of events have one height, whatever happened", () =>
    use(here.browser, here.at("#state"), async (page) => {
      await page.waitForSelector(".evrow.is-oom");
      const heights = await page
        .locator(".evrow")
        .evaluateAll((rows) => [...new Set(rows.map((row) => row.getBoundingClientRect().height))]);
      assert.equal(heights.length, 1, `${heights}`);
    }));
});

describe("narrow pages of real files", { skip: skip || withoutFile(FSDP), timeout: 600_000 }, () => {
  const here = opened(() => [FSDP, THREE_GPUS]);
  for (const [view, stands, buttons] of VIEWS) {
    it(`${view} fits`, () =>
      use(here.browser, here.at(`#${view}`), (page) => assertFits(page, view, stands, buttons), NARROW));
  }
});
