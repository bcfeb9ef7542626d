// The keys of the flame view.
import { frozen } from "../../api/frozen";
import { pickedFrame } from "../../state/answers/flame";
import { FLAMES } from "../../state/link/url";
import { go, page } from "../../state/page/store";
import { ROW } from "./draw";
import { cellOf, type Direction, stepFrom } from "./layout";
import { focused, layers, likelyFrame, openSandwich, pick, zoomedNode, zoomTo } from "./model";

const ARROWS: Record<string, Direction> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

/** `box`: what scrolls. */
export function flameKey(event: KeyboardEvent, box: HTMLElement | null): boolean {
  // lists and buttons beside the picture have their own use for these
  const target = event.composedPath()[0];
  const elsewhere =
    target instanceof HTMLElement && target.matches("a, button, [role=option], .flamelist *");
  const arrow = ARROWS[event.key];
  if (elsewhere && (arrow || event.key === " " || event.key === "Enter")) return false;
  if (arrow) return move(arrow, box);
  const node = cellOf(layers.peek(), focused.peek())?.node ?? null;
  switch (event.key) {
    case " ":
      if (node?.frame) pick(pickedFrame.peek() === node.frame.id ? null : node.frame.id);
      return node !== null;
    case "Enter":
      if (node) zoomTo(node);
      return node !== null;
    case "Backspace":
      return out();
    case "f":
      go({ zoom: [], sandwich: null }, true);
      return true;
    case "g":
      go({ colour: page.peek().colour === "category" ? "stack" : "category" });
      return true;
    case "b":
      toggleSandwich();
      return true;
    case "m":
    case "M":
      nextMode(event.key === "m" ? 1 : -1);
      return true;
    case "p":
      document.querySelector<HTMLElement>("#flame-find")?.focus();
      return true;
    case "Escape":
      return stepBack();
    default:
      return false;
  }
}

function move(direction: Direction, box: HTMLElement | null): boolean {
  const now = layers.peek();
  if (!now) return false;
  const next = stepFrom(now, focused.peek(), direction);
  if (next) focused.value = next;
  const top = (next?.row ?? 0) * ROW;
  if (box && next) {
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + ROW > box.scrollTop + box.clientHeight) {
      box.scrollTop = top + ROW - box.clientHeight;
    }
  }
  return true;
}

/** One frame further out. */
function out(): boolean {
  if (page.peek().sandwich !== null) {
    go({ sandwich: null }, true);
    return true;
  }
  const parent = zoomedNode.peek()?.parent ?? null;
  if (parent) zoomTo(parent);
  return parent !== null;
}

export function toggleSandwich(): void {
  if (frozen !== null) return;
  if (page.peek().sandwich !== null) {
    go({ sandwich: null }, true);
    return;
  }
  const frame = likelyFrame();
  if (frame !== null) openSandwich(frame);
}

function nextMode(by: number): void {
  const at = FLAMES.indexOf(page.peek().flame);
  const next = FLAMES[(at + by + FLAMES.length) % FLAMES.length];
  if (next) go({ flame: next });
}

/** The picked frame first, then the sandwich, then the zoom. */
function stepBack(): boolean {
  const now = page.peek();
  if (focused.peek()) focused.value = null;
  else if (pickedFrame.peek() !== null) pick(null);
  else if (now.sandwich !== null) go({ sandwich: null }, true);
  else if (now.zoom.length > 0) go({ zoom: [] }, true);
  else if (now.find !== "") go({ find: "" });
  else return false;
  return true;
}
