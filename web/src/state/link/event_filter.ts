// The words of the filter over the events, as the server asks for them.
//
//   "oom,alloc >1MiB linear.py:52"  →  action=oom,alloc  size=>1MiB  stack=linear.py:52
//   "b7f0586000000_1"               →  address=b7f0586000000_1

interface EventTerms {
  action?: string;
  address?: string;
  size?: string;
  stack?: string;
}

/** What the list offers by name: groups of the actions that files hold. */
export const ACTION_GROUPS: readonly { key: string; label: string; actions: string }[] = [
  { key: "", label: "all", actions: "" },
  { key: "alloc", label: "allocations", actions: "alloc" },
  { key: "free", label: "frees", actions: "free_requested,free_completed,free" },
  {
    key: "segment",
    label: "segments",
    actions: "segment_alloc,segment_free,segment_map,segment_unmap",
  },
  { key: "oom", label: "out of memory", actions: "oom" },
  { key: "other", label: "other", actions: "snapshot,annotate,user_defined,unknown" },
];

const SIZE = /^(?:>=|<=|>|<|=)\d/;
const ADDRESS = /^(?:0x[0-9a-f]+|[bs]?[0-9a-f]{9,}(?:_\d+)?|[bs][0-9a-f]+_\d+)$/i;

export function eventTerms(group: string, text: string): EventTerms {
  const terms: EventTerms = {};
  const actions = ACTION_GROUPS.find((one) => one.key === group)?.actions ?? "";
  if (actions !== "") terms.action = actions;
  const stack: string[] = [];
  for (const word of text.trim().split(/\s+/)) {
    if (word === "") continue;
    if (SIZE.test(word)) terms.size = word;
    else if (ADDRESS.test(word)) terms.address = word;
    else stack.push(word);
  }
  if (stack.length > 0) terms.stack = stack.join(" ");
  return terms;
}

export function isEventGroup(text: string): boolean {
  return ACTION_GROUPS.some((one) => one.key === text);
}
