// What a cell holds, beside the pointer or the focus.
import { signal } from "@preact/signals";
import { type FlameNode, grossBytes, netBytes } from "../../api/flame";
import { bytesText, integer, percent } from "../../text/units";
import { visible } from "../../text/visible";
import { Bytes, Name } from "../../ui/text";
import { Tip } from "../../ui/tip";
import type { CellTip } from "./cell_canvas";
import { cellBytes, cellName } from "./draw";
import { difference, look } from "./model";

export const flameTip = signal<CellTip | null>(null);

/** The file and line of a cell. */
export function TipFrame({ node: { frame } }: { node: FlameNode }) {
  if (!frame) return null;
  return (
    <span class="fn">
      {visible(frame.file)}
      {frame.line > 0 ? `:${frame.line}` : ""}
    </span>
  );
}

export function FlameTip() {
  const now = flameTip.value;
  const how = look.value;
  if (!now || !how) return null;
  const { node } = now.cell;
  const { name } = cellName(node, how.rootText);
  const self = node.selfBytes + node.selfMinusBytes;
  const slot = how.slots.get(node) ?? 0;
  return (
    <Tip x={now.x} y={now.y}>
      <div class="t">
        <i class={`sw cat${node.kind === "no_stack" ? 9 : slot}`} />
        <span class="cut">
          <Name text={name} />
        </span>
        <span class="num">{cellBytes(node, difference.value)}</span>
      </div>
      <dl>
        <dt>Share of the picture</dt>
        <dd>{percent(grossBytes(node) / Math.max(1, how.totalBytes))}</dd>
        {difference.value && netBytes(node) !== node.bytes && (
          <>
            <dt>More, less</dt>
            <dd>
              +{bytesText(node.bytes)}, −{bytesText(node.minusBytes)}
            </dd>
          </>
        )}
        <dt>Allocated in it directly</dt>
        <dd>{self === 0 ? <span class="faint">0</span> : <Bytes value={self} />}</dd>
        <dt>Blocks</dt>
        <dd>
          {difference.value
            ? `+${integer(node.blocks)} −${integer(node.minusBlocks)}`
            : integer(node.blocks)}
        </dd>
      </dl>
      <TipFrame node={node} />
    </Tip>
  );
}
