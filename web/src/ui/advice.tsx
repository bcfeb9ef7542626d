// What to try, each with the numbers that it rests on.
import type { Advice } from "../api/contract";
import { Bytes, Name } from "./text";
import { integer } from "./units";
import { visible } from "./visible";

/** "missing_bytes" → "missing" */
export function evidenceName(name: string): string {
  return name.replace(/_bytes$/, "").replaceAll("_", " ");
}

function Evidence({ of }: { of: Advice["evidence"][number] }) {
  return (
    <span class="evidence" title={visible(of.source)}>
      {evidenceName(of.name)}{" "}
      {of.unit === "bytes" ? <Bytes value={of.value} /> : <b class="num">{integer(of.value)}</b>}
    </span>
  );
}

export function AdviceList({ list }: { list: readonly Advice[] }) {
  if (list.length === 0) return null;
  return (
    <div class="block" id="advice">
      <div class="phead">
        <h2>What to try</h2>
        <span class="note">rules of thumb on this recording's numbers; only a run shows more</span>
      </div>
      <ul class="advice">
        {list.map((one) => (
          <li key={`${one.kind} ${one.text}`}>
            <p>
              <Name text={one.text} />
            </p>
            {one.setting !== null && <code class="setting">{visible(one.setting)}</code>}
            <p class="rests">
              {one.evidence.map((evidence) => (
                <Evidence key={evidence.name} of={evidence} />
              ))}
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}
