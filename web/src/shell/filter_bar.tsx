// The filter above the views: a chip for every term, a field to write one, a panel to choose one,
// and how many allocations pass. Views without a filter do not show it.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { frozen } from "../api/frozen";
import { filtered, filterOpen, setFilter } from "../state/answers/filters";
import { flameTree } from "../state/answers/flame";
import { formatTerms, parseTerms, type Term, termWords } from "../state/link/filter_terms";
import { page } from "../state/page/store";
import { counted, integer } from "../text/units";
import { visible } from "../text/visible";
import { Icon } from "../ui/icons";
import { Bytes, Name } from "../ui/text";
import { viewNamed } from "../views/registry";
import { FilterPanel } from "./filter_panel";

function words(term: Term): string {
  if (term.key === "frame") {
    const id = Number(term.value);
    const node = flameTree.value?.nodes.find((one) => one.frame?.id === id);
    if (node?.frame) return `${term.not ? "not " : ""}frame ${node.frame.label}`;
  }
  return termWords(term);
}

function Chips() {
  const terms = parseTerms(page.value.filter);
  return (
    <>
      {terms.map((term, i) => {
        const text = words(term);
        return (
          <span class="fchip" key={`${i} ${term.key}`}>
            <span class="cut" title={visible(text)}>
              <Name text={text} />
            </span>
            <button
              type="button"
              aria-label={visible(`Remove ${text}`)}
              title="Remove"
              onClick={() => setFilter(formatTerms(terms.filter((one) => one !== term)))}
            >
              <Icon name="close" />
            </button>
          </span>
        );
      })}
    </>
  );
}

function Passing() {
  const { data, error } = filtered.value;
  if (page.value.filter.trim() === "") {
    return <span class="faint cut">No filter</span>;
  }
  if (error) {
    return (
      <span class="fwrong" role="alert">
        <Icon name="alert" />
        <span>
          {visible(error.what)}. {visible(error.hint)}
        </span>
      </span>
    );
  }
  if (!data) return <span class="faint">Filtering…</span>;
  if (data.count === 0) {
    return <span>None of {integer(data.total_count)} allocations passes the filter</span>;
  }
  return (
    <span class="num cut" role="status">
      <b>{counted(data.count, "allocation")}</b> of {integer(data.total_count)}
      <span class="opt">
        {" · "}
        <Bytes value={data.live_at_peak_bytes} /> live at the peak
      </span>
    </span>
  );
}

export function FilterBar() {
  const input = useRef<HTMLInputElement>(null);
  const panel = useSignal(false);
  const on = frozen === null && (page.value.filter !== "" || filterOpen.value);
  const shown = on && viewNamed(page.value.view)?.unfiltered !== true;
  // before the next key arrives
  useLayoutEffect(() => {
    if (filterOpen.value) input.current?.focus();
  }, [filterOpen.value]);
  useEffect(() => {
    if (!shown) panel.value = false;
  }, [shown, panel]);
  if (!shown) return null;
  const add = () => {
    const text = input.current?.value.trim() ?? "";
    if (text === "") return;
    setFilter(formatTerms([...parseTerms(page.value.filter), ...parseTerms(text)]));
    if (input.current) input.current.value = "";
  };
  const close = () => {
    filterOpen.value = false;
    panel.value = false;
    setFilter("");
  };
  return (
    <div class="filterbar" role="group" aria-label="Filter">
      <Icon name="filter" class="faint" />
      <Chips />
      <span class="fadd">
        <button
          type="button"
          class="btn"
          aria-expanded={panel.value}
          title="Choose the filter"
          onClick={() => {
            panel.value = !panel.value;
          }}
        >
          Choose
          <Icon name="down" />
        </button>
        {panel.value && (
          <FilterPanel
            onClose={() => {
              panel.value = false;
            }}
          />
        )}
      </span>
      <input
        class="field mono fterm"
        id="filter"
        ref={input}
        aria-label="Add a term, for example size:>1MiB"
        title="stream:1,2  size:>=1MiB  life:<100  stack:/loss|sdpa/  -category:unknown  phase:backward"
        placeholder="size:>1MiB"
        spellcheck={false}
        autocomplete="off"
        onKeyDown={(event) => {
          if (event.key === "Enter") add();
          else if (event.key === "Escape") {
            if (page.value.filter === "") filterOpen.value = false;
            input.current?.blur();
          } else return;
          event.preventDefault();
        }}
      />
      <span class="fpass">
        <Passing />
      </span>
      <button type="button" class="btn quiet" onClick={close}>
        {page.value.filter === "" ? "Close" : "Clear"}
      </button>
    </div>
  );
}
