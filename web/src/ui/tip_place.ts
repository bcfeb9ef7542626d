// Where a tooltip stands: beside the pointer, flipped at the edges of the window, never under it.
export function placeTip(el: HTMLElement, x: number, y: number): void {
  const flipX = x + 14 + el.offsetWidth > window.innerWidth - 8;
  const flipY = y + 16 + el.offsetHeight > window.innerHeight - 8;
  el.style.left = `${Math.max(4, flipX ? x - 14 - el.offsetWidth : x + 14)}px`;
  el.style.top = `${Math.max(4, flipY ? y - 12 - el.offsetHeight : y + 16)}px`;
}
