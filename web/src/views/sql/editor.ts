// The SQL editor: CodeMirror, loaded only when the SQL view opens. It lives in a shadow root,
// because there it brings its styles as constructed style sheets; the page's content security
// policy forbids style elements.
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLite, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Schema } from "../../api/query_contract";

export interface SqlEditor {
  text: () => string;
  setText: (text: string) => void;
  insert: (text: string) => void;
  focus: () => void;
  destroy: () => void;
}

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--tg-accent)", fontWeight: "500" },
  { tag: tags.string, color: "var(--tg-reserved-text)" },
  { tag: tags.comment, color: "var(--tg-ink-3)", fontStyle: "italic" },
  { tag: [tags.number, tags.operator, tags.punctuation], color: "var(--tg-ink)" },
]);

const LOOK = EditorView.theme({
  "&": {
    backgroundColor: "var(--tg-surface)",
    color: "var(--tg-ink)",
    fontSize: "12.5px",
    height: "100%",
  },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--tg-font-mono)", lineHeight: "20px", overflow: "auto" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--tg-accent)" },
  ".cm-gutters": {
    backgroundColor: "var(--tg-surface)",
    color: "var(--tg-ink-3)",
    border: "0",
    paddingLeft: "8px",
  },
  ".cm-activeLine": { backgroundColor: "transparent" },
  ".cm-cursor": { borderLeftColor: "var(--tg-accent)", borderLeftWidth: "1.5px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    {
      backgroundColor: "var(--tg-selected)",
    },
  ".cm-placeholder": { color: "var(--tg-ink-3)" },
  ".cm-matchingBracket": { backgroundColor: "var(--tg-press)", color: "inherit" },
  ".cm-tooltip": {
    backgroundColor: "var(--tg-raised)",
    color: "var(--tg-ink)",
    border: "1px solid var(--tg-line-2)",
    borderRadius: "6px",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--tg-font-mono)", fontSize: "12px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--tg-selected)",
    color: "var(--tg-ink)",
  },
  ".cm-completionDetail": { color: "var(--tg-ink-3)", fontStyle: "normal" },
});

/**
 * Typing over a selection: the browser's own editing would carry the colours of what was selected
 * along in a style attribute, which the page's policy forbids and reports. The editor's handlers of
 * input (brackets and quotes wrap the selection) are asked as they would be.
 */
const REPLACE_SELECTION = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data, inputType } = event;
    const { main } = view.state.selection;
    if (inputType !== "insertText" || data === null || view.composing || main.empty) return false;
    event.preventDefault();
    const insert = () =>
      view.state.update(view.state.replaceSelection(data), {
        userEvent: "input.type",
        scrollIntoView: true,
      });
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((one) => one(view, main.from, main.to, data, insert))) {
      view.dispatch(insert());
    }
    return true;
  },
});

export function createEditor(
  host: HTMLElement,
  text: string,
  schema: Schema,
  onRun: () => void,
  onChange: (text: string) => void,
): SqlEditor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const tables = Object.fromEntries(
    schema.tables.map((table) => [
      table.name,
      table.columns.map((column) => ({
        label: column.name,
        detail: column.type,
        info: column.doc,
      })),
    ]),
  );
  const functions = schema.functions.map((one) => ({
    label: one.name.replace(/\(.*$/, ""),
    type: "function",
    info: one.doc,
  }));
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        autocompletion({ icons: false }),
        sql({ dialect: SQLite, schema: tables, upperCaseKeywords: true }),
        EditorState.languageData.of(() => [{ autocomplete: completeFrom(functions) }]),
        syntaxHighlighting(COLOURS),
        LOOK,
        REPLACE_SELECTION,
        placeholder("SELECT …"),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({
          "aria-label": "SQL query. Control and Enter run it, Escape leaves it.",
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
        Prec.highest(
          keymap.of([
            {
              key: "Mod-Enter",
              run: (of) => {
                closeCompletion(of);
                onRun();
                return true;
              },
            },
          ]),
        ),
        keymap.of([
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...historyKeymap,
          ...defaultKeymap,
          // when it closes nothing else, it gives the keys back to the page
          { key: "Escape", run: leave },
        ]),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    setText: (next) =>
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    insert: (piece) => {
      view.dispatch(view.state.replaceSelection(piece));
      view.focus();
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

function leave(view: EditorView): boolean {
  view.contentDOM.blur();
  return true;
}

interface Choice {
  label: string;
  type: string;
  info: string;
}

function completeFrom(choices: readonly Choice[]) {
  return (context: {
    matchBefore: (pattern: RegExp) => { from: number; to: number } | null;
    explicit: boolean;
  }) => {
    const word = context.matchBefore(/\w+/);
    if (!word && !context.explicit) return null;
    return { from: word?.from ?? 0, options: choices, validFor: /^\w*$/ };
  };
}
