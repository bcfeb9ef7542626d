// Dark or light. public/theme.js has chosen before the first paint; the toggle is remembered.
import { signal } from "@preact/signals";

export type Theme = "dark" | "light";

const KEY = "tidegauge.theme";
const root = document.documentElement;

export const theme = signal<Theme>(root.dataset.theme === "dark" ? "dark" : "light");

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  root.dataset.theme = theme.value;
  remember(KEY, theme.value);
}

/** localStorage may be off; then nothing is remembered and nothing breaks. */
export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // private window or blocked storage
  }
}

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
