// SPDX-License-Identifier: Apache-2.0
// The page that matches two pictures.
import { applyHomography } from "./package/keybits.js";
import { byId, outlinePath, readPicture, save, say } from "./picture.js";
import { connect } from "./remote.js";

const slots = { a: null, b: null }; // { canvas, name }
const form = byId("options");
const ask = connect("./match-worker.js", () => say("The library could not be started."));
let fileModel = null; // the name of a model file that the worker has
let result = null;

function settings() {
  const value = (name) => form.elements[name].value;
  const ratio = Number(value("maxRatio"));
  return { detector: value("detector"), looks: value("looks"), model: fileModel ? "file" : value("model"),
    maxKeypoints: Number(value("maxKeypoints")), maxRatio: ratio < 1 ? ratio : 0,
    threshold: Number(value("threshold")), filter: form.elements.filter.checked };
}

// --------------------------------------------------------------------------------------------------------- drawing

/** Side by side where there is room, else one above the other, centred; where a and b begin. */
function layout() {
  const [a, b] = [slots.a.canvas, slots.b.canvas];
  const beside = innerWidth >= 700;
  const view = byId("view");
  view.width = beside ? a.width + b.width : Math.max(a.width, b.width);
  view.height = beside ? Math.max(a.height, b.height) : a.height + b.height;
  const middle = ({ width, height }) => (beside ? Math.round((view.height - height) / 2) : Math.round((view.width - width) / 2));
  return beside ? [[0, middle(a)], [a.width, middle(b)]] : [[middle(a), 0], [middle(b), a.height]];
}

const MOST_LINES = 80; // more of them hide the pictures

