// Runs before the first paint, so that a dark page does not flash white.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("tidegauge.theme");
  } catch {
    // storage is off: the system's theme it is
  }
  if (theme !== "dark" && theme !== "light") {
    theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }
  document.documentElement.dataset.theme = theme;
})();
