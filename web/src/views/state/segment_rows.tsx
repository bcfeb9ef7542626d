// Every segment at the cursor's step as a row: address, size, its blocks as a bar, what is free,
// and what pins it. Grouped by pool and stream; only the rows on the screen exist.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type Layout, type LayoutGroup, type LayoutSegment, partBegins } from "../../api/layout";
import { barPixels, findSegment, layout, segmentWindow } from "../../state/answers/layout";
import { attempt } from "../../state/page/notes";
import { go, page } from "../../state/page/store";
import { bytesText, counted } from "../../text/units";
import { visible } from "../../text/visible";
import { Bytes } from "../../ui/text";
import { BarCanvas } from "./bar_canvas";
import { GROUP_HEAD, groupRows, heightOf, ROW, seenSegments, topOf, windowFor } from "./rows";
import { groupName, pinText, shortAddress } from "./words";

const HEAD = 28;

interface Shown {
  data: Layout;
  begins: number[];
}

function pickPart(data: Layout, of: LayoutSegment, part: number): void {
  const id = data.parts.allocation[part] ?? -1;
  const seg = of.segment?.id ?? null;
  go({ seg, sel: id >= 0 ? id : null });
}

function SegmentRow({ shown: { data, begins }, index }: { shown: Shown; index: number }) {
  const at = index - data.offset;
  const of = data.segments[at];
  if (!of) return <div class="segrow" role="row" aria-busy="true" />;
  const seg = of.segment?.id ?? null;
  const chosen = seg !== null && seg === page.value.seg;
  const pins = pinText(of);
  const bytes = page.value.scale ? data.widest_bytes : of.span_bytes;
  const where = visible(
    `${of.segment?.address_id ?? of.address}${of.segment ? `, ${of.segment.kind}` : ""}`,
  );
  return (
    <div
      class="segrow"
      role="row"
      id={`segment-${index}`}
      aria-selected={chosen}
      onClick={(event) => {
        if (!(event.target instanceof HTMLCanvasElement)) go({ seg, sel: null });
      }}
    >
      <span class="mono faint cut" role="gridcell" title={where}>
        {shortAddress(of)}
      </span>
      <span class="r" role="gridcell" title={`${bytesText(of.owned_bytes)} reserved`}>
        <Bytes value={of.owned_bytes} />
      </span>
      <span role="gridcell" class="barbox2">
        <BarCanvas
          of={of}
          width={barPixels.value}
          bar={{ parts: data.parts, begin: begins[at] ?? 0, end: begins[at + 1] ?? 0, bytes }}
          onPick={(part) => pickPart(data, of, part)}
        />
      </span>
      <span class="r" role="gridcell">
        {of.free_bytes === 0 ? <span class="faint">0</span> : <Bytes value={of.free_bytes} />}
      </span>
      <span class="cut pinby" role="gridcell" title={visible(of.pins[0]?.label ?? pins)}>
        <span class={of.pins.length > 0 ? "mono" : "faint"}>{visible(pins)}</span>
        {of.pin_count > 1 && <span class="faint"> +{of.pin_count - 1}</span>}
      </span>
    </div>
  );
}

function GroupHead({ group }: { group: LayoutGroup }) {
  return (
    <div class="grouphead" role="row">
      <span role="gridcell">
        <b>{visible(groupName(group))}</b>
        <span>{counted(group.count, "segment")}</span>
        <span>
          <Bytes value={group.owned_bytes} /> reserved
        </span>
        <span>
          <Bytes value={group.free_bytes} /> free
          {group.free_bytes > 0 &&
            (group.pinned_bytes >= group.free_bytes ? (
              ", all of it pinned"
            ) : (
              <>
                , <Bytes value={group.pinned_bytes} /> of it pinned
              </>
            ))}
        </span>
        {group.pending_bytes > 0 && (
          <span>
            <Bytes value={group.pending_bytes} /> pending
          </span>
        )}
      </span>
    </div>
  );
}

