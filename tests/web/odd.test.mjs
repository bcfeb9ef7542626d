// What the page does with files, links and queries that are not as they should be.
// Run by `npm run test:browser` in web/; see harness.mjs for what it needs.
import {
  after, assert, axeComplaints, describe, expectRefusals, hashOf, it, newPage, opened, quiet,
  settled, until, use, waitForParam, whyNot,
} from "./harness.mjs";
import { TURNED, writeOddFiles } from "./odd_files.mjs";

const skip = whyNot();
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/u;
const ENDLESS = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c";

async function typeQuery(page, sql) {
  await page.waitForSelector(".cm-content");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.type(sql);
}

const textOf = (page, selector) =>
  page.evaluate((at) => document.querySelector(at)?.textContent ?? "", selector);

async function waitForText(page, selector, pattern) {
  await page.waitForFunction(
    ([at, source]) => new RegExp(source).test(document.querySelector(at)?.textContent ?? ""),
    [selector, pattern.source],
  );
}

describe("odd files, links and queries", { skip, timeout: 600_000 }, () => {
  let files;
  const here = opened(() => {
    files = writeOddFiles();
    return files.paths;
  });
  const { at } = here;
  after(() => files?.remove());
  const file = (name, view, more = "") => at(`#${view}?file=${files.index[name]}${more}`);

  for (const view of ["overview", "timeline"]) {
    it(`says what a file without devices holds: ${view}`, () =>
      use(here.browser, file("nothing", view), async (page) => {
        await page.waitForSelector(".note-box");
        const text = await textOf(page, ".note-box");
        assert.match(text, /contains no device memory/);
        assert.match(text, /nothing\.json was read completely/);
        assert.match(text, /_record_memory_history/);
        assert.equal(await page.locator(".skeleton").count(), 0);
        await page.getByRole("link", { name: /import issue/ }).click();
        await waitForText(page, ".strip", /^1 row/);
      }));
  }

  it("shows the worst of several out-of-memory events, in every view", () =>
    use(here.browser, file("twoOoms", "timeline"), async (page) => {
      await settled(page);
      await waitForText(page, ".ins .big", /step 3/);
      assert.match(await textOf(page, ".ins"), /At the out-of-memory/);
      await page.keyboard.press("1");
      await waitForText(page, ".eyebrow", /step 3/);
    }));

  it("shows nothing of a file that hides or turns text round", () =>
    use(here.browser, file("turned", "overview"), async (page) => {
      await page.waitForSelector("h1.headline");
      const look = () =>
        page.evaluate(() => {
          const titles = [...document.querySelectorAll("[title],[aria-label]")];
          const attributes = titles.map((el) => `${el.title} ${el.getAttribute("aria-label")}`);
          return `${document.body.textContent} ${document.title} ${attributes.join(" ")}`;
        });
      const overview = await look();
      assert.ok(overview.includes("model\\u{202e}yp.tnrap"), "written out in letters");
      assert.doesNotMatch(overview, HIDDEN);
      await page.keyboard.press("2");
      await settled(page);
      await page.keyboard.press("ArrowUp");
      await page.waitForSelector(".ins .stack");
      assert.doesNotMatch(await look(), HIDDEN);
      await page.keyboard.press("/");
      await page.keyboard.type("tnrap");
      await page.waitForSelector(".hits [role=option]");
      assert.doesNotMatch(await look(), HIDDEN);
      await page.goto(file("turned", "sql", `&sql=${encodeURIComponent("SELECT stack_text FROM allocations")}`));
      await waitForText(page, ".strip", /^1 row/);
      assert.doesNotMatch(await textOf(page, ".results"), HIDDEN);
      assert.ok(TURNED.includes("\u202e"));
    }));

  it("bounds what thousands of open annotations put on the screen", () =>
    use(here.browser, file("unclosed", "timeline", "&at=1"), async (page) => {
      await settled(page);
      await waitForText(page, ".ins", /4,988 more nested/);
      assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) < 1500);
      await page.keyboard.press("1");
      await waitForText(page, ".ov", /the first 40 of 5,000 annotations/);
      assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) < 2500);
    }));

  it("distinguishes rows that have one label", () =>
    use(here.browser, file("alike", "overview"), async (page) => {
      await page.waitForSelector(".tablebox tbody tr");
      const rows = await page.locator(".tablebox tbody tr td.wide").allInnerTexts();
      assert.equal(rows.length, 3);
      assert.equal(new Set(rows).size, 3, rows.join(" | "));
    }));

  it("marks a match after letters of more than one byte where it is", () =>
    use(here.browser, file("umlauts", "timeline"), async (page) => {
      await settled(page);
      await page.keyboard.press("/");
      await page.keyboard.type("rechnen");
      await page.waitForSelector(".hits mark");
      assert.equal(await page.locator(".hits mark").first().innerText(), "rechnen");
    }));

  it("says why there is no time axis", () =>
    use(here.browser, file("sameTime", "timeline", "&axis=time"), async (page) => {
      await waitForText(page, ".linknotes", /Shown by steps, not by time: all events of cuda:0 have the same time/);
      await settled(page);
      assert.equal(await page.getByRole("button", { name: "Step", exact: true }).getAttribute("aria-pressed"), "true");
      assert.match(await page.getByRole("button", { name: "Time", exact: true }).getAttribute("title"), /same time/);
      assert.equal(hashOf(page).params.get("axis"), null);
    }));

  it("says what a link names and this page does not have", () =>
    use(here.browser, at("#nowhere?file=99&dev=7&x=9,1&colour=plaid&frobnicate=3"), async (page) => {
      await waitForText(page, ".linknotes", /The link names file 99/);
      const text = await textOf(page, ".linknotes");
      for (const part of ["“#nowhere”", "“x=9,1”", "“colour=plaid”", "“frobnicate=3”"]) assert.ok(text.includes(part), text);
      assert.equal(hashOf(page).params.get("file"), null);
      await page.getByRole("button", { name: "Close the notes" }).click();
      assert.equal(await textOf(page, ".linknotes"), "");
    }));

  it("says that a device, a step, a range or an allocation is not there", () =>
    use(here.browser, file("twoOoms", "timeline", "&dev=7"), async (page) => {
      await waitForText(page, ".linknotes", /device 7, which twoOoms\.json does not have/);
      await page.evaluate((hash) => {
        location.hash = hash;
      }, `#timeline?file=${files.index.twoOoms}&at=99999&x=1e9,2e9&sel=4711`);
      await waitForText(page, ".linknotes", /selects allocation 4,711; this file has 1 allocation/);
      const text = await textOf(page, ".linknotes");
      assert.match(text, /step 99,999; the last step is 3/);
      assert.match(text, /outside this recording/);
      await settled(page);
      // a link that fits clears the notes
      await page.locator(".rail a").first().click();
      assert.equal(await textOf(page, ".linknotes"), "");
    }));

  it("says when the query of a link marks nothing", () =>
    use(here.browser, file("alike", "timeline", "&mark=sql&sql=SELECT%20nonsense"), async (page) => {
      await waitForText(page, ".linknotes", /marks nothing.*nonsense/);
      expectRefusals(page);
    }));

  it("shows the error of a query that a link holds", () =>
    use(here.browser, file("alike", "sql", "&sql=SELECT%20nonsense"), async (page) => {
      await waitForText(page, ".sqlmain .note-box", /nonsense/);
      expectRefusals(page);
    }));

  it("cancels a query, and shows old rows as old while another runs", () =>
    use(here.browser, file("alike", "sql", "&sql=SELECT%20id%20FROM%20allocations"), async (page) => {
      await waitForText(page, ".strip", /^3 rows/);
      await typeQuery(page, ENDLESS);
      await page.keyboard.press("Control+Enter");
      await waitForText(page, ".strip", /Running/);
      assert.equal(await page.locator(".results.stale[aria-busy=true]").count(), 1);
      assert.ok(await page.getByRole("button", { name: "CSV" }).isDisabled());
      assert.ok(await page.getByRole("button", { name: "Show in timeline" }).isDisabled());
      await page.getByRole("button", { name: "Cancel" }).click();
      await waitForText(page, ".strip", /was cancelled/);
      assert.equal(await page.locator(".results").count(), 0);
      // and the server is free for the next
      await typeQuery(page, "SELECT id FROM allocations LIMIT 2");
      await page.keyboard.press("Control+Enter");
      await waitForText(page, ".strip", /^2 rows/);
    }));

  it("says that there is no query, and closes the suggestions when one runs", () =>
    use(here.browser, file("alike", "sql"), async (page) => {
      await typeQuery(page, " ");
      await page.keyboard.press("Control+Enter");
      await waitForText(page, ".sqlmain .note-box", /There is no query/);
      await typeQuery(page, "SELECT id FROM allocations WHERE allo");
      const open = () =>
        page.evaluate(() => document.querySelector(".shadowhost").shadowRoot.querySelector(".cm-tooltip-autocomplete") !== null);
      assert.ok(await until(open, 10_000), "suggestions while typing");
      await page.keyboard.press("Control+Enter");
      await page.waitForSelector(".sqlmain .note-box");
      assert.equal(await open(), false);
      expectRefusals(page);
    }));

  it("types brackets round a selection without an inline style", () =>
    use(here.browser, file("alike", "sql"), async (page) => {
      await typeQuery(page, "SELECT 1");
      await page.keyboard.press("Control+A");
      await page.keyboard.type("(");
      assert.equal((await waitForParam(page, "sql", (now) => now?.startsWith("("))) ?? "", "(SELECT 1)");
      await page.keyboard.press("Control+A");
      await page.keyboard.type("x");
      await waitForParam(page, "sql", (now) => now === "x");
    }));

  it("offers columns that SELECT * leaves out, and shows addresses as they are read elsewhere", () =>
    use(here.browser, file("alike", "sql", "&sql=SELECT%20address%2C%20stack_text%20FROM%20allocations%20LIMIT%201"), async (page) => {
      await waitForText(page, ".strip", /^1 row/);
      const names = await page.locator(".schema .col").allInnerTexts();
      assert.ok(names.some((name) => name.startsWith("stack_text")), names.join(" "));
      assert.match(await textOf(page, ".results tbody"), /0x7f0000000000.*functional\.py:10 relu \+ 1 line/);
    }));

  it("goes where the letters say that were typed last, however fast Enter comes", () =>
    use(here.browser, file("alike", "timeline"), async (page) => {
      await settled(page);
      await page.keyboard.press("/");
      await page.keyboard.type("relu");
      await page.waitForSelector(".hits [role=option]");
      await page.keyboard.press("Control+A");
      await page.keyboard.type("nothing-is-called-this");
      await page.keyboard.press("Enter");
      await waitForParam(page, "q", (now) => now === "nothing-is-called-this");
      await quiet(page);
      assert.equal(hashOf(page).params.get("sel"), null, "not the hit of the letters before");
    }));

  it("keeps the focus in the picture when what had it is gone", () =>
    use(here.browser, file("alike", "timeline", "&at=3"), async (page) => {
      await settled(page);
      const focused = () => page.evaluate(() => document.activeElement.id);
      await page.getByRole("button", { name: "Select", exact: true }).click();
      await waitForParam(page, "sel", Boolean);
      assert.equal(await focused(), "timeline");
      await page.getByRole("button", { name: "Clear selection" }).click();
      await waitForParam(page, "sel", (now) => now === null);
      assert.equal(await focused(), "timeline");
      await page.locator(".legendbar .lg").first().focus();
      await page.keyboard.press("ArrowUp");
      await waitForParam(page, "sel", Boolean);
      assert.equal(await focused(), "timeline");
    }));

  it("asks first for what the first picture needs", async () => {
    const page = await newPage(here.browser);
    try {
      const asked = [];
      page.on("request", (request) => {
        const found = /api\/(\w+)/.exec(request.url());
        if (found) asked.push(found[1]);
      });
      await page.goto(file("twoOoms", "timeline"));
      await settled(page);
      await page.waitForSelector(".status .okc");
      const first = (name) => asked.indexOf(name);
      assert.equal(first("session"), 0);
      for (const later of ["overview", "at", "legend", "annotations"]) {
        assert.ok(first(later) > first("tile"), `${later} before the first tile: ${asked}`);
        assert.ok(first(later) > first("lines"), `${later} before the lines: ${asked}`);
      }
      assert.equal(asked.filter((name) => name === "at").length, 1, `${asked}`);
    } finally {
      await page.context().close();
    }
  });

  for (const colorScheme of ["light", "dark"]) {
    for (const [name, hash, wait] of [
      ["a file without devices", "#overview?file=0", ".note-box"],
      ["notes about a link", "#timeline?file=5&at=77777&zoom=1", ".linknotes li"],
      ["an error of SQL", "#sql?file=5&sql=SELECT%20nonsense", ".sqlmain .note-box"],
      ["rows that are alike", "#overview?file=5", ".tablebox tbody tr"],
    ]) {
      it(`has nothing for axe to complain about: ${name}, ${colorScheme}`, () =>
        use(
          here.browser,
          at(hash),
          async (page) => {
            await page.waitForSelector(wait);
            if (hash.startsWith("#timeline")) await settled(page);
            assert.deepEqual(await axeComplaints(page), []);
            expectRefusals(page);
          },
          { colorScheme },
        ));
    }
  }
});
