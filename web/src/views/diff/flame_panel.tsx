// The differential flame graph: width = the larger of A and B, added up stack by stack, or the
// change alone; colour = what B has more or less.
import { computed, signal } from "@preact/signals";
import { type FlameNode, grossBytes, netBytes, nodeAt, pathOf } from "../../api/flame";
import { diffFlame, diffTree } from "../../state/answers/diff";
import { go, page } from "../../state/page/store";
import { bytesText, integer } from "../../text/units";
import { ErrorNotice } from "../../ui/notice";
import { Name } from "../../ui/text";
import { Tip } from "../../ui/tip";
import { type CellTip, useCellCanvas } from "../flame/cell_canvas";
import { cellBytes, cellName, type Look, ROW } from "../flame/draw";
import { type Cell, cellOf, type Direction, icicle, type Layers, stepFrom } from "../flame/layout";
import { nameOf } from "../flame/slots";
import { TipFrame } from "../flame/tip";
import { chosen } from "./model";

const hovered = signal<Cell | null>(null);
const focused = signal<Cell | null>(null);
const tip = signal<CellTip | null>(null);

const zoomed = computed<FlameNode | null>(() =>
  diffTree.value ? nodeAt(diffTree.value, page.value.way) : null,
);
const layers = computed<Layers | null>(() => (zoomed.value ? icicle(zoomed.value) : null));

/** Cells that name the chosen row; what else there is stays in place, faint. */
const found = computed<ReadonlySet<FlameNode> | null>(() => {
  const row = chosen.value;
  const tree = diffTree.value;
  if (!row || !tree || page.value.by !== "stack") return null;
  const name = row.label.replace(/ \([^()]*\)$/, "");
  const out = new Set<FlameNode>();
  for (const node of tree.nodes) if (node.kind === "frame" && nameOf(node) === name) out.add(node);
  return out.size > 0 ? out : null;
});

const look = computed<Look | null>(() => {
  const tree = diffTree.value;
  if (!tree) return null;
  return {
    slots: new Map(),
    kept: null,
    found: found.value,
    picked: null,
    sandwich: false,
    difference: true,
    compared: true,
    totalBytes: grossBytes(tree.root),
    rootText: "B − A",
  };
});

function zoomTo(node: FlameNode): void {
  go({ way: pathOf(node) }, true);
}

const ARROWS: Record<string, Direction> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

function CellTipBox() {
  const now = tip.value;
  if (!now) return null;
  const { node } = now.cell;
  const { name } = cellName(node, "B − A");
  const whole = page.value.width === "size";
  return (
    <Tip x={now.x} y={now.y}>
      <div class="t">
        <span class="cut">
          <Name text={name} />
        </span>
        <span class="num">{cellBytes(node, true)}</span>
      </div>
      <dl>
        {whole && (
          <>
            <dt>A, B</dt>
            <dd>
              {bytesText(node.sameBytes + node.minusBytes)},{" "}
              {bytesText(node.sameBytes + node.bytes)}
            </dd>
          </>
        )}
        <dt>More, less</dt>
        <dd>
          +{bytesText(node.bytes)}, −{bytesText(node.minusBytes)}
        </dd>
        <dt>Blocks</dt>
        <dd>
          +{integer(node.blocks)}, −{integer(node.minusBlocks)}
        </dd>
      </dl>
      <TipFrame node={node} />
    </Tip>
  );
}

function Picture() {
  const { box, canvas, paint, under, point, leave } = useCellCanvas({
    layers,
    look,
    hovered,
    focused,
    tip,
  });
  const showFocused = () => {
    const cell = focused.peek();
    const el = box.current;
    const place = canvas.current?.getBoundingClientRect();
    if (!cell || !el || !place) return;
    const top = cell.row * ROW;
    if (top < el.scrollTop) el.scrollTop = top;
    else if (top + ROW > el.scrollTop + el.clientHeight) el.scrollTop = top + ROW - el.clientHeight;
    const y = place.top + top + ROW - el.scrollTop;
    tip.value = { cell, x: place.left + cell.from * place.width, y };
  };
  const keyed = (event: KeyboardEvent) => {
    const of = layers.peek();
    const node = cellOf(of, focused.peek())?.node ?? null;
    const arrow = ARROWS[event.key];
    if (arrow && of) {
      focused.value = stepFrom(of, focused.peek(), arrow);
      showFocused();
    } else if (event.key === "Enter" && node) zoomTo(node);
    else if (event.key === "Backspace" && zoomed.peek()?.parent) {
      zoomTo(zoomed.peek()?.parent as FlameNode);
    } else if (event.key === "Escape" && page.peek().way.length > 0) go({ way: [] }, true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const count = layers.value?.rows ?? 1;
  const root = diffTree.value?.root;
  return (
    <div class="flameplot diffflame" ref={box} onScroll={paint}>
      <div class="flamesizer" style={{ height: `${count * ROW + 2}px` }}>
        <canvas
          ref={canvas}
          id="diffflame"
          class="front"
          tabIndex={0}
          role="img"
          aria-label={`Flame graph of B − A, ${root ? bytesText(netBytes(root)) : ""}. Arrows go from frame to frame, Enter zooms, Backspace zooms out.`}
          onPointerMove={point}
          onPointerLeave={leave}
          onClick={(event) => {
            const cell = under(event);
            focused.value = cell;
            if (cell && (event.detail > 1 || cell.node.kind === "all")) zoomTo(cell.node);
          }}
          onKeyDown={keyed}
        />
      </div>
    </div>
  );
}

export function FlamePanel() {
  const { error, loading } = diffFlame.value;
  const tree = diffTree.value;
  if (error) {
    return (
      <div class="pad14">
        <ErrorNotice error={error} />
      </div>
    );
  }
  if (!tree) return <p class="dim t12 pad14">{loading ? "Loading the flame graph" : ""}</p>;
  if (tree.nodes.length === 1) {
    return (
      <p class="dim t12 pad14">
        {page.value.width === "change"
          ? "There is no change: the stacks are equal."
          : "Nothing is live at either place."}
      </p>
    );
  }
  return (
    <>
      <Picture />
      <CellTipBox />
    </>
  );
}
