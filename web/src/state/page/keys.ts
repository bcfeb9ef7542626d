// One listener for the keyboard. The view on the screen is asked first, then the shell.

/** True: the key was used. */
type KeyHandler = (event: KeyboardEvent) => boolean;

const handlers: KeyHandler[] = [];

/** The last one added is asked first. Returns the way to take it back. */
export function onKey(handler: KeyHandler): () => void {
  handlers.unshift(handler);
  return () => {
    const index = handlers.indexOf(handler);
    if (index >= 0) handlers.splice(index, 1);
  };
}

/** Text fields keep their keys; the editor lives in a shadow root, so the path is asked. */
function isTyping(event: Event): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input:not([type=range]), textarea, select");
}

export function startKeys(): void {
  window.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || isTyping(event) || event.altKey || event.metaKey) return;
    if (event.ctrlKey && event.key !== "Enter") return;
    if (document.querySelector("dialog[open]")) return;
    if (handlers.some((handler) => handler(event))) event.preventDefault();
  });
}
