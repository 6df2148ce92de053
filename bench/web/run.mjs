// SPDX-License-Identifier: Apache-2.0
// node run.mjs SITE OPENCV [ROUNDS]: prints what bench/web/page.js measures in chromium.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, serve } from "../../tests/web/browser.mjs";

const [, , site, opencv, rounds = "60"] = process.argv;
const COLUMNS = ["gray", "detect", "describe", "match", "homography", "together"];

async function printTargets(page, count) {
  const { bytes, memory, add, query, right, queries } = await page.evaluate((n) => globalThis.measureTargets(n), count);
  const times = ([least, median]) => `${least.toFixed(2)} ms at least, ${median.toFixed(2)} by the median`;
  console.log(`\n${count} targets of 250 keypoints: ${(bytes / 1e6).toFixed(1)} MB in the index, ${(memory / 1e6).toFixed(1)} MB of `
    + `memory in all\nto add a picture of 320 x 240: ${times(add)}\nto query with 800 keypoints, 4 verified: `
    + `${times(query)}; ${right} of ${queries} right`);
}

/** From the navigation to the first paint and to the first result of the sample pictures. */
async function printStart(context, address) {
  const page = await context.newPage();
  await page.goto(`${address}/index.html`, { waitUntil: "commit" });
  await page.click("#sample");
  await page.waitForFunction(() => document.getElementById("status").dataset.inliers);
  const [paint, result] = await page.evaluate(() =>
    [performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN, performance.now()]);
  console.log(`\nthe page Match: first paint after ${paint.toFixed(0)} ms, first result after ${result.toFixed(0)} ms`);
  await page.close();
}

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
  await printTargets(page, 1000);
  await printStart(context, server.address);
} finally {
  await context.close();
  server.close();
}
