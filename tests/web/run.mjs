// Runs the browser tests: each file in a process of its own, one after the other.
//
//   node run.mjs [FILE…]     default: all *.test.mjs beside this file
//
// A file that fails runs once more, and only the second result counts: a browser that shares two
// processors with a compiler is sometimes too slow. Each such file is named at the end ("second
// try: map.test.mjs"), so that one that is often there is looked at. A defect fails twice.
// The last line is "N passed, N failed, N skipped".
import { readdirSync } from "node:fs";
import path from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";

const folder = path.dirname(fileURLToPath(import.meta.url));

function allFiles() {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".test.mjs"))
    .sort()
    .map((name) => path.join(folder, name));
}

// The counts of one file: {passed, failed, skipped}.
function countsOf(results, file) {
  if (!results.has(file)) results.set(file, { passed: 0, failed: 0, skipped: 0 });
  return results.get(file);
}

async function runFiles(files) {
  const results = new Map();
  const stream = run({ files, concurrency: 1 });
  const take = (event, kind) => {
    if (event.details?.type === "suite") return;
    const counts = countsOf(results, event.file ?? files[0]);
    if (event.skip !== undefined) counts.skipped += 1;
    else counts[kind] += 1;
  };
  stream.on("test:pass", (event) => take(event, "passed"));
  stream.on("test:fail", (event) => take(event, "failed"));
  const shown = stream.compose(new spec());
  shown.pipe(process.stdout, { end: false });
  await new Promise((resolve) => shown.on("end", resolve));
  for (const file of files) countsOf(results, file);
  return results;
}

const named = process.argv.slice(2).map((name) => path.resolve(name));
const files = named.length > 0 ? named : allFiles();
const results = await runFiles(files);
const failed = files.filter((file) => {
  const counts = results.get(file);
  return counts.failed > 0 || counts.passed + counts.skipped === 0;
});
if (failed.length > 0) {
  for (const [file, counts] of await runFiles(failed)) results.set(file, counts);
}
const sum = { passed: 0, failed: 0, skipped: 0 };
for (const counts of results.values()) {
  for (const kind of Object.keys(sum)) sum[kind] += counts[kind];
}
for (const file of failed) process.stdout.write(`second try: ${path.basename(file)}\n`);
process.stdout.write(`${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped\n`);
const isGood = sum.failed === 0 && sum.passed > 0;
process.exit(isGood ? 0 : 1);
