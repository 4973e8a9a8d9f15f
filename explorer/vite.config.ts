import { defineConfig } from "vite";

// A running service, for `npm run dev`.
const service = process.env["BRAID_API"] ?? "http://127.0.0.1:8080";

export default defineConfig({
  base: "/explorer/",
  server: { proxy: Object.fromEntries(["/v1", "/ready", "/health", "/metrics", "/docs"].map((path) => [path, service])) },
  build: {
    target: "es2022",
    // The service serves four files under fixed names; their ETag tells a browser when they changed.
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    rollupOptions: {
      output: {
        codeSplitting: false,
        entryFileNames: "app.js",
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith(".css")) ? "app.css" : "[name][extname]"),
      },
    },
  },
});
