// What to try, each with the numbers that it rests on.
import type { Advice, Sentence } from "../api/contract";
import { hrefOf } from "../state/link/links";
import { isView, page } from "../state/page/store";
import { integer } from "../text/units";
import { visible } from "../text/visible";
import { Icon } from "./icons";
import { Bytes, Name, Parts } from "./text";

/** "missing_bytes" → "missing" */
function evidenceName(name: string): string {
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

/** What a replay of the allocator says, where it was short enough to be replayed unasked. */
interface Proven {
  advice: readonly Advice[];
  /** in the order of that list */
  of_advice: readonly (string | null)[];
  sentences: readonly Sentence[];
}

/** Each with the way to its place. */
export function SentenceItems({ list }: { list: readonly Sentence[] }) {
  return (
    <>
      {list.map((sentence) => (
        <li key={sentence.parts.map((part) => part.text).join("")}>
          <span>
            <Parts parts={sentence.parts} />
          </span>
          {sentence.link && isView(sentence.link.view) && (
            <a class="go" href={hrefOf(sentence.link, page.value)}>
              {sentence.link.label}
            </a>
          )}
        </li>
      ))}
    </>
  );
}

function Items({ list, proofs }: { list: readonly Advice[]; proofs: ReadonlyMap<Advice, string> }) {
  return (
    <ul class="advice">
      {list.map((one) => {
        const proof = proofs.get(one);
        return (
          <li key={`${one.kind} ${one.text}`}>
            <p>
              <Name text={one.text} />
            </p>
            {one.copy !== null && <code class="setting">{visible(one.copy)}</code>}
            {proof && (
              <p class="replayed">
                <Icon name="whatif" /> {visible(proof)}
              </p>
            )}
            <p class="rests">
              {one.evidence.map((evidence) => (
                <Evidence key={evidence.name} of={evidence} />
              ))}
            </p>
          </li>
        );
      })}
    </ul>
  );
}

export function AdviceList({ list, proof }: { list: readonly Advice[]; proof: Proven | null }) {
  const shown = proof?.advice ?? list;
  if (shown.length === 0 && !proof) return null;
  const proofs = new Map<Advice, string>();
  shown.forEach((one, at) => {
    const text = proof?.of_advice[at];
    if (text) proofs.set(one, text);
  });
  const disproved = shown.filter((one) => one.replayed?.helps === false);
  return (
    <div class="block" id="advice">
      <div class="phead">
        <h2>What to try</h2>
        <span class="note">
          rules of thumb for this recording{proof ? ", checked by a replay" : ""}; only a run proves
          them
        </span>
      </div>
      <Items list={shown.filter((one) => !disproved.includes(one))} proofs={proofs} />
      {disproved.length > 0 && (
        <>
          <div class="phead">
            <h2>What does not help</h2>
            <span class="note">a replay disproves it</span>
          </div>
          <Items list={disproved} proofs={proofs} />
        </>
      )}
      {proof && (
        <ul class="sentences">
          <SentenceItems list={proof.sentences} />
        </ul>
      )}
    </div>
  );
}
