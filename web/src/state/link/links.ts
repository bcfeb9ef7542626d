// Links of the server's sentences, turned into states of the page.
import type { Link } from "../../api/contract";
import { LEGENDS } from "../../api/contract";
import { formatHash, GROWTH_LISTS, type PageState } from "./url";

function numeric(value: string | number | undefined): number | null {
  if (value === undefined || value === "") return null;
  const parsed = Number(value);
  return Number.isFinite(parsed) ? parsed : null;
}

/** Where a link leads, starting from the state that it is shown in. */
export function targetOf(link: Link, from: PageState): PageState {
  const params = link.params ?? {};
  const [x0, x1] = [numeric(params.x0), numeric(params.x1)];
  const at = numeric(params.at ?? params.step);
  const text = (key: string) => (params[key] === undefined ? null : String(params[key]));
  const q = text("q");
  const sql = text("sql");
  return {
    ...from,
    view: link.view,
    device: numeric(params.device) ?? from.device,
    axis: text("axis") === "time" ? "time" : "step",
    x: x0 !== null && x1 !== null && x1 > x0 ? [x0, x1] : null,
    y: null,
    at: at ?? from.at,
    sel: numeric(params.sel) ?? from.sel,
    q: q ?? from.q,
    sql: sql ?? from.sql,
    mark: q !== null ? "search" : from.mark,
    growth: GROWTH_LISTS.find((list) => list === params.growth) ?? from.growth,
    colour: LEGENDS.find((by) => by === params.colour) ?? from.colour,
  };
}

export function hrefOf(link: Link, from: PageState): string {
  return formatHash(targetOf(link, from));
}
