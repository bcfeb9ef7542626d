// What grows, stays and churns, as people look for it: see harness.mjs for what it needs.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  ask, assert, axeComplaints, describe, example, generate, it, opened, use, waitForParam, whyNot,
} from "./harness.mjs";

const skip = whyNot();

function leaking() {
  const path = join(mkdtempSync(join(tmpdir(), "growth-")), "leak.pickle");
  generate(path, "--workload", "train", "--leak", "1MiB", "--events", "6000", "--annotations");
  return path;
}

describe("growth", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [leaking(), example("annotated.pickle.zst")]);
  const { at } = here;

  it("names the leak, its size and since when, with the query that says so", () =>
    use(here.browser, at("#growth"), async (page) => {
      await page.waitForSelector(".growthlist tbody tr");
      const { growth } = await ask(page, "growth?file=0&device=0");
      assert.equal(growth.rows.length, 1);
      assert.equal(growth.rows[0].per_step_bytes, 1 << 20);
      assert.equal(await page.locator(".growthlist tbody tr").count(), 1);
      assert.match(await page.locator(".growthlist tbody tr").innerText(), /1\.0\s*MiB/);
      assert.match(await page.locator(".sentences").innerText(), /held 1\.0 MiB more after each ProfilerStep/);
      assert.equal(await page.locator(".growthlist svg.spark path").count(), 1);
      assert.deepEqual(await axeComplaints(page), []);
      await page.locator(".sentences a").first().click();
      await page.waitForFunction(() => location.hash.startsWith("#sql"));
    }));

  it("a row selects its block, and leads to the pictures", () =>
    use(here.browser, at("#growth"), async (page) => {
      await page.locator(".growthlist .rowbtn").first().click();
      const { growth } = await ask(page, "growth?file=0&device=0");
      const chosen = growth.rows[0].example_allocation_id;
      assert.equal(Number(await waitForParam(page, "sel", Boolean)), chosen);
      await page.waitForSelector(".side h3");
      await page.getByRole("link", { name: "Flame", exact: true }).last().click();
      await page.waitForFunction(() => location.hash.startsWith("#flame"));
      assert.match(page.url(), /flame=growth/);
      assert.match(page.url(), /span=/);
    }));

  it("turns through its lists by key, each readable by anybody", () =>
    use(here.browser, at("#growth"), async (page) => {
      await page.waitForSelector(".growthlist tbody tr");
      for (const name of ["Never freed", "Churn", "Growing"]) {
        await page.keyboard.press("m");
        await page.waitForSelector(`.viewhead button[aria-pressed=true]:text-is("${name}")`);
        await page.waitForSelector(".growthlist tbody tr");
        assert.deepEqual(await axeComplaints(page), []);
      }
    }));

  it("fills the status bar and the inspector as soon as its answer is there", () =>
    use(here.browser, at("#overview"), async (page) => {
      // both wait while the view's own answer does
      let release;
      const held = new Promise((resolve) => {
        release = resolve;
      });
      await page.route("**/api/growth*", async (route) => {
        await held;
        await route.continue();
      });
      await page.goto(at("#growth"));
      await page.reload();
      await page.getByText("checking the sums of this device").waitFor();
      await page.getByText("Live memory appears once the view has loaded.").waitFor();
      release();
      await page.getByText(/Active .* at the peak = allocated/).waitFor();
      await page.getByText("Live after this step").waitFor();
      assert.equal(await page.getByText("checking the sums").count(), 0);
    }));

  it("says why growth is unknown for a short recording", () =>
    use(here.browser, at("#growth?file=1"), async (page) => {
      await page.waitForSelector(".sentences");
      const { growth } = await ask(page, "growth?file=1");
      assert.notEqual(growth.verdict, "told");
      const sentence =
        "Growth cannot be detected. The recording marks no steps, and the program reused its memory only 1.9 times. At least 5 times are needed, because memory always grows within a step.";
      await page.locator(".sentences li", { hasText: sentence }).waitFor();
      assert.equal(await page.locator(".sentences li span", { hasText: "Growth cannot" }).innerText(), sentence);
    }));

  it("has its sentence in the overview", () =>
    use(here.browser, at("#overview"), async (page) => {
      await page.waitForSelector("text=more after each ProfilerStep");
    }));
});