/** Faint lines with a dot at either end, for an even choice of at most MOST_LINES matches; of outliers a quarter. */
function drawMatches(context, { matches, fit, a, b }, [dx, dy], inlier) {
  const all = [...matches.a.keys()].filter((i) => Boolean(fit.inliers[i]) === inlier);
  const every = Math.max(1, Math.ceil(all.length / (inlier ? MOST_LINES : MOST_LINES / 4)));
  const ends = all.filter((_, k) => k % every === 0).map((i) => [[a[6 * matches.a[i]], a[6 * matches.a[i] + 1]],
    [b[6 * matches.b[i]] + dx, b[6 * matches.b[i] + 1] + dy]]);
  const radius = 2.2 * context.lineWidth;
  context.strokeStyle = context.fillStyle = inlier ? "#46eb6e" : "#e15050";
  context.globalAlpha = inlier ? 0.57 : 0.4;
  context.beginPath();
  for (const [from, to] of ends) context.moveTo(...from), context.lineTo(...to);
  context.stroke();
  context.globalAlpha = 1;
  context.beginPath();
  for (const [x, y] of ends.flat()) context.moveTo(x, y), context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function drawKeypoints(context, keypoints, dx, dy) {
  context.strokeStyle = "#ffb300";
  context.beginPath();
  for (let i = 0; i < keypoints.length; i += 6) {
    const [x, y, radius] = [keypoints[i] + dx, keypoints[i + 1] + dy, keypoints[i + 2] / 4];
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }
  context.stroke();
}

function draw() {
  if (!slots.a || !slots.b) return;
  const [[ax, ay], [bx, by]] = layout();
  const [dx, dy] = [bx - ax, by - ay];
  const context = byId("view").getContext("2d");
  context.translate(ax, ay);
  context.drawImage(slots.a.canvas, 0, 0);
  context.drawImage(slots.b.canvas, dx, dy);
  if (!result) return;
  context.lineWidth = Math.max(1, byId("view").width / 900);
  if (form.elements.keypoints.checked) {
    drawKeypoints(context, result.a, 0, 0);
    drawKeypoints(context, result.b, dx, dy);
  }
  if (form.elements.outliers.checked) drawMatches(context, result, [dx, dy], false);
  drawMatches(context, result, [dx, dy], true);
  if (!isFlat(result.fit)) return;
  const { width: w, height: h } = slots.a.canvas;
  const corners = [[0, 0], [w - 1, 0], [w - 1, h - 1], [0, h - 1]]
    .map(([x, y]) => applyHomography(result.fit.model, x, y)).map(([x, y]) => [x + dx, y + dy]);
  for (const [colour, width] of [["#000", 5], ["#ffd228", 2.5]]) { // dark around bright is seen on any picture
    context.strokeStyle = colour;
    context.lineWidth = width * Math.max(1, byId("view").width / 900);
    outlinePath(context, corners);
    context.stroke();
  }
}

const isFlat = (fit) => fit.found && fit.geometry === "homography";

/** What was found, as a sentence. */
function sentence({ fit, matches }) {
  if (!fit.found) return `${matches.count} matches, but no geometry: ${fit.result}.`;
  return `${fit.inlierCount} of ${matches.count} matches agree on ${isFlat(fit) ? "one outline" : "a scene with depth"}.`;
}

function tell() {
  const table = byId("numbers");
  const { a, b, candidates, fit, matches, look, rotation, ms } = result;
  const turned = rotation ? `, turned by ${rotation.toFixed(0)} degrees` : "";
  const rows = [["keypoints", `${a.length / 6} and ${b.length / 6}`], ["mutual matches", candidates],
    ["after the filter", matches.count], ["inliers", `${fit.inlierCount} at ${fit.places} places`],
    ["look", `${look}${turned}`], ["time", `${ms.toFixed(1)} ms`]];
  table.tBodies[0].replaceChildren(...rows.map(([name, found]) => {
    const row = document.createElement("tr");
    const head = row.appendChild(document.createElement("th"));
    head.scope = "row";
    head.textContent = name;
    row.insertCell().textContent = found;
    return row;
  }));
  table.hidden = false;
  byId("status").textContent = sentence(result);
  byId("status").dataset.inliers = fit.inlierCount;
}

/** The result of what is shown; null: none, or not yet. */
function setResult(found) {
  result = found;
  for (const button of document.querySelectorAll("[data-save]")) button.disabled = !result;
}

let busy = false;
let changed = false; // while busy: what is being computed is out of date

/** Matches again, as often as settings change, but never two at once. What was wrong before is wiped off now, not when
 * the result comes: another file may be wrong by then. */
async function update() {
  say(null);
  changed = true;
  if (busy || !slots.a || !slots.b) return;
  busy = true;
  while (changed) {
    changed = false;
    try {
      const names = [slots.a.name, slots.b.name];
      setResult({ ...await ask({ kind: "match", options: settings() }), names });
      tell();
    } catch (error) {
      setResult(null);
      say(error);
    }
    draw();
  }
  busy = false;
}

// ----------------------------------------------------------------------------------------------------------- input

async function show(key, canvas, name) {
  const bitmap = await createImageBitmap(canvas);
  await ask({ kind: "picture", key, bitmap }, [bitmap]);
  slots[key] = { canvas, name };
  setResult(null);
  const slot = byId(`slot-${key}`);
  const preview = slot.querySelector("canvas");
  [preview.width, preview.height] = [canvas.width, canvas.height];
  preview.getContext("2d").drawImage(canvas, 0, 0);
  slot.querySelector("p").textContent = `${name}, ${canvas.width} x ${canvas.height}`;
}

async function take(key, file) {
  if (!file) return;
  try {
    await show(key, await readPicture(file), file.name);
    update();
  } catch (error) {
    say(error);
  }
}

for (const key of ["a", "b"]) {
  const slot = byId(`slot-${key}`);
  byId(`file-${key}`).addEventListener("change", (event) => take(key, event.target.files[0]));
  slot.addEventListener("dragover", (event) => { event.preventDefault(); slot.classList.add("over"); });
  slot.addEventListener("dragleave", () => slot.classList.remove("over"));
  slot.addEventListener("drop", (event) => {
    event.preventDefault();
    slot.classList.remove("over");
    take(key, event.dataTransfer.files[0]);
  });
}

/** Shows the sample pictures in those of the slots that may be filled. */
async function showSample(mayFill) {
  for (const [key, name, what] of [["a", "painting.jpg", "a painting"], ["b", "room.jpg", "the painting in a room"]]) {
    const picture = await readPicture(await (await fetch(name)).blob());
    if (mayFill(key)) await show(key, picture, what);
  }
  return update();
}

byId("sample").addEventListener("click", () => showSample(() => true));

const DRAWING = ["keypoints", "outliers"]; // settings of the drawing alone

form.addEventListener("input", ({ target }) => {
  const output = target.parentElement.querySelector("output");
  if (output) output.textContent = target.name === "maxRatio" && Number(target.value) === 1 ? "off" : target.value;
  if (DRAWING.includes(target.name)) draw();
  else if (target.type === "range") update();
});
form.addEventListener("change", async ({ target }) => {
  if (DRAWING.includes(target.name) || target.type === "range") return;
  if (target.name === "model") {
    fileModel = null;
    form.elements.file.value = "";
  }
  if (target.name === "file" && target.files[0]) {
    const [{ name }] = target.files;
    try {
      await ask({ kind: "model", bytes: await target.files[0].arrayBuffer() });
      fileModel = name;
    } catch (error) {
      say(`${name}: ${error.message}`);
      target.value = "";
      return;
    }
  }
  update();
});
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("resize", draw);

// ---------------------------------------------------------------------------------------------------------- output

function csv() {
  const { matches: m, fit, a, b } = result;
  const rows = ["a,b,x1,y1,x2,y2,distance,second,inlier"];
  for (let i = 0; i < m.count; i++) {
    const [p, q] = [6 * m.a[i], 6 * m.b[i]];
    rows.push([m.a[i], m.b[i], a[p], a[p + 1], b[q], b[q + 1], m.distance[i], m.second[i], fit.inliers[i]].join());
  }
  return `${rows.join("\n")}\n`;
}

function json() {
  const { candidates, fit, look, matches, model, ms, names, rotation } = result;
  return JSON.stringify({ images: names, model, look, rotation, candidates, matches: matches.count,
    inliers: fit.inlierCount, places: fit.places, result: fit.result, geometry: fit.geometry, matrix: [...fit.model],
    rms: fit.rms, ms }, null, 2);
}

for (const button of document.querySelectorAll("[data-save]")) {
  button.addEventListener("click", () => {
    const kind = button.dataset.save;
    if (kind === "png") byId("view").toBlob((blob) => save("matches.png", blob));
    else save(`matches.${kind}`, new Blob([kind === "csv" ? csv() : json()], { type: "text/plain" }));
  });
}

// The page opens with its sample, unless somebody was faster.
ask({ kind: "ready" }).then(() => showSample((key) => !slots[key])).catch((error) => {
  byId("status").textContent = "";
  say(`The library could not be loaded: ${error.message}`);
});
