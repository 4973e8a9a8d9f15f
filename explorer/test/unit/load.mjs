// Loads a module of the page as the page's own build would.
import { createServer } from "vite";

const server = await createServer({ root: new URL("../..", import.meta.url).pathname, server: { middlewareMode: true, watch: null, hmr: false, ws: false }, appType: "custom", logLevel: "error", optimizeDeps: { noDiscovery: true } });

export const load = (path) => server.ssrLoadModule(path);
export const close = () => server.close();
