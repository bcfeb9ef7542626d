// Bytes by stack: an icicle of frames from the outermost in, or one frame between its callers and
// its callees. A press on a frame picks it, in every view.

import { useEffect, useRef } from "preact/hooks";
import type { LegendBy } from "../../api/contract";
import { frozen } from "../../api/frozen";
import { flame, flameTree, needsSpan, pickedFrame, sandwich } from "../../state/answers/flame";
import type { FlameOf, FrameKinds } from "../../state/link/url";
import { cursorStep } from "../../state/page/cursor";
import { device, go, page, pictured } from "../../state/page/store";
import { bytesText, counted, integer, percent } from "../../text/units";
import { Icon } from "../../ui/icons";
import { Menu } from "../../ui/menu";
import { ErrorNotice, Notice, RECORD_CODE } from "../../ui/notice";
import { Switch } from "../../ui/switch";
import { InnerList } from "./inner_list";
import { toggleSandwich } from "./keys";
import { finding, foundBytes, look, pick, rootText, totalText } from "./model";
import { FlamePicture } from "./picture";
import { SpanStrip } from "./span_strip";
import { FlameTip } from "./tip";

const MODES: readonly [FlameOf, string, string][] = [
  ["live", "Live at cursor", "Memory that is live after the step of the cursor"],
  ["peak", "At peak", "Memory that was live at the peak"],
  ["allocated", "Allocated", "Memory that was allocated in the range"],
  ["growth", "Growth", "Memory that is live at the second mark and was not at the first"],
  ["churn", "Churn", "Memory that was allocated and freed in the range"],
];
const SHAPES = [
  { key: "icicle", text: "Icicle" },
  {
    key: "sandwich",
    text: "Sandwich",
    title: "Callers and callees of the picked frame, or of the largest  b",
  },
] as const;
const KINDS: readonly [FrameKinds, string][] = [
  ["all", "Both"],
  ["python", "Python"],
  ["cpp", "C++"],
];

function Head() {
  const now = page.value;
  const sandwiched = now.sandwich !== null;
  return (
    <header class="viewhead">
      <h1>Flame</h1>
      <span class="sub cut" title={`${rootText.value}, ${totalText.value}`}>
        {totalText.value !== "" && (
          <>
            {rootText.value}, <b class="strong">{totalText.value}</b>
          </>
        )}
      </span>
      <Switch
        label="What the bytes are"
        options={MODES.map(([key, text, title]) => ({
          key,
          text,
          title: `${title}  m`,
          disabled: needsSpan(key) && (device.value?.events ?? 0) === 0,
        }))}
        chosen={now.flame}
        onChoose={(of) => go({ flame: of })}
      />
      {frozen === null && (
        <Switch
          label="Shape"
          options={SHAPES}
          chosen={sandwiched ? "sandwich" : "icicle"}
          onChoose={(key) => (key === "sandwich") !== sandwiched && toggleSandwich()}
        />
      )}
    </header>
  );
}

const TYPING_MS = 200;

/** A field whose text goes into the URL when the hand rests. */
function PatternField({ id, name, hint }: { id: "find" | "hide"; name: string; hint: string }) {
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  const text = page.value[id];
  useEffect(() => {
    if (input.current && document.activeElement !== input.current) input.current.value = text;
  }, [text]);
  const set = (value: string) => go(id === "find" ? { find: value } : { hide: value });
  return (
    <label class="labelled">
      <span class="k">{name}</span>
      <input
        class="field mono"
        id={`flame-${id}`}
        type="search"
        ref={input}
        defaultValue={text}
        placeholder="text or /regex/"
        title={hint}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          const { value } = event.currentTarget;
          window.clearTimeout(timer.current);
          timer.current = window.setTimeout(() => set(value), TYPING_MS);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Escape" && event.key !== "Enter") return;
          window.clearTimeout(timer.current);
          if (event.key === "Escape" && input.current) input.current.value = "";
          set(input.current?.value ?? "");
          document.querySelector<HTMLElement>("#flame")?.focus();
          event.preventDefault();
        }}
      />
    </label>
  );
}

function Found() {
  const match = finding.value;
  if (typeof match === "string") return <span class="cut">{match}</span>;
  const of = foundBytes.value;
  if (match === null || of === null) return null;
  if (of.nodes === 0) return <span>no frame matches</span>;
  const share = percent(of.bytes / Math.max(1, look.value?.totalBytes ?? 1));
  return (
    <span class="num cut">
      <b>{bytesText(of.bytes)}</b> in {counted(of.nodes, "cell")}, {share}
    </span>
  );
}

