// Who allocated: one row per innermost frame and its caller.
import { useMemo } from "preact/hooks";
import { type FlameTree, grossBytes } from "../../api/flame";
import { pickedFrame } from "../../state/answers/flame";
import { page } from "../../state/page/store";
import { shortCaller } from "../../text/callers";
import { bytesText, integer, percent } from "../../text/units";
import { Bytes, FrameLabel } from "../../ui/text";
import { difference, pick } from "./model";
import { innermost, stackSlots } from "./slots";

const MAX_ROWS = 200;

export function InnerList({ tree }: { tree: FlameTree }) {
  const byCategory = page.value.colour === "category";
  const rows = useMemo(() => {
    const slots = byCategory ? tree.nodes.map((node) => node.category) : stackSlots(tree);
    return innermost(tree, slots);
  }, [tree, byCategory]);
  const whole = Math.max(1, grossBytes(tree.root));
  const most = Math.max(1, ...rows.slice(0, 1).map((row) => row.bytes + row.minusBytes));
  return (
    <div class="flamelist" tabIndex={0} role="region" aria-label="By innermost frame">
      <table class="table">
        <thead>
          <tr>
            <th>Frame</th>
            <th class="r fit" aria-sort="descending">
              Bytes
            </th>
            <th class="r fit">Share</th>
            <th class="barcol hide-s">
              <span class="vh">Share as a bar</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map((row) => {
            const gross = row.bytes + row.minusBytes;
            const chosen = row.frame !== null && row.frame === pickedFrame.value;
            const net = row.bytes - row.minusBytes;
            return (
              <tr
                key={row.key}
                aria-selected={chosen}
                class={row.frame === null ? "" : "picks"}
                onClick={() => row.frame !== null && pick(chosen ? null : row.frame)}
              >
                <td class="wide">
                  <span class="swrow">
                    <i class={`sw cat${row.slot ?? 0}`} />
                    {row.frame === null ? (
                      <FrameLabel label={row.label} />
                    ) : (
                      <button
                        type="button"
                        class="rowbtn cut"
                        aria-pressed={chosen}
                        title="Pick this frame in every view"
                      >
                        <FrameLabel
                          label={row.label}
                          caller={row.caller}
                          telling={shortCaller(row.caller)}
                        />
                      </button>
                    )}
                  </span>
                </td>
                <td class="r num" title={`${integer(net)} B`}>
                  {difference.value ? (
                    `${net > 0 ? "+" : ""}${bytesText(net)}`
                  ) : (
                    <Bytes value={row.bytes} />
                  )}
                </td>
                <td class="r num">
                  {percent(gross / whole).replace(" %", "")}
                  <span class="u">%</span>
                </td>
                <td class="barcol hide-s">
                  <span class="minibar">
                    <i style={{ width: `${((gross / most) * 100).toFixed(1)}%` }} />
                  </span>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length > MAX_ROWS && (
        <p class="dim t12 pad14">
          The {MAX_ROWS} largest of {integer(rows.length)} frames. The others are in Tables, Stacks.
        </p>
      )}
    </div>
  );
}
