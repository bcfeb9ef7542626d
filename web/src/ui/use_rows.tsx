// A long table or list in a component: which of its rows exist, and how one comes into sight.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { firstSeen, type RowsWindow, rowsWindow, scrollTo } from "./rows_window";

interface Rows<E extends HTMLElement> {
  /** for the `ref` of the element that scrolls */
  box: { current: E | null };
  onScroll: (event: { currentTarget: HTMLElement }) => void;
  part: RowsWindow;
  /** how many rows can be seen whole */
  whole: number;
  toTop: () => void;
  /** as little as needed */
  reveal: (row: number) => void;
  /** in the middle, if it is not seen */
  centre: (row: number) => void;
}

/** `headPixels`: what stands over the rows and does not scroll. */
export function useRows<E extends HTMLElement>(
  count: number,
  rowPixels: number,
  headPixels = 0,
): Rows<E> {
  const box = useRef<E | null>(null);
  const top = useSignal(0);
  const view = useSignal(600);
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const observer = new ResizeObserver(() => {
      view.value = el.clientHeight - headPixels;
    });
    observer.observe(el);
    return () => observer.disconnect();
  }, [view, headPixels]);
  const move = (pixels: number) => {
    const el = box.current;
    if (!el) return;
    el.scrollTop = pixels;
    top.value = el.scrollTop;
  };
  return {
    box,
    onScroll: (event) => {
      top.value = event.currentTarget.scrollTop;
    },
    part: rowsWindow(count, rowPixels, top.value, view.value),
    whole: Math.max(1, Math.floor(view.value / rowPixels)),
    toTop: () => move(0),
    reveal: (row) => {
      const el = box.current;
      if (el) move(scrollTo(row, count, rowPixels, el.clientHeight - headPixels, el.scrollTop));
    },
    centre: (row) => {
      const el = box.current;
      if (!el || count === 0) return;
      const pixels = el.clientHeight - headPixels;
      const first = Math.ceil(firstSeen(count, rowPixels, el.scrollTop, pixels));
      if (row >= first && row < first + Math.floor(pixels / rowPixels)) return;
      move(scrollTo(row, count, rowPixels, pixels));
    },
  };
}

/** The body of a table of which only the rows in `part` exist. */
export function RowsBody({
  part,
  rowPixels,
  children,
}: {
  part: RowsWindow;
  rowPixels: number;
  children: ComponentChildren;
}) {
  const below = part.height - part.offset - (part.last - part.first) * rowPixels;
  return (
    <tbody>
      {part.offset > 0 && <Spacer pixels={part.offset} />}
      {children}
      <Spacer pixels={Math.max(0, below)} />
    </tbody>
  );
}

function Spacer({ pixels }: { pixels: number }) {
  return (
    <tr class="spacer" aria-hidden="true">
      <td style={{ height: `${pixels}px` }} />
    </tr>
  );
}

interface SortHeadProps {
  class: string;
  title?: string;
  /** null: sorted by another column */
  down: boolean | null;
  onSort: () => void;
  children: ComponentChildren;
}

/** The head of a column that a press sorts by. */
export function SortHead({ class: name, title, down, onSort, children }: SortHeadProps) {
  return (
    <th
      class={name}
      title={title}
      aria-sort={down === null ? undefined : down ? "descending" : "ascending"}
    >
      <button type="button" onClick={onSort}>
        {children}
      </button>
    </th>
  );
}
