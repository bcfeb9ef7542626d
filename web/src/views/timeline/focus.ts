const PICTURES = ["timeline", "lanes", "map", "segments"];

/** Where the focus goes when what had it is gone: the picture, if there is one. */
export function focusPicture(): void {
  for (const id of PICTURES) document.getElementById(id)?.focus({ preventScroll: true });
}
