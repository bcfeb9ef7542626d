// Lists in the views: a table with heads, its first rows until all are wanted, a share as a bar.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { integer } from "../text/units";

export interface Head {
  text: string;
  /** "r": numbers stand right; "fit": no wider than needed; "hide-s": not on small screens */
  class?: string;
  title?: string;
  /** only read aloud */
  unseen?: boolean;
}

interface TableProps {
  /** false: a column that is not there this time */
  heads: readonly (Head | false)[];
  class?: string;
  children: ComponentChildren;
}

export function Table({ heads, class: extra, children }: TableProps) {
  return (
    <table class={extra ? `table ${extra}` : "table"}>
      <thead>
        <tr>
          {heads.map(
            (head) =>
              head && (
                <th key={head.text} class={head.class} title={head.title}>
                  {head.unseen ? <span class="vh">{head.text}</span> : head.text}
                </th>
              ),
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

/** The first rows of a list, and a button for all of them. */
export function useFirst<T>(list: readonly T[], first: number) {
  const all = useSignal(false);
  const rows = all.value ? list : list.slice(0, first);
  const rest = rows.length < list.length && (
    <ShowAll
      text={`Show all ${integer(list.length)}`}
      onShow={() => {
        all.value = true;
      }}
    />
  );
  return { rows, rest };
}

export function ShowAll({ text, onShow }: { text: string; onShow: () => void }) {
  return (
    <button type="button" class="btn quiet showall" onClick={onShow}>
      {text}
    </button>
  );
}

/** A cell with a bar; `share` of its width. */
export function BarCell({ share, class: extra }: { share: number; class?: string }) {
  return (
    <td class="barcell">
      <span class="barbox" aria-hidden="true">
        <i
          class={extra ? `bar ${extra}` : "bar"}
          style={{ width: `${(Math.min(1, share) * 100).toFixed(2)}%` }}
        />
      </span>
    </td>
  );
}
