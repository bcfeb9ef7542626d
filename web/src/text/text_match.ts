// What a user types to match names, as the server reads it: a plain text, or a regular expression
// between slashes; letter case does not matter.
//
//   "attention.py:118"   holds that text      "/flash|sdpa/"   matches that expression

export type Match = (text: string) => boolean;

const LONGEST = 1000;

/** "Invalid regular expression: /(/iu: Unterminated group" → ": Unterminated group" */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : "";
  const reason = text.slice(text.lastIndexOf(": ") + 2).trim();
  return reason === "" ? "" : `: ${reason}`;
}

/** Null: nothing to look for. A string: why it cannot be looked for. */
export function textMatch(pattern: string): Match | string | null {
  const text = pattern.trim();
  if (text === "") return null;
  if (text.length > LONGEST) return "The pattern is too long.";
  const expression = text.length > 2 && text.startsWith("/") && text.endsWith("/");
  if (!expression) {
    const wanted = text.toLowerCase();
    return (name) => name.toLowerCase().includes(wanted);
  }
  try {
    const compiled = new RegExp(text.slice(1, -1), "iu");
    return (name) => compiled.test(name);
  } catch (error) {
    return `Invalid regular expression${reasonOf(error)}.`;
  }
}
