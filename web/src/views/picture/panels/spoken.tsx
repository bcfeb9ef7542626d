// For screen readers: which allocation is selected in a picture.
import type { Allocation } from "../../../api/contract";
import { selection } from "../../../state/page/cursor";
import { bytesText } from "../../../text/units";

interface SpokenProps {
  /** what the picture adds about the place of the allocation: " at 0x7f0586000200" */
  place?: (of: Allocation) => string;
  /** while nothing is selected */
  otherwise?: string;
}

export function Spoken({ place = () => "", otherwise = "" }: SpokenProps) {
  const of = selection.value.data;
  return (
    <p class="vh" role="status">
      {of
        ? `Selected allocation ${of.address_id}, ${bytesText(of.block_bytes)}${place(of)}, ${of.live_at_end ? "live at the end" : `freed at step ${of.last_step}`}`
        : otherwise}
    </p>
  );
}
