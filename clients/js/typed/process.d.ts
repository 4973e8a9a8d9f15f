// What the client uses of Node.js.
declare const process: { env: Record<string, string | undefined> };
