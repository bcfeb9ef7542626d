// What it comes to: the verdict in a sentence, the particulars on demand, the sums above the rows.
import { useSignal } from "@preact/signals";
import type { DiffAnswer } from "../../api/diff";
import { bytesIn, counted, unitFor } from "../../text/units";
import { visible } from "../../text/visible";
import { Amount } from "../../ui/text";
import { wanted, wrongPattern } from "./model";

export function Verdict({ of }: { of: DiffAnswer }) {
  const open = useSignal(false);
  const more = of.particulars.length;
  return (
    <div class="diffverdict">
      <p>
        <b>{visible(of.verdict)}</b>
        {more > 0 && (
          <button
            type="button"
            class="btn quiet"
            aria-expanded={open.value}
            onClick={() => {
              open.value = !open.value;
            }}
          >
            {open.value ? "Less" : `${counted(more, "detail")}`}
          </button>
        )}
      </p>
      {open.value && (
        <ul>
          {of.particulars.map((text) => (
            <li key={text}>{visible(text)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

const ROW_WORDS: Record<string, readonly [string, string]> = {
  stack: ["stack", "stacks"],
  category: ["category", "categories"],
  size: ["size class", "size classes"],
  segment: ["kind of segment", "kinds of segment"],
};

export function Sums({ of }: { of: DiffAnswer }) {
  const { rows, more_bytes, less_bytes, a_bytes, b_bytes } = of.total;
  const unit = unitFor(Math.max(a_bytes, b_bytes));
  const [one, many] = ROW_WORDS[of.by] ?? ["row", "rows"];
  const grew = rows.grew + rows.new;
  const shrank = rows.shrank + rows.gone;
  return (
    <div class="strip diffsums">
      <span class="opt">
        {of.by === "segment" ? "Reserved" : "Live"}{" "}
        <b class="num">{bytesIn(a_bytes, unit).number}</b> →{" "}
        <b>
          <Amount quantity={bytesIn(b_bytes, unit)} />
        </b>
      </span>
      {grew > 0 && (
        <span class="dsum is-more">
          more{" "}
          <b>
            +<Amount quantity={bytesIn(more_bytes, unitFor(more_bytes))} />
          </b>{" "}
          in {counted(grew, one, many)}
        </span>
      )}
      {shrank > 0 && (
        <span class="dsum is-less">
          less{" "}
          <b>
            −<Amount quantity={bytesIn(less_bytes, unitFor(less_bytes))} />
          </b>{" "}
          in {counted(shrank, one, many)}
        </span>
      )}
      {rows.same > 0 && (
        <span>
          {grew + shrank === 0 ? "no difference, " : ""}
          {counted(rows.same, one, many)} the same
        </span>
      )}
      <span class="spacer" />
      <span class="difffind cut" id="diff-find-note" role="status" title={wrongPattern.value}>
        {wrongPattern.value !== "" && `${wrongPattern.value} All rows are shown.`}
      </span>
      <label class="labelled">
        <span class="k">Find</span>
        <input
          class="field mono"
          id="diff-find"
          type="search"
          placeholder="text or /regex/"
          title="Shows the rows whose names match  p"
          spellcheck={false}
          autocomplete="off"
          aria-invalid={wrongPattern.value !== ""}
          aria-describedby="diff-find-note"
          value={wanted.value}
          onInput={(event) => {
            wanted.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            wanted.value = "";
            event.currentTarget.blur();
          }}
        />
      </label>
    </div>
  );
}
