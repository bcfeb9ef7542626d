// The mappings: resident memory, and how much of it was touched in the last window.

import type { WorkingSet } from "../../api/working_set";
import { integer, percent } from "../../text/units";
import { Table } from "../../ui/list_table";
import { Bytes, Name } from "../../ui/text";
import { touchedWord } from "./words";

const share = (part: number, whole: number) => (whole === 0 ? "–" : percent(part / whole));

function Size({ value }: { value: number }) {
  return value === 0 ? <span class="faint">0</span> : <Bytes value={value} />;
}

export function MappingTable({ of }: { of: WorkingSet }) {
  const touched = touchedWord(of).toLowerCase();
  const more = of.mappings_total - of.mappings.length;
  return (
    <>
      <div class="phead">
        <h2>Mappings</h2>
        <span class="note">
          in the last window, most {touched} first
          {more > 0 && `; the ${integer(more)} least ${touched} are not listed`}
        </span>
      </div>
      <Table
        class="wsmaps"
        heads={[
          { text: "Mapping" },
          { text: "Kind", class: "fit hide-s" },
          { text: "Start", class: "fit hide-s" },
          { text: touchedWord(of), class: "r fit" },
          { text: "Of RSS", class: "r fit" },
          { text: "RSS", class: "r fit" },
          { text: "Cold", class: "r fit", title: `Resident, but not ${touched}` },
          {
            text: "THP",
            class: "r fit",
            title: "Share in huge pages; a huge page counts as a whole",
          },
        ]}
      >
        {of.mappings.map((one) => (
          <tr key={`${one.start} ${one.name}`}>
            <td class="wide cut">
              <Name text={one.name} />
            </td>
            <td class="hide-s">{one.kind}</td>
            <td class="mono hide-s">{one.start}</td>
            <td class="r num">
              <Size value={one.referenced} />
            </td>
            <td class="r num">{share(one.referenced, one.rss)}</td>
            <td class="r num">
              <Size value={one.rss} />
            </td>
            <td class="r num">
              {one.cold === null ? <span class="faint">unknown</span> : <Size value={one.cold} />}
            </td>
            <td class="r num">
              {one.huge === null ? <span class="faint">unknown</span> : share(one.huge, one.rss)}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}
