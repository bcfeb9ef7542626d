// The canvas of one bar: drawn anew when its parts, its width or the theme change; a click finds
// the part under it.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { LayoutSegment } from "../../api/layout";
import { partAt } from "../../api/layout";
import { mark } from "../../state/answers/marks";
import { page } from "../../state/page/store";
import { theme } from "../../state/page/theme";
import { bytesText, counted } from "../../text/units";
import { surface, Tokens } from "../../ui/plot";
import { type Bar, drawBar } from "./bar";

let tokens = new Tokens();
let tokensOf = theme.peek();

interface BarCanvasProps {
  of: LayoutSegment;
  bar: Pick<Bar, "parts" | "begin" | "end" | "bytes">;
  width: number;
  onPick: (part: number) => void;
}

export function BarCanvas({ of, bar, width, onPick }: BarCanvasProps) {
  const ref = useRef<HTMLCanvasElement>(null);
  const look = theme.value;
  const selected = page.value.sel;
  const byCategory = page.value.colour === "category";
  const marked = mark.value !== null;
  const paint = () => {
    const canvas = ref.current;
    if (!canvas) return;
    if (tokensOf !== look) {
      tokens = new Tokens();
      tokensOf = look;
    }
    const s = surface(canvas, tokens);
    if (s) drawBar(s, { ...bar, byCategory, selected, marked, dark: look === "dark" });
  };
  useLayoutEffect(paint);
  useEffect(paint, [width]);
  const pick = (event: MouseEvent) => {
    const canvas = event.currentTarget as HTMLCanvasElement;
    const offset = (event.offsetX / Math.max(1, canvas.clientWidth)) * bar.bytes;
    onPick(partAt(bar.parts, bar.begin, bar.end, offset));
  };
  return (
    <canvas
      ref={ref}
      role="img"
      aria-label={`${counted(of.blocks, "block")}, ${bytesText(of.live_bytes)} live, ${bytesText(of.free_bytes)} free in ${counted(of.free_parts, "part")}`}
      onClick={pick}
    />
  );
}
