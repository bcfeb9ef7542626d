// A tooltip beside the pointer.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Beside the pointer, flipped at the edges of the window, never under it. */
function placeTip(el: HTMLElement, x: number, y: number): void {
  const flipX = x + 14 + el.offsetWidth > window.innerWidth - 8;
  const flipY = y + 16 + el.offsetHeight > window.innerHeight - 8;
  el.style.left = `${Math.max(4, flipX ? x - 14 - el.offsetWidth : x + 14)}px`;
  el.style.top = `${Math.max(4, flipY ? y - 12 - el.offsetHeight : y + 16)}px`;
}

/** `x`, `y`: the pointer, in the window. */
export function Tip({ x, y, children }: { x: number; y: number; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (box.current) placeTip(box.current, x, y);
  });
  return (
    <div class="tip on" ref={box} role="tooltip">
      {children}
    </div>
  );
}
