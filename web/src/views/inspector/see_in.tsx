// The ways from an allocation to the pictures that show it.
import type { Allocation } from "../../api/contract";
import { formatHash } from "../../state/link/url";
import { isView, page } from "../../state/page/store";

/** The pictures that show it, but the one that is on the screen. */
const PICTURES = [
  ["timeline", "Timeline"],
  ["map", "Map"],
  ["state", "State"],
] as const;

export function SeeIn({ of }: { of: Allocation }) {
  const { view, at } = page.value;
  // a step at which it is live
  const live = at !== null && at >= of.first_step && at < of.last_step ? at : of.first_step;
  return (
    <section>
      <h3>See it in</h3>
      <div class="links">
        {PICTURES.filter(([name]) => name !== view && isView(name)).map(([name, title]) => (
          <a
            class="btn"
            key={name}
            href={formatHash({
              ...page.value,
              view: name,
              device: of.device,
              at: live,
              seg: of.segment?.id ?? null,
            })}
          >
            {title}
          </a>
        ))}
      </div>
    </section>
  );
}