/** Which frames the graph is made of. */
function FrameTools() {
  const { frames, noise } = page.value;
  return (
    <>
      <PatternField id="hide" name="Hide" hint="Hides the frames that match; their bytes stay" />
      <Switch
        label="Frames"
        options={KINDS.map(([key, text]) => ({ key, text }))}
        chosen={frames}
        onChoose={(kind) => go({ frames: kind, zoom: [] })}
      />
      <button
        type="button"
        class="btn quiet opt"
        aria-pressed={noise}
        title="Also show framework frames that only forward the call"
        onClick={() => go({ noise: !noise, zoom: [] })}
      >
        {noise && <Icon name="check" />}All frames
      </button>
    </>
  );
}

function Tools() {
  const { colour } = page.value;
  const byCategory = colour === "category";
  const choices: readonly [LegendBy, string][] = [
    ["stack", "stack"],
    ["category", "category"],
  ];
  const hasCategories = flameTree.value?.nodes.some((node) => node.category !== null) ?? false;
  return (
    <div class="strip flametools">
      <PatternField id="find" name="Find" hint="Highlights the frames that match  p" />
      <Found />
      <span class="spacer" />
      {frozen === null && <FrameTools />}
      {(hasCategories || byCategory) && (
        <Menu
          label={`Colour by ${byCategory ? "category" : "stack"}`}
          class="pick"
          items={choices.map(([key, label]) => ({ key, label }))}
          chosen={byCategory ? "category" : "stack"}
          onChoose={(key) => go({ colour: key as LegendBy })}
        >
          <span class="k">Colour</span>
          {byCategory ? "category" : "stack"}
        </Menu>
      )}
    </div>
  );
}

function Empty() {
  const of = page.value.flame;
  const some = (device.value?.allocations ?? 0) > 0;
  return (
    <div class="flameempty">
      <Notice
        icon="flame"
        title={
          !some ? "This device has no allocations" : of === "growth" ? "No growth" : "No bytes here"
        }
        {...(some ? {} : { code: RECORD_CODE })}
        actions={
          <>
            {page.value.filter !== "" && (
              <button type="button" class="btn" onClick={() => go({ filter: "" })}>
                Clear the filter
              </button>
            )}
            {some && of !== "peak" && (
              <button type="button" class="btn" onClick={() => go({ flame: "peak" })}>
                At the peak
              </button>
            )}
          </>
        }
      >
        <p>
          {of === "growth"
            ? "No stack holds more or less at the second mark. Move a mark to compare other steps."
            : `No memory is ${rootText.value}`}
          {of !== "growth" && (page.value.filter === "" ? "." : " and passes the filter.")}
        </p>
      </Notice>
    </div>
  );
}

/** What of the tree is not drawn, said where the numbers are. */
function Limits() {
  const tree = flameTree.value;
  if (!tree || tree.nodesTotal <= tree.nodes.length) return null;
  return (
    <span class="note">
      {integer(tree.nodes.length)} of {integer(tree.nodesTotal)} cells; those below{" "}
      {bytesText(tree.thresholdBytes)} are combined
    </span>
  );
}

/** An exported page holds what was live at some steps. */
function OtherStep() {
  const from = flame.value.data?.from ?? null;
  if (frozen === null || page.value.flame !== "live" || from === null) return null;
  if (from === cursorStep.value) return null;
  return (
    <span class="note">
      the cursor is at step {integer(cursorStep.value)}; this is the nearest step in this page
    </span>
  );
}

export function FlameView() {
  const answer = page.value.sandwich === null ? flame.value : sandwich.value;
  const tree = flameTree.value;
  useEffect(() => {
    // the first picture is complete, or failed
    if (tree || answer.error) pictured.value = true;
  }, [tree, answer.error]);
  const empty = tree !== null && tree.nodes.length === 1;
  const stale = answer.loading;
  const picked = pickedFrame.value;
  return (
    <section class="view on" aria-label="Flame">
      <Head />
      <Tools />
      {needsSpan(page.value.flame) && frozen === null && <SpanStrip />}
      <div class={`body fill flamebody${stale ? " stale" : ""}`} aria-busy={stale}>
        {answer.error && (
          <div class="pad14">
            <ErrorNotice
              error={answer.error}
              retry={() => go({ hide: "", sandwich: null, filter: "" })}
              retryLabel="Show everything"
            />
          </div>
        )}
        {!answer.error && empty && <Empty />}
        {!answer.error && tree && !empty && (
          <>
            <FlamePicture />
            <div class="phead tophr">
              <h2>By innermost frame of your code</h2>
              <Limits />
              <OtherStep />
              {picked !== null && (
                <button type="button" class="btn quiet end" onClick={() => pick(null)}>
                  Clear the picked frame <kbd>Esc</kbd>
                </button>
              )}
            </div>
            <InnerList tree={tree} />
          </>
        )}
        {!tree && !answer.error && (
          <div class="center">
            <div class="progress" role="progressbar" aria-label="Loading the flame graph" />
          </div>
        )}
      </div>
      <FlameTip />
    </section>
  );
}
