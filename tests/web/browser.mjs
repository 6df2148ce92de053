// SPDX-License-Identifier: Apache-2.0
// A static server and Debian's chromium, for the tests of the pages and for bench/web.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm",
  ".json": "application/json" };

/** require() for what web_tools installed. */
export const tools = createRequire(join(process.env.KEYBITS_TOOLS, "x.js"));

/** Serves folders, the first that has a file; { address, close }. */
export async function serve(folders, headers = {}) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname));
    for (const folder of folders) {
      try {
        const body = readFileSync(join(folder, path === "/" ? "index.html" : path));
        response.writeHead(200, { ...headers, "content-type": TYPES[extname(path)] ?? "application/octet-stream" });
        response.end(body);
        return;
      } catch { /* the next folder */ }
    }
    response.writeHead(404).end();
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  return { address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

const PATIENCE = 300000; // ms that a page may take for anything: a busy machine is no failure

/** A browser with a profile of its own below the current folder. */
export async function launch(...args) {
  const context = await tools("playwright-core").chromium.launchPersistentContext("profile", {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    timeout: PATIENCE,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
      "--no-first-run", ...args],
  });
  context.setDefaultTimeout(PATIENCE);
  return context;
}
