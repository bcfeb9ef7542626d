// A press on a picture is a click until it has moved; then it drags. The same in every picture.
export interface DragHands<T> {
  /** what a drag starts from */
  hold: () => T;
  /** pixels since the press */
  onDrag: (from: T, dx: number, dy: number) => void;
  onPress: (event: PointerEvent) => void;
  /** null: the pointer has left, or drags */
  onHover: (event: PointerEvent | null) => void;
}

const CLICK_SLACK = 4;

export function attachDrag<T>(el: HTMLElement, hands: DragHands<T>, signal: AbortSignal): void {
  const options = { signal };
  let drag: { id: number; x: number; y: number; from: T; moved: boolean } | null = null;
  el.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      el.setPointerCapture(event.pointerId);
      const { pointerId: id, clientX: x, clientY: y } = event;
      drag = { id, x, y, from: hands.hold(), moved: false };
    },
    options,
  );
  el.addEventListener(
    "pointermove",
    (event) => {
      if (!drag || drag.id !== event.pointerId) {
        hands.onHover(event);
        return;
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < CLICK_SLACK) return;
      drag.moved = true;
      hands.onHover(null);
      hands.onDrag(drag.from, dx, dy);
    },
    options,
  );
  const release = (event: PointerEvent) => {
    const clicked = drag !== null && drag.id === event.pointerId && !drag.moved;
    drag = null;
    if (clicked && event.type === "pointerup") hands.onPress(event);
  };
  el.addEventListener("pointerup", release, options);
  el.addEventListener("pointercancel", release, options);
  el.addEventListener("pointerleave", () => hands.onHover(null), options);
}
