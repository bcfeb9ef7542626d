import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { bytesText } from "./units";

// The table that the engine's own test reads (tests/unit/base/human_bytes_test.cpp): the terminal
// and the page show the same text for the same bytes.
const table = new URL("../../../tests/data/human_bytes.tsv", import.meta.url);

describe("sizes", () => {
  it("are those of the table that the engine is tested with", () => {
    const rows = readFileSync(table, "utf8")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
    expect(rows.length).toBeGreaterThan(20);
    for (const row of rows) {
      const [bytes, text] = row.split("\t");
      expect(bytesText(Number(bytes)), row).toBe(text);
    }
  });
});
