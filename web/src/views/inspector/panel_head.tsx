// The head of what is inspected: its kind, and a button that clears it.
import type { ComponentChildren } from "preact";
import type { PageState } from "../../state/link/url";
import { go } from "../../state/page/store";
import { Icon } from "../../ui/icons";
import { focusPicture } from "../picture/input/choose";

interface PanelHeadProps {
  kind: ComponentChildren;
  /** what of the URL is cleared; absent: nothing was chosen */
  clears?: Partial<PageState> | undefined;
  label?: string;
  children: ComponentChildren;
}

export function PanelHead({ kind, clears, label = "Clear selection", children }: PanelHeadProps) {
  return (
    <header>
      <div class="kind">
        <span class="kindin">{kind}</span>
        {clears && (
          <button
            type="button"
            class="iconbtn"
            aria-label={label}
            title="Clear  Esc"
            onClick={() => {
              go(clears);
              focusPicture();
            }}
          >
            <Icon name="close" />
          </button>
        )}
      </div>
      {children}
    </header>
  );
}
