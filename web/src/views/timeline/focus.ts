/** Where the focus goes when what had it is gone: the picture, if there is one. */
export function focusPicture(): void {
  document.getElementById("timeline")?.focus({ preventScroll: true });
}
