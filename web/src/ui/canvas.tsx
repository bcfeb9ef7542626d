// A canvas that is redrawn when its size, its data or the theme changes.
import { useEffect, useRef } from "preact/hooks";
import { theme } from "../state/page/theme";
import { type Surface, surface, Tokens } from "./plot";

interface CanvasProps {
  label: string;
  class?: string;
  draw: (surface: Surface) => void;
}

export function Canvas({ label, class: extra = "", draw }: CanvasProps) {
  const ref = useRef<HTMLCanvasElement>(null);
  const look = theme.value;
  useEffect(() => {
    const canvas = ref.current;
    if (!canvas) return;
    void look;
    let ticket = 0;
    const tokens = new Tokens();
    const paint = () => {
      const s = surface(canvas, tokens);
      if (s) draw(s);
    };
    paint();
    const observer = new ResizeObserver(() => {
      cancelAnimationFrame(ticket);
      ticket = requestAnimationFrame(paint);
    });
    observer.observe(canvas);
    return () => {
      cancelAnimationFrame(ticket);
      observer.disconnect();
    };
  }, [draw, look]);
  return <canvas ref={ref} class={extra} role="img" aria-label={label} />;
}
