// Line icons on a 16 px grid, 1.5 px strokes in the colour of the text around them.
import type { ComponentChildren } from "preact";

const SHAPES = {
  overview: (
    <>
      <path d="M4 2v12M4 3.5h3M4 6h2M4 8.5h3M4 11h2" />
      <path d="M8.5 9.5c1-.9 1.6-.9 2.5 0s1.6.9 2.5 0" />
    </>
  ),
  timeline: <path d="M2 13.5h12M2 10l3-1.5 3 1 3-4 3-.5M2 6.5l3-1.5 3 .5 3-2.5h3" />,
  lanes: (
    <path d="M2 4.500h12M2 3l4-.5 3-1 5 .5M2 9.250h12M2 7.500l4-.5 4 .5 4-1.500M2 14h12M2 12l3 .5 4-2 5 .5" />
  ),
  map: (
    <path d="M2.500 3h6v3.500h-6zM10.500 3h3v3.500h-3zM4.500 8.500h4V13h-4zM10.500 8.500h3V13h-3z" />
  ),
  state: (
    <>
      <path d="M2 3h12v3H2zM2 9.500h12v3H2z" />
      <path d="M6 3v3M10 3v3M8 9.500v3" />
    </>
  ),
  phases: <path d="M2 3.500h12M2 7h7M10.500 7H14M2 10.500h3M6.500 10.500h2.500M2 13.500h12" />,
  pause: <path d="M5.500 3.500v9M10.500 3.500v9" />,
  flame: <path d="M2 2.5h12v3H2zM2 5.5h8v3H2zM2 8.5h4.5v3H2zM10 5.5h4v3h-4z" />,
  frag: <path d="M2 4.500h12v7H2zM5 4.500v7M7.500 4.500v7M11 4.500v7" />,
  diff: <path d="M5 2.500v7M1.800 6h6.400M8.500 12.500h5.500M3 13.500 13 2.500" />,
  growth: <path d="M2 13.500h12M2 11l3-1.500 3-.5 2.500-3L14 3M10.500 3H14v3.500" />,
  tables: <path d="M2.5 3h11v10h-11zM2.5 6.2h11M2.5 9.6h11M6.5 6.2V13" />,
  filter: <path d="M2.5 3.5h11L9.5 8.2v4.3l-3-1.5V8.2z" />,
  copy: <path d="M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1" />,
  sql: <path d="m3 4.5 3.5 3.5L3 11.5M8.5 12h5" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4" />
      <path d="m10 10 3.5 3.5" />
    </>
  ),
  link: (
    <path d="M6.5 9.5 9.5 6.5M7.2 4.5l1.6-1.6a2.9 2.9 0 0 1 4.2 4.2l-1.6 1.6M8.8 11.5l-1.6 1.6A2.9 2.9 0 0 1 3 8.9l1.6-1.6" />
  ),
  theme: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 2.5v11a5.5 5.5 0 0 0 0-11z" fill="currentColor" stroke="none" />
    </>
  ),
  help: (
    <>
      <circle cx="8" cy="8" r="5.750" />
      <path d="M6.3 6.4a1.750 1.750 0 1 1 2.5 1.6c-.5.250-.8.6-.8 1.2M8 11.2v.1" />
    </>
  ),
  side: <path d="M2.5 3h11v10h-11zM10 3v10" />,
  down: <path d="m4 6.5 4 4 4-4" />,
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  check: <path d="m3 8.5 3.3 3.3L13 5" />,
  go: <path d="m6 4 4 4-4 4" />,
  play: <path d="M5 3.5v9l7.5-4.5z" />,
  prev: <path d="m10 4-4 4 4 4" />,
  out: <path d="M8 2.5v7.5M5 7l3 3 3-3M2.5 13.5h11" />,
  live: (
    <>
      <circle cx="8" cy="8" r="1.600" />
      <path d="M4.800 11.200a4.500 4.500 0 0 1 0-6.400M11.200 4.800a4.500 4.500 0 0 1 0 6.400M2.800 13.200a7.400 7.400 0 0 1 0-10.400M13.200 2.800a7.400 7.400 0 0 1 0 10.400" />
    </>
  ),
  whatif: <path d="M2 13.500h12M2 11c4 0 5-6 11-6.500M10 2l3.200 2.500L10.700 7.500" />,
  workingset: <path d="M2.5 13.5v-11M2.5 13.5h11M4.5 11.5c3 0 3.5-7 9-8" />,
  alert: <path d="M8 2 14 13.5H2zM8 6.5v3.2M8 11.6v.1" />,
} satisfies Record<string, ComponentChildren>;

export type IconName = keyof typeof SHAPES;

export function Icon({ name, class: extra = "" }: { name: IconName; class?: string }) {
  return (
    <svg class={`icon ${extra}`} viewBox="0 0 16 16" aria-hidden="true">
      {SHAPES[name]}
    </svg>
  );
}

/** A tide gauge: a staff with waves and the mark of its peak. */
export function Logo() {
  return (
    <svg
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      aria-hidden="true"
    >
      <path d="M5 2v16M5 3.5h4M5 6.5h2.5M5 9.5h4M5 12.5h2.5M5 15.5h4" />
      <path class="wave" d="M11 11.8c1.1-1.1 2-1.1 3.1 0s2 1.1 3.4-.1" />
      <path class="mark" d="m12 5.5 4.2-2.3v4.6z" />
    </svg>
  );
}
