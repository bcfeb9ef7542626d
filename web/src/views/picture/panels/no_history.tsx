// Instead of a picture over steps: the file holds a final state and no events.
import type { ComponentChildren } from "preact";
import type { IconName } from "../../../ui/icons";
import { Notice, RECORD_CODE } from "../../../ui/notice";

interface NoHistoryProps {
  title: string;
  icon: IconName;
  /** what there is, and what records events */
  children: ComponentChildren;
}

export function NoHistory({ title, icon, children }: NoHistoryProps) {
  return (
    <section class="view on" aria-label={title}>
      <header class="viewhead">
        <h1>{title}</h1>
      </header>
      <div class="center">
        <Notice icon={icon} title="This file has no history" code={RECORD_CODE}>
          {children}
        </Notice>
      </div>
    </section>
  );
}
