// How many allocations are marked, and the way through them: the same over every picture.
import { clearMark, hitIndex, jump, mark } from "../../../state/answers/marks";
import { go, page } from "../../../state/page/store";
import { counted, integer } from "../../../text/units";
import { Icon } from "../../../ui/icons";

export function MarkChip() {
  const of = mark.value;
  if (!of) return null;
  const what = of.source === "search" ? `“${page.value.q}”` : "rows of the query";
  return (
    <div class="markchip" role="group" aria-label="Marked allocations">
      <span class="cut">
        {hitIndex.value >= 0 ? `${integer(hitIndex.value + 1)} of ` : ""}
        {counted(of.count, "allocation")} <span class="faint">{what}</span>
      </span>
      <button type="button" aria-label="Previous hit" title="Previous  N" onClick={() => jump(-1)}>
        <Icon name="prev" />
      </button>
      <button type="button" aria-label="Next hit" title="Next  n" onClick={() => jump(1)}>
        <Icon name="go" />
      </button>
      <button
        type="button"
        aria-pressed={page.value.only}
        title="Show only these  o"
        onClick={() => go({ only: !page.value.only })}
      >
        only
      </button>
      <button type="button" aria-label="Clear the mark" title="Clear  Esc" onClick={clearMark}>
        <Icon name="close" />
      </button>
    </div>
  );
}
