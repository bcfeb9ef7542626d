// The inspector of a picked frame: what it holds, who calls it, whom it calls, where else to look.
import { useMemo } from "preact/hooks";
import { grossBytes, netBytes } from "../../api/flame";
import { frozen } from "../../api/frozen";
import { flameTree, pickedFrame } from "../../state/answers/flame";
import { formatHash } from "../../state/link/url";
import { isView, page } from "../../state/page/store";
import { bytesText, counted, percent } from "../../text/units";
import { visible } from "../../text/visible";
import { Icon } from "../../ui/icons";
import { Bytes, FrameText, Name } from "../../ui/text";
import { difference, openSandwich, pick, rootText, zoomTo } from "./model";
import { sumOfFrame } from "./slots";

const MAX_NEIGHBOURS = 8;

function Neighbours({
  title,
  of,
  whole,
}: {
  title: string;
  of: Map<string, number>;
  whole: number;
}) {
  const rows = [...of].filter(([name]) => name !== "").sort((a, b) => b[1] - a[1]);
  return (
    <section>
      <h3>{title}</h3>
      {rows.length === 0 && <p class="dim">None.</p>}
      <ol class="stack">
        {rows.slice(0, MAX_NEIGHBOURS).map(([name, bytes]) => (
          <li key={name} title={visible(`${name}, ${bytesText(bytes)}`)}>
            <span class="cut fn">
              <FrameText label={name} />
            </span>
            <span class="num t12">
              {percent(bytes / Math.max(1, whole)).replace(" %", "")}
              <span class="u">%</span>
            </span>
          </li>
        ))}
      </ol>
      {rows.length > MAX_NEIGHBOURS && (
        <p class="dim t12">and {counted(rows.length - MAX_NEIGHBOURS, "smaller one")}</p>
      )}
    </section>
  );
}

const ELSEWHERE = [
  ["timeline", "Timeline"],
  ["map", "Map"],
  ["state", "State"],
  ["tables", "Tables"],
] as const;

const KINDS: Record<string, string> = { python: "· Python", cpp: "· C++" };

export function FramePanel() {
  const tree = flameTree.value;
  const id = pickedFrame.value;
  const sum = useMemo(() => (tree && id !== null ? sumOfFrame(tree, id) : null), [tree, id]);
  if (!tree || id === null || !sum) return null;
  const node = tree.nodes.find((one) => one.frame?.id === id) ?? null;
  const frame = node?.frame ?? null;
  const gross = sum.bytes + sum.minusBytes;
  return (
    <div class="ins">
      <header>
        <div class="kind">
          <span class="kindin">
            Frame
            <span class="faint">{frame ? (KINDS[frame.kind] ?? "") : ""}</span>
          </span>
          <button
            type="button"
            class="iconbtn"
            aria-label="Clear the picked frame"
            title="Clear  Esc"
            onClick={() => pick(null)}
          >
            <Icon name="close" />
          </button>
        </div>
        <h2 class="big">
          {difference.value ? (
            `${sum.bytes > sum.minusBytes ? "+" : ""}${bytesText(sum.bytes - sum.minusBytes)}`
          ) : (
            <Bytes value={sum.bytes} />
          )}
        </h2>
        <div class="id fn" title={frame ? visible(`${frame.file}:${frame.line}`) : undefined}>
          {frame ? <Name text={frame.label} /> : "not in this picture"}
        </div>
      </header>
      <section>
        <h3>{rootText.value}</h3>
        <dl class="kv">
          <dt>Share of {bytesText(grossBytes(tree.root) || netBytes(tree.root))}</dt>
          <dd>{percent(gross / Math.max(1, grossBytes(tree.root)))}</dd>
          <dt>Allocated in it directly</dt>
          <dd>
            {sum.selfBytes === 0 ? <span class="faint">0</span> : <Bytes value={sum.selfBytes} />}
          </dd>
          <dt>Blocks</dt>
          <dd class="num">{sum.blocks.toLocaleString("en-US")}</dd>
        </dl>
      </section>
      <Neighbours title="Called by" of={sum.callers} whole={gross} />
      <Neighbours title="Calls" of={sum.callees} whole={gross} />
      <section>
        <h3>Look closer</h3>
        <div class="links">
          {node && (
            <button type="button" class="btn" onClick={() => zoomTo(node)}>
              Zoom
            </button>
          )}
          {frozen === null && (
            <button type="button" class="btn" onClick={() => openSandwich(id)}>
              Sandwich
            </button>
          )}
        </div>
      </section>
      {frozen === null && (
        <section>
          <h3>See it in</h3>
          <div class="links">
            {ELSEWHERE.filter(([view]) => isView(view)).map(([view, name]) => (
              <a class="btn" key={view} href={formatHash({ ...page.value, view })}>
                {name}
              </a>
            ))}
          </div>
        </section>
      )}
    </div>
  );
}
