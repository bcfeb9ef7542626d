export function Inspector() {
  return <aside class="side" aria-label="Inspector" />;
}
