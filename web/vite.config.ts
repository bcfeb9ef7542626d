import { defineConfig } from "vitest/config";

// Every URL is relative: the page lives below a random token. Nothing is inlined: the content
// security policy of the server allows no inline script, no inline style.
// For `npm run dev`: TIDEGAUGE_BACKEND=http://127.0.0.1:PORT/TOKEN of a running tidegauge view.
const backend = process.env.TIDEGAUGE_BACKEND;

export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
    // What the first picture needs is one file, also where views that are loaded later need it, too:
    // that takes one round trip, and an exported page holds one script (tools/inline_page.py).
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [{ name: "page", test: /src\/main\.tsx$/, includeDependenciesRecursively: true }],
        },
      },
    },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  server: backend
    ? {
        proxy: {
          "/api": {
            target: new URL(backend).origin,
            changeOrigin: true,
            headers: { origin: new URL(backend).origin },
            rewrite: (path) => new URL(backend).pathname.replace(/\/$/, "") + path,
          },
        },
      }
    : {},
  // tokens.test.ts reads the style sheet as text
  test: { include: ["src/**/*.test.ts"], css: true },
});
