// A press on a picture is a click until it has moved; then it drags. The same in every picture.

/** U: what a picture has under a pixel of its canvas. */
export interface DragHandlers<U> {
  /** the window was moved by hand */
  onMoved: () => void;
  /** null: the pointer has left, or drags */
  onHover: (under: U | null, clientX: number, clientY: number) => void;
}

interface Pointed<U> {
  under(pixelX: number, pixelY: number): U | null;
}

interface Grip<T> {
  /** what a drag starts from */
  hold: () => T;
  /** pixels since the press */
  onDrag: (from: T, dx: number, dy: number) => void;
  onPress: (event: PointerEvent) => void;
}

const CLICK_SLACK = 4;

export function attachDrag<U, T>(
  scene: Pointed<U>,
  el: HTMLElement,
  { onMoved, onHover }: DragHandlers<U>,
  grip: Grip<T>,
  signal: AbortSignal,
): void {
  const options = { signal };
  let drag: { id: number; x: number; y: number; from: T; moved: boolean } | null = null;
  el.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      el.setPointerCapture(event.pointerId);
      const { pointerId: id, clientX: x, clientY: y } = event;
      drag = { id, x, y, from: grip.hold(), moved: false };
    },
    options,
  );
  el.addEventListener(
    "pointermove",
    (event) => {
      if (!drag || drag.id !== event.pointerId) {
        onHover(scene.under(event.offsetX, event.offsetY), event.clientX, event.clientY);
        return;
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < CLICK_SLACK) return;
      drag.moved = true;
      onHover(null, 0, 0);
      grip.onDrag(drag.from, dx, dy);
      onMoved();
    },
    options,
  );
  const release = (event: PointerEvent) => {
    const clicked = drag !== null && drag.id === event.pointerId && !drag.moved;
    drag = null;
    if (clicked && event.type === "pointerup") grip.onPress(event);
  };
  el.addEventListener("pointerup", release, options);
  el.addEventListener("pointercancel", release, options);
  el.addEventListener("pointerleave", () => onHover(null, 0, 0), options);
}
