// Search: Enter goes to what is chosen, Ctrl+Enter keeps only what matches.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { clearMark, hitIndex, jump, search, settledSearch } from "../state/answers/marks";
import { attempt } from "../state/page/notes";
import { go, page } from "../state/page/store";
import { Icon } from "../ui/icons";
import { goTo, Results, rowsOf } from "./search_results";

const DELAY_MS = 140;

/** Waits for the answer to what was typed, then goes to the row that is chosen. */
async function enter(typed: string, chosen: number): Promise<void> {
  const data = await settledSearch();
  if (page.peek().q !== typed) return;
  const row = rowsOf(data)[chosen];
  if (row) goTo(row);
  else jump(1);
}

export function SearchBox() {
  const input = useRef<HTMLInputElement>(null);
  const open = useSignal(false);
  const chosen = useSignal(0);
  const timer = useRef(0);
  const q = page.value.mark === "search" || open.value ? page.value.q : "";

  useEffect(() => {
    if (input.current && document.activeElement !== input.current) input.current.value = q;
  }, [q]);

  const ask = (text: string) => {
    window.clearTimeout(timer.current);
    timer.current = 0;
    hitIndex.value = -1;
    chosen.value = 0;
    go({ q: text, mark: text.trim() === "" ? null : "search" });
  };
  const type = (text: string) => {
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => ask(text), DELAY_MS);
    open.value = text.trim() !== "";
  };

  const leave = () => {
    open.value = false;
    input.current?.blur();
    document.querySelector<HTMLElement>("#timeline")?.focus();
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const rows = rowsOf(search.value.data);
    if (event.key === "Escape") {
      if (open.value || page.value.q === "") leave();
      else clearMark();
      if (page.value.q === "" && input.current) input.current.value = "";
    } else if (event.key === "ArrowDown")
      chosen.value = Math.max(0, Math.min(rows.length - 1, chosen.value + 1));
    else if (event.key === "ArrowUp") chosen.value = Math.max(0, chosen.value - 1);
    else if (event.key === "Enter") {
      // what is typed counts, not what was found for the letters before
      const typed = input.current?.value ?? "";
      if (timer.current !== 0) ask(typed);
      if (event.ctrlKey) go({ view: "timeline", mark: "search", only: true }, true);
      else attempt(enter(typed, chosen.value));
      leave();
    } else return;
    event.preventDefault();
  };

  const active = rowsOf(search.value.data)[chosen.value];
  return (
    <>
      <label class="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          ref={input}
          placeholder="Search frames, addresses"
          aria-label="Search frames, addresses, sizes"
          list={undefined}
          role="combobox"
          aria-expanded={open.value}
          aria-controls="search-results"
          aria-activedescendant={open.value && active ? `hit-${active.key}` : undefined}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => type(event.currentTarget.value)}
          onFocus={() => {
            open.value = page.value.q.trim() !== "" && page.value.mark === "search";
          }}
          onBlur={() => {
            open.value = false;
          }}
          onKeyDown={onKeyDown}
        />
        <kbd aria-hidden="true">/</kbd>
      </label>
      {open.value && (
        <div class="hits">
          <Results
            q={page.value.q}
            chosen={chosen.value}
            onChoose={(row) => {
              goTo(row);
              leave();
            }}
          />
        </div>
      )}
    </>
  );
}
