// The page that measures this device.
import { Features, findHomography, load, match, version } from "./package/keybits.js";
import { byId, say } from "./picture.js";
import { backFrom, place, poster } from "./scene.js";

const ROUNDS = 30;
const COLUMNS = ["detect", "describe", "match", "homography"];
const rows = [];

function scenes() {
  const first = poster(640, 480, 9, 400);
  const back = backFrom(first, { x: 320, y: 240, scale: 0.9, c: 0.98, s: 0.198 });
  return [first, place(poster(640, 480, 10, 100), first, back)];
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const pause = () => new Promise((resolve) => { setTimeout(resolve, 0); });

async function measure(model) {
  const options = { model, maxKeypoints: 1000 };
  const [first, second] = scenes();
  const a = new Features(first, options);
  const times = COLUMNS.map(() => []);
  let inliers = 0;
  for (let i = 0; i < ROUNDS + 3; i++) {
    const b = new Features(second, options);
    const begin = performance.now();
    const matches = match(a, b);
    const matched = performance.now();
    inliers = findHomography(a, b, matches).inlierCount;
    const all = [b.times.detect, b.times.describe, matched - begin, performance.now() - matched];
    if (i >= 3) all.forEach((ms, k) => times[k].push(ms)); // the first ones warm up
    b.free();
    if (i % 5 === 0) await pause();
  }
  a.free();
  const medians = times.map(median);
  return { model, medians, together: medians.reduce((sum, ms) => sum + ms, 0), inliers };
}

/** One column per descriptor, one row per step: as narrow as a phone. */
function showRows() {
  const table = byId("table");
  const cell = (name, scope, text) => {
    const element = document.createElement(name);
    if (scope) element.scope = scope;
    element.textContent = text;
    return element;
  };
  table.tHead.rows[0].replaceChildren(cell("th", "col", "step"), ...rows.map((r) => cell("th", "col", r.model)));
  const lines = [...COLUMNS.map((name, i) => [name, ...rows.map((r) => r.medians[i].toFixed(2))]),
    ["together", ...rows.map((r) => r.together.toFixed(2))], ["inliers", ...rows.map((r) => r.inliers)]];
  table.tBodies[0].replaceChildren(...lines.map(([name, ...values]) => {
    const row = document.createElement("tr");
    row.append(cell("th", "row", name), ...values.map((v) => cell("td", "", v)));
    return row;
  }));
}

function asText() {
  const lines = rows.map(({ model, medians, together, inliers }) =>
    `| ${[model, ...[...medians, together].map((ms) => ms.toFixed(2)), inliers].join(" | ")} |`);
  const head = `keybits ${version()}, 640 x 480, 1000 keypoints, median ms per frame: ${navigator.userAgent}`;
  return [head, "", `| descriptor | ${COLUMNS.join(" | ")} | together | inliers |`, "|---|---|---|---|---|---|---|",
    ...lines].join("\n");
}

byId("start").addEventListener("click", async () => {
  byId("start").disabled = true;
  rows.length = 0;
  try {
    for (const model of ["bad256", "bag256"]) {
      byId("status").textContent = `Measuring ${model} …`;
      await pause();
      rows.push(await measure(model));
      showRows();
    }
    byId("status").textContent = "Done.";
    byId("copy").disabled = false;
  } catch (error) {
    say(error);
  }
  byId("start").disabled = false;
});

byId("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(asText());
    byId("status").textContent = "The table is on the clipboard.";
  } catch (error) {
    say(`It could not be copied: ${error.message}`);
  }
});

load().then(() => {
  byId("start").disabled = false;
  byId("status").textContent = "Ready.";
}, (error) => {
  byId("status").textContent = "";
  say(`The library could not be loaded: ${error.message}`);
});