export function SegmentRows({ data }: { data: Layout }) {
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  const heads = !page.value.flat;
  const rows = useMemo(() => {
    const all = [{ first: 0, count: data.total }];
    return groupRows(heads && data.groups.length > 0 ? data.groups : all, heads);
  }, [data, heads]);
  const shown = useMemo(() => ({ data, begins: partBegins(data) }), [data]);

  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const observer = new ResizeObserver(() => {
      height.value = el.clientHeight - HEAD;
      barPixels.value = el.querySelector<HTMLElement>(".barbox2")?.clientWidth ?? el.clientWidth;
    });
    observer.observe(el);
    return () => observer.disconnect();
  }, [height]);

  const [first, last] = seenSegments(rows, top.value, top.value + height.value, heads);
  useEffect(() => {
    const now = segmentWindow.peek();
    if (first >= now.offset && last <= now.offset + now.limit && now.limit <= 500) {
      if (last - first > 0 && now.limit <= (last - first) * 6 + 120) return;
    }
    const next = windowFor([first, last]);
    if (now.offset !== next.offset || now.limit !== next.limit) segmentWindow.value = next;
  }, [first, last]);

  const chosen = data.segments.findIndex((one) => one.segment?.id === page.value.seg);
  const active = page.value.seg !== null && chosen >= 0 ? data.offset + chosen : null;
  const scrollTo = (index: number) => {
    const y = topOf(rows, index, heads);
    const el = box.current;
    if (y === null || !el) return;
    const room = heads ? GROUP_HEAD : 0;
    if (y - room < el.scrollTop) el.scrollTop = y - room;
    else if (y + ROW > el.scrollTop + height.value) el.scrollTop = y + ROW - height.value;
  };
  // chosen elsewhere, by a link or in another picture: its row comes into view, once per choice
  const sought = useRef<number | null>(null);
  const seg = page.value.seg;
  useEffect(() => {
    if (seg === sought.current) return;
    sought.current = seg;
    if (seg === null) return;
    if (active !== null) scrollTo(active);
    else
      attempt(
        findSegment(seg, data).then((index) => {
          if (index !== null && page.peek().seg === seg) scrollTo(index);
        }),
      );
  });
  const move = (by: number) => {
    const next = Math.max(0, Math.min(data.total - 1, active === null ? first : active + by));
    const of = data.segments[next - data.offset];
    if (of) go({ seg: of.segment?.id ?? null, sel: null });
    scrollTo(next);
  };

  return (
    <div
      class="segs"
      id="segments"
      ref={box}
      tabIndex={0}
      role="grid"
      aria-label={`Segments after step ${data.step}, ${counted(data.total, "segment")}. Arrow up and down select one.`}
      aria-rowcount={data.total}
      aria-activedescendant={
        active !== null && active >= first && active < last ? `segment-${active}` : undefined
      }
      onScroll={(event) => {
        top.value = event.currentTarget.scrollTop;
      }}
      onKeyDown={(event) => {
        const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        move(by);
      }}
    >
      <div class="segrow head" role="row">
        <span role="columnheader">Segment</span>
        <span role="columnheader" class="r">
          Size
        </span>
        <span role="columnheader">
          {page.value.scale
            ? `Blocks, all bars on one scale: ${bytesText(data.widest_bytes)}`
            : "Blocks, each bar one segment"}
        </span>
        <span role="columnheader" class="r">
          Free
        </span>
        <span role="columnheader">Pinned by</span>
      </div>
      <div class="room" role="rowgroup" style={{ height: `${heightOf(rows)}px` }}>
        {rows.map((row) => {
          const from = Math.max(row.first, first);
          const to = Math.min(row.first + row.count, last);
          const group = data.groups[row.index];
          if (row.top > top.value + height.value || row.top + row.height < top.value) return null;
          return (
            <div
              key={row.index}
              class="seggroup"
              role="presentation"
              style={{ top: `${row.top}px`, height: `${row.height}px` }}
            >
              {heads && group && <GroupHead group={group} />}
              {Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i).map((index) => {
                const of = data.segments[index - data.offset];
                return (
                  <div
                    key={of?.segment?.id ?? `at${index}`}
                    class="segplace"
                    role="presentation"
                    style={{ top: `${(topOf(rows, index, heads) ?? 0) - row.top}px` }}
                  >
                    <SegmentRow shown={shown} index={index} />
                  </div>
                );
              })}
            </div>
          );
        })}
      </div>
      {layout.value.error && <p class="evnote">{visible(layout.value.error.what)}</p>}
    </div>
  );
}
