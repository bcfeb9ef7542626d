// The list of keys. A modal dialog: Escape closes it, focus returns to where it was.
import { useEffect, useRef } from "preact/hooks";
import { frozen } from "../api/frozen";
import { helpOpen } from "../state/page/store";
import { Icon } from "../ui/icons";
import { viewKeys, viewNamed } from "../views/registry";

const GROUPS: readonly { title: string; keys: readonly [string, readonly string[]][] }[] = [
  {
    title: "Timeline",
    keys: [
      ["Pan", ["A", "D", "←", "→"]],
      ["Zoom at the cursor", ["W", "S", "+", "−"]],
      ["Zoom bytes", ["⇧W", "⇧S", "⇧ wheel"]],
      ["Fit everything", ["f"]],
      ["Zoom to the selection", ["z"]],
      ["Previous, next event", ["[", "]"]],
      ["Next block above, below", ["↑", "↓"]],
      ["Next colouring", ["g"]],
      ["Step or time axis", ["x"]],
    ],
  },
  {
    title: "Side by side",
    keys: [
      ["Lane above, below", ["↑", "↓"]],
      ["First, last lane", ["Home", "End"]],
      ["Open its timeline", ["Enter"]],
      ["Next block above, below", ["⇧↑", "⇧↓"]],
      ["Next, previous sort order", ["m", "M"]],
      ["Compare to median or first", ["b"]],
      ["Same scale or own", ["v"]],
      ["Align by clock or first event", ["l"]],
    ],
  },
  {
    title: "Flame",
    keys: [
      ["Next frame", ["←", "→", "↑", "↓"]],
      ["Pick a frame in every view", ["Space"]],
      ["Zoom in, out", ["Enter", "⌫"]],
      ["Fit everything", ["f"]],
      ["Sandwich or icicle", ["b"]],
      ["Next, previous mode", ["m", "M"]],
      ["Find frames", ["p"]],
      ["Colour by stack or category", ["g"]],
    ],
  },
  {
    title: "Fragmentation",
    keys: [
      ["Previous, next event", ["←", "→"]],
      ["Reserved or address space", ["g"]],
    ],
  },
  {
    title: "What if",
    keys: [["Next, previous setting", ["↑", "↓"]]],
  },
  {
    title: "Diff",
    keys: [
      ["Next, previous row", ["↑", "↓"]],
      ["Swap A and B", ["e"]],
      ["Next, previous row type", ["m", "M"]],
      ["Flame or timelines", ["v"]],
      ["Width by size or by change", ["b"]],
      ["Find rows", ["p"]],
    ],
  },
  {
    title: "Live",
    keys: [
      ["Next, previous time window", ["m", "M"]],
      ["Pause, resume", ["p"]],
      ["All processes", ["Esc"]],
    ],
  },
  {
    title: "Tables",
    keys: [
      ["Next, previous table", ["m", "M"]],
      ["Select rows", ["↑", "↓", "⇧↑", "⇧↓"]],
      ["First, last row", ["Home", "End"]],
      ["Show in the timeline", ["Enter"]],
      ["Copy the selected rows", ["Ctrl C"]],
    ],
  },
  {
    title: "SQL",
    keys: [
      ["Run the query", ["Ctrl Enter"]],
      ["Leave the editor", ["Esc"]],
    ],
  },
  {
    title: "State",
    keys: [
      ["Previous, next event", ["←", "→"]],
      ["Ten steps", ["⇧←", "⇧→"]],
      ["First, last event", ["Home", "End"]],
      ["Play, pause", ["space"]],
      ["Next, previous segment in the list", ["↑", "↓"]],
      ["Filter the events", ["e"]],
    ],
  },
  {
    title: "Map",
    keys: [
      ["Zoom, pan addresses", ["⇧W", "⇧S", "⇧↑", "⇧↓"]],
      ["Memory live at an out-of-memory event", ["r"]],
    ],
  },
  {
    title: "Find and choose",
    keys: [
      ["Search", ["/"]],
      ["Next, previous hit", ["n", "N"]],
      ["Show only the hits", ["o"]],
      ["Filter", ["F"]],
      ["Clear, step back", ["Esc"]],
    ],
  },
  {
    title: "Page",
    keys: [
      ["Inspector", ["i"]],
      ["Side by side and back", ["L"]],
      ["Copy link", ["c"]],
      ["Theme", ["t"]],
      ["Keyboard help", ["?"]],
    ],
  },
];

/** What an exported page has no use for. */
const SERVED = ["Step or time axis", "Sandwich or icicle"];

function groups() {
  if (frozen === null) return GROUPS;
  const kept = GROUPS.filter(({ title }) => ["Timeline", "Flame", "Page"].includes(title));
  return kept.map(({ title, keys }) => ({
    title,
    keys: keys.filter(([what]) => !SERVED.includes(what)),
  }));
}

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (helpOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [helpOpen.value]);
  const close = () => {
    helpOpen.value = false;
  };
  const views = [...viewKeys()].map(
    ([key, name]) => [viewNamed(name)?.title ?? name, [key]] as [string, string[]],
  );
  return (
    <dialog class="help" ref={dialog} aria-labelledby="help-title" onClose={close}>
      <header>
        <h2 id="help-title">Keyboard</h2>
        <button type="button" class="iconbtn" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <div class="cols">
        {[...groups(), { title: "Views", keys: views }].map((group) => (
          <div key={group.title}>
            <h3>{group.title}</h3>
            <ul>
              {group.keys.map(([what, keys]) => (
                <li key={what}>
                  <span>{what}</span>
                  <span>
                    {keys.map((key) => (
                      <kbd key={key}>{key}</kbd>
                    ))}
                  </span>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </div>
    </dialog>
  );
}
