// node run.mjs SITE OPENCV [ROUNDS]: prints what bench/web/page.js measures in chromium.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, serve } from "../../tests/web/browser.mjs";

const [, , site, opencv, rounds = "60"] = process.argv;
const COLUMNS = ["gray", "detect", "describe", "match", "homography", "together"];

// A page that is isolated has a clock of 5 microseconds instead of 100.
const server = await serve([site, dirname(opencv), dirname(fileURLToPath(import.meta.url))],
  { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" });
const context = await launch();
try {
  const page = await context.newPage();
  page.on("pageerror", (error) => console.error(String(error)));
  await page.goto(`${server.address}/page.html`);
  await page.waitForFunction(() => globalThis.measure);
  const rows = await page.evaluate((n) => globalThis.measure(n), Number(rounds));
  console.log(`${await page.evaluate(() => navigator.userAgent)}\none frame of 640 x 480, at most 1000 keypoints, one `
    + `thread, ${rounds} rounds in turns; ms\n`);
  for (const kind of ["least", "median"]) {
    console.log(`| ${kind} | ${COLUMNS.join(" | ")} | keypoints | inliers |\n|---${"|---:".repeat(COLUMNS.length + 2)}|`);
    for (const row of rows) {
      console.log(`| ${[row.name, ...row[kind].map((ms) => ms.toFixed(2)), row.keypoints, row.inliers].join(" | ")} |`);
    }
    console.log();
  }
  const theirs = rows.find(({ name }) => name.startsWith("opencv"));
  for (const row of rows) {
    if (row === theirs) continue;
    const ratio = (kind) => (theirs[kind].at(-1) / row[kind].at(-1)).toFixed(1);
    console.log(`${row.name}: ${ratio("least")} times as fast as ${theirs.name} by the least times, `
      + `${ratio("median")} by the medians`);
  }
} finally {
  await context.close();
  server.close();
}
