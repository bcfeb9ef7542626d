import type { OomStory } from "../../api/oom";
import { bytesText } from "../../text/units";
import { Bytes, Parts } from "../../ui/text";
import { sumBar } from "./sum";

const width = (share: number) => ({ width: `${(share * 100).toFixed(3)}%` });

export function SumBlock({ of }: { of: OomStory }) {
  const { sum } = of.verdict;
  const bar = sumBar(sum, of.requested_bytes);
  const { request } = bar;
  return (
    <div class="block">
      <div class="phead">
        <h2>Sum check</h2>
        <span class="note">
          {sum.difference_bytes === 0
            ? "adds up exactly"
            : `does not add up: the file contradicts itself by ${bytesText(sum.difference_bytes)}`}
        </span>
      </div>
      <div class="sumbars" aria-hidden="true">
        <div class={`sumbar${bar.low > 0 ? " torn" : ""}`}>
          {bar.parts.map((part) => (
            <i
              key={part.key}
              class={`sum-${part.key}`}
              style={width(part.share)}
              title={`${part.label}: ${bytesText(part.bytes)}`}
            />
          ))}
        </div>
        {request && (
          <div class="sumbar request">
            <span style={width(request.begin)} />
            <i
              class="sum-request"
              style={width(request.inside)}
              title={`request: ${bytesText(of.requested_bytes ?? 0)}`}
            />
            {request.over > 0 && (
              <i
                class="sum-over"
                style={width(request.over)}
                title={`over the ceiling: ${bytesText((of.requested_bytes ?? 0) - (sum.driver_bytes ?? 0))}`}
              />
            )}
          </div>
        )}
      </div>
      <p class="legend sumlegend">
        {bar.parts.map((part) => (
          <span key={part.key}>
            <i class={`sw sum-${part.key}`} /> {part.label} <Bytes value={part.bytes} />
          </span>
        ))}
        {of.requested_bytes !== null && (
          <span>
            <i class="sw sum-request" /> request <Bytes value={of.requested_bytes} />
          </span>
        )}
        {(request?.over ?? 0) > 0 && (
          <span>
            <i class="sw sum-over" /> over the ceiling
          </span>
        )}
        {bar.low > 0 && <span class="faint">the bar starts at {bytesText(bar.low)}</span>}
      </p>
      <p class="dim">
        <Parts parts={of.sum_sentence.parts} />
      </p>
    </div>
  );
}
