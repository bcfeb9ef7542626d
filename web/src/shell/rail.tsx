// The views, grouped by what they are for.

import { formatHash } from "../state/link/url";
import { device, page } from "../state/page/store";
import { counted, integer } from "../text/units";
import { Icon } from "../ui/icons";
import { offeredViews, viewKeys } from "../views/registry";

export function Rail() {
  const current = page.value.view;
  const ooms = device.value?.oom_count ?? 0;
  const views = offeredViews();
  const keys = new Map([...viewKeys(views)].map(([key, name]) => [name, key]));
  const groups = [...new Set(views.map((view) => view.group))];
  return (
    <nav class="rail" aria-label="Views">
      {groups.map((group, index) => (
        <div key={group} class="railgroup">
          {index > 0 && <div class="grp" />}
          <h2>{group}</h2>
          {views
            .filter((view) => view.group === group)
            .map((view) => (
              <a
                key={view.name}
                href={formatHash({ ...page.value, view: view.name })}
                title={view.title}
                aria-keyshortcuts={keys.get(view.name)}
                aria-current={view.name === current ? "page" : undefined}
              >
                <Icon name={view.icon} />
                <span>{view.title}</span>
                {view.name === "overview" && ooms > 0 && (
                  <span class="badge is-danger" title={counted(ooms, "out-of-memory event")}>
                    {integer(ooms)}
                  </span>
                )}
              </a>
            ))}
        </div>
      ))}
    </nav>
  );
}
