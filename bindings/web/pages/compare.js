// SPDX-License-Identifier: Apache-2.0
// The page that measures this device, and shows what the descriptors are worth.
import { byId, say } from "./picture.js";
import { connect } from "./remote.js";
import { showReport, tableOf } from "./report.js";

const STEPS = ["detect", "describe", "match", "homography"];
const ask = connect("./compare-worker.js", () => say("The benchmark could not be started."));
let result = null; // { version, device, rows: [{ model, medians, inliers }] }

const together = ({ medians }) => medians.reduce((sum, ms) => sum + ms, 0);

/** One column per descriptor, one row per step: as narrow as a phone. */
function showResult(table, { rows }) {
  tableOf(table, ["step", ...rows.map(({ model }) => model)],
    [...STEPS.map((name, i) => [name, ...rows.map(({ medians }) => medians[i].toFixed(2))]),
      ["together", ...rows.map((row) => together(row).toFixed(2))], ["inliers", ...rows.map((row) => row.inliers)]]);
}

// ------------------------------------------------------------------------------------------------------- measuring

async function measure() {
  byId("start").disabled = true;
  say(null);
  const { version } = await ask({ kind: "version" });
  result = { version, device: navigator.userAgent, rows: [] };
  for (const model of ["bad256", "bag256"]) {
    byId("status").textContent = `Measuring ${model} …`;
    result.rows.push(await ask({ kind: "measure", model }));
    showResult(byId("table"), result);
  }
  byId("result").hidden = false;
  byId("status").textContent = "Done.";
}

byId("start").addEventListener("click", () => measure().catch(say).finally(() => { byId("start").disabled = false; }));

// --------------------------------------------------------------------------------------------------------- sharing

function asText({ version, device, rows }) {
  const lines = rows.map((row) => [row.model, ...[...row.medians, together(row)].map((ms) => ms.toFixed(2)),
    row.inliers]);
  return [`keybits ${version}, 640 x 480, 1000 keypoints, median ms per frame: ${device}`, "",
    ...[["descriptor", ...STEPS, "together", "inliers"], ["---", "---", "---", "---", "---", "---", "---"], ...lines]
      .map((line) => `| ${line.join(" | ")} |`)].join("\n");
}

/** The result in an address: nothing is sent to anyone but those who get the link. */
function asLink({ version, device, rows }) {
  const url = new URL(location.href);
  const numbers = rows.map(({ model, medians, inliers }) => [model, ...medians.map((ms) => +ms.toFixed(2)), inliers]);
  url.hash = new URLSearchParams({ result: JSON.stringify([version, device, numbers]) });
  return url.href;
}

/** The result in this page's address, or null. Anything may stand there. */
function fromLink() {
  try {
    const [version, device, numbers] = JSON.parse(new URLSearchParams(location.hash.slice(1)).get("result"));
    const rows = numbers.slice(0, 8).map(([model, ...rest]) => {
      if (rest.length !== STEPS.length + 1 || !rest.every(Number.isFinite)) throw new TypeError();
      return { model: String(model), medians: rest.slice(0, -1), inliers: rest.at(-1) };
    });
    return { version: String(version), device: String(device), rows };
  } catch {
    return null;
  }
}

function showShared() {
  const shared = fromLink();
  byId("shared").hidden = !shared;
  if (!shared) return;
  byId("shared-device").textContent = `keybits ${shared.version}, ${shared.device}`;
  showResult(byId("shared-table"), shared);
}

for (const [id, text, done] of [["copy", asText, "The table is on the clipboard."],
  ["link", asLink, "The link is on the clipboard."]]) {
  byId(id).addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text(result));
      byId("status").textContent = done;
    } catch (error) {
      say(`It could not be copied: ${error.message}`);
    }
  });
}

addEventListener("hashchange", showShared);
showShared();
showReport().catch(say);

ask({ kind: "version" }).then(() => {
  byId("start").disabled = false;
  byId("status").textContent = "Ready.";
}, (error) => {
  byId("status").textContent = "";
  say(`The library could not be loaded: ${error.message}`);
});
