// What the processes below this one cost: a browser's, and a server's if it is one of them.
//
//   const cost = new BrowserCost("tidegauge");  …  const { processor_s, browser_bytes, server_bytes } = cost.end();
//
// Memory is anonymous and shared memory, without mapped files; it is looked at every 50 ms.
import { readdirSync, readFileSync } from "node:fs";

const TICKS_PER_SECOND = 100; // USER_HZ of Linux on every processor that Chromium runs on

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // it has ended
  }
}

/** Name, parent, and processor time with that of children that have ended. */
function processes() {
  const found = new Map();
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const [, name, rest] = /\((.*)\) (.*)/s.exec(read(`/proc/${pid}/stat`)) ?? [];
    if (rest === undefined) continue;
    const fields = rest.split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    found.set(Number(pid), { name, parent: Number(fields[1]), ticks });
  }
  return found;
}

function below(root) {
  const all = processes();
  const isBelow = (pid) => pid === root || (all.has(pid) && isBelow(all.get(pid).parent));
  return [...all].filter(([pid, { parent }]) => pid !== root && isBelow(parent));
}

function bytesOf(pid) {
  const status = read(`/proc/${pid}/status`);
  const of = (key) => Number(new RegExp(`^${key}:\\s*(\\d+)`, "m").exec(status)?.[1] ?? 0);
  return (of("RssAnon") + of("RssShmem")) * 1024;
}

export class BrowserCost {
  #most = { browser: 0, server: 0 };
  #ticks = new Map(); // by process; an ended one keeps its last value
  #begun = new Map();
  #timer;
  #server; // the name of its program, as the kernel has it

  constructor(server) {
    this.#server = server.slice(0, 15);
    this.#look();
    this.#begun = new Map(this.#ticks);
    this.#timer = setInterval(() => this.#look(), 50);
  }

  #look() {
    const sums = { browser: 0, server: 0 };
    for (const [pid, { name, ticks }] of below(process.pid)) {
      this.#ticks.set(pid, ticks);
      sums[name === this.#server ? "server" : "browser"] += bytesOf(pid);
    }
    for (const part of ["browser", "server"])
      this.#most[part] = Math.max(this.#most[part], sums[part]);
  }

  end() {
    clearInterval(this.#timer);
    this.#look();
    let ticks = 0;
    for (const [pid, value] of this.#ticks) ticks += value - (this.#begun.get(pid) ?? 0);
    return {
      processor_s: ticks / TICKS_PER_SECOND,
      browser_bytes: this.#most.browser,
      server_bytes: this.#most.server,
    };
  }
}
