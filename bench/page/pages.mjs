// What the measurements of the page share: the program, a browser, and the words of a command line.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";

// the packages of the page are installed beside it
const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");

/** `--name VALUE` of the command line, or the default; the rest is positional. */
export function words(defaults) {
  const [given, rest] = [{ ...defaults }, []];
  const list = process.argv.slice(2);
  while (list.length > 0) {
    const word = list.shift();
    const name = word.slice(2);
    if (word.startsWith("--") && name in defaults) given[name] = list.shift();
    else rest.push(word);
  }
  return { ...given, rest };
}

/** Starts `tidegauge view FILES`; answers its address and how to end it. */
export async function startServer(binary, files) {
  const child = spawn(binary, ["view", "--no-browser", ...files], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const address = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
      const found = /http:\/\/127\.0\.0\.1:\d+\/[\w-]+\//.exec(text);
      if (found) resolve(found[0]);
    });
    child.on("exit", (code) => reject(new Error(`${binary} ended with ${code}`)));
  });
  child.removeAllListeners("exit");
  return { address, stop: () => child.kill("SIGINT") };
}

export function startBrowser(path) {
  const root = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({
    executablePath: path,
    args: [...root, "--enable-unsafe-swiftshader"],
  });
}

export async function newPage(browser) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  return context.newPage();
}
