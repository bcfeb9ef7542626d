export function SqlView() {
  return <h1>SQL</h1>;
}
