// A line of a few values, as high as a row of text.

/** An SVG path through the values, from 0 up, `width` × `height`. */
export function sparkPath(values: readonly number[], width: number, height: number): string {
  if (values.length === 0) return "";
  const most = Math.max(1, ...values);
  const x = (at: number) => (values.length === 1 ? 0 : (at / (values.length - 1)) * width);
  const y = (value: number) => height - (value / most) * height;
  const points = values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
  if (values.length === 1) points.push(`${width},${y(values[0] ?? 0).toFixed(1)}`);
  return `M${points.join("L")}`;
}

interface SparkProps {
  values: readonly number[];
  width: number;
  height: number;
  /** in words; absent: the numbers stand beside it */
  text?: string;
}

export function Spark({ values, width, height, text }: SparkProps) {
  const path = <path d={sparkPath(values, width, height - 2)} transform="translate(0 1)" />;
  if (text === undefined) {
    return (
      <svg class="spark" width={width} height={height} aria-hidden="true">
        {path}
      </svg>
    );
  }
  return (
    <svg class="spark" width={width} height={height} role="img" aria-label={text}>
      <title>{text}</title>
      {path}
    </svg>
  );
}
