// What the What-if view asks: the settings that are known to help, and one that somebody wrote.
import type { WhatIf } from "../api/what_if";
import { follow, page, place } from "./store";

export const WHAT_IF_VIEW = "what-if";

export const whatIf = follow<WhatIf>(() => {
  const { view, set, cap } = page.value;
  if (view !== WHAT_IF_VIEW || !place.value) return null;
  const params = { ...place.value, set, ...(cap === null ? {} : { capacity: cap }) };
  return { path: "what_if", params };
}, true);
