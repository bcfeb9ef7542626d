// The views of the page. One entry here makes a view known to the rail, the router, the keyboard
// and the links of the overview; nothing else lists them. The script of a view is loaded later, when
// it is opened, except for what an exported page can show: that is one file.
import type { ComponentType } from "preact";
import { frozen } from "../api/frozen";
import { LIVE_VIEW, monitoring } from "../state/answers/live";
import { OOM_VIEW } from "../state/answers/oom";
import { WHAT_IF_VIEW } from "../state/answers/what_if";
import { onlyWorkingSets, WORKING_SET_VIEW, workingSets } from "../state/answers/working_set";
import { LANES_VIEW } from "../state/recording/lanes";
import type { IconName } from "../ui/icons";
import { FlameView } from "./flame/flame_view";
import { severalLanes } from "./lanes/model";
import { later } from "./later";
import { OverviewView } from "./overview/overview_view";
import { TimelineView } from "./timeline/timeline_view";

export interface View {
  name: string;
  title: string;
  group: "Look" | "Explain" | "Ask" | "Watch";
  icon: IconName;
  /** absent: the next number */
  key?: string;
  /** the inspector stands beside it on wide screens */
  docked: boolean;
  /** shows memory; without a device there is none to show */
  needsDevice: boolean;
  /** about the whole file: the filter does not apply */
  unfiltered?: boolean;
  /** absent: always */
  offered?: () => boolean;
  component: ComponentType;
  /** absent: its script is always there */
  prepare?: () => void;
}

const ALL: readonly View[] = [
  {
    name: "overview",
    title: "Overview",
    group: "Look",
    icon: "overview",
    docked: false,
    needsDevice: true,
    unfiltered: true,
    component: OverviewView,
  },
  {
    name: "timeline",
    title: "Timeline",
    group: "Look",
    icon: "timeline",
    docked: true,
    needsDevice: true,
    component: TimelineView,
  },
  {
    name: "map",
    title: "Map",
    group: "Look",
    icon: "map",
    docked: true,
    needsDevice: true,
    ...later(() => import("./map/map_view").then((of) => of.MapView)),
  },
  {
    name: "state",
    title: "State",
    group: "Look",
    icon: "state",
    docked: true,
    needsDevice: true,
    ...later(() => import("./state/state_view").then((of) => of.StateView)),
  },
  {
    name: "flame",
    title: "Flame",
    group: "Look",
    icon: "flame",
    docked: true,
    needsDevice: true,
    component: FlameView,
  },
  {
    name: LANES_VIEW,
    title: "Side by side",
    group: "Look",
    icon: "lanes",
    docked: true,
    needsDevice: true,
    offered: () => severalLanes.value,
    ...later(() => import("./lanes/lanes_view").then((of) => of.LanesView)),
  },
  {
    name: OOM_VIEW,
    title: "Out of memory",
    group: "Explain",
    icon: "alert",
    docked: true,
    needsDevice: true,
    unfiltered: true,
    ...later(() => import("./oom/oom_view").then((of) => of.OomView)),
  },
  {
    name: "fragmentation",
    title: "Fragmentation",
    group: "Explain",
    icon: "frag",
    docked: false,
    needsDevice: true,
    unfiltered: true,
    ...later(() => import("./frag/frag_view").then((of) => of.FragView)),
  },
  {
    name: WHAT_IF_VIEW,
    title: "What if",
    key: "R",
    group: "Explain",
    icon: "whatif",
    docked: false,
    needsDevice: true,
    unfiltered: true,
    ...later(() => import("./what_if/what_if_view").then((of) => of.WhatIfView)),
  },
  {
    name: "diff",
    title: "Diff",
    group: "Explain",
    icon: "diff",
    docked: false,
    needsDevice: true,
    unfiltered: true,
    ...later(() => import("./diff/diff_view").then((of) => of.DiffView)),
  },
  {
    name: "growth",
    title: "Growth",
    group: "Explain",
    icon: "growth",
    docked: true,
    needsDevice: true,
    unfiltered: true,
    ...later(() => import("./growth/growth_view").then((of) => of.GrowthView)),
  },
  {
    name: "tables",
    title: "Tables",
    key: "T",
    group: "Ask",
    icon: "tables",
    docked: false,
    needsDevice: true,
    ...later(() => import("./tables/tables_view").then((of) => of.TablesView)),
  },
  {
    name: "sql",
    title: "SQL",
    key: "Q",
    group: "Ask",
    icon: "sql",
    docked: false,
    needsDevice: false,
    unfiltered: true,
    ...later(() => import("./sql/sql_view").then((of) => of.SqlView)),
  },
  {
    name: LIVE_VIEW,
    title: "Live",
    key: "V",
    group: "Watch",
    icon: "live",
    docked: false,
    needsDevice: false,
    unfiltered: true,
    ...later(() => import("./live/live_view").then((of) => of.LiveView)),
  },
  {
    name: WORKING_SET_VIEW,
    title: "Working set",
    key: "H",
    group: "Watch",
    icon: "workingset",
    docked: false,
    needsDevice: false,
    unfiltered: true,
    offered: () => workingSets.value.length > 0,
    ...later(() => import("./working_set/working_set_view").then((of) => of.WorkingSetView)),
  },
];

/** What an exported page can show. */
const FROZEN = ["overview", "timeline", "flame"];

export const VIEWS: readonly View[] =
  frozen === null ? ALL : ALL.filter((view) => FROZEN.includes(view.name));
/** In the order of the rail and of the number keys. */
export function offeredViews(): readonly View[] {
  if (monitoring.value) return VIEWS.filter(({ name }) => name === LIVE_VIEW);
  if (onlyWorkingSets.value) return VIEWS.filter(({ name }) => name === WORKING_SET_VIEW);
  return VIEWS.filter(({ offered }) => offered?.() ?? true);
}

/** The key of each view: its own, or the next of 1 … 9, 0. */
export function viewKeys(views: readonly View[] = offeredViews()): ReadonlyMap<string, string> {
  const digits = [..."1234567890"];
  return new Map(views.map((view) => [view.key ?? digits.shift() ?? "", view.name]));
}

export function viewNamed(name: string): View | undefined {
  return VIEWS.find((view) => view.name === name);
}
