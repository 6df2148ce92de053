// SPDX-License-Identifier: Apache-2.0
// The page that recognises pictures in a camera or a video.
import { connect } from "./remote.js";
import { byId, drawn, fromPixels, outlinePath, readPicture, save, say } from "./picture.js";
import { backFrom, place, poster, toRGBA } from "./scene.js";

const FRAME_SIDE = 640; // frames are scaled to this before they are looked at
const COLOURS = ["#2f9bff", "#19c15c", "#ffb300", "#e5483d", "#b46cff", "#00b8c4"];

const ask = connect("./recognise-worker.js", () => say("The recogniser could not be started."));

// --------------------------------------------------------------------------------------------------------- targets

let source = null; // what gives frames: { frame(): canvas or video, advance(), stop() }
const items = new Map(); // id -> list item; the targets of an index file share one

/** Lists targets: a picture (or null), a name and the ids behind it. */
function listTarget(picture, name, ids) {
  const item = byId("targets").appendChild(document.createElement("li"));
  const remove = document.createElement("button");
  remove.textContent = "Remove";
  remove.setAttribute("aria-label", `Remove ${name}`);
  remove.addEventListener("click", () => {
    ask({ kind: "remove", ids });
    item.remove();
    for (const id of ids) items.delete(id);
    countTargets();
  });
  const label = document.createElement("span");
  label.textContent = name;
  if (picture) {
    picture.setAttribute("aria-hidden", "true");
    item.append(picture);
  }
  item.append(label, remove);
  for (const id of ids) items.set(id, item);
  countTargets();
}

function countTargets() {
  byId("count").textContent = items.size === 1 ? "1 picture" : `${items.size.toLocaleString("en")} pictures`;
  byId("save").disabled = items.size === 0;
  if (!source) byId("status").textContent = items.size ? "Ready." : "Ready: add pictures first.";
}

const names = new Set();

/** The name, or with a number behind it when another target has it. */
function freeName(wanted) {
  let name = wanted;
  for (let i = 2; names.has(name); i++) name = `${wanted} (${i})`;
  names.add(name);
  return name;
}

async function addTarget(canvas, wanted) {
  const name = freeName(wanted);
  const scale = Math.min(1, FRAME_SIDE / Math.max(canvas.width, canvas.height));
  const small = drawn(canvas, Math.round(canvas.width * scale), Math.round(canvas.height * scale));
  const bitmap = await createImageBitmap(small);
  const { id } = await ask({ kind: "add", name, bitmap }, [bitmap]);
  const thumbnail = 160 / Math.max(small.width, small.height);
  listTarget(drawn(small, Math.ceil(small.width * thumbnail), Math.ceil(small.height * thumbnail)), name, [id]);
}

async function addIndex(file) {
  const bytes = await file.arrayBuffer();
  const { images } = await ask({ kind: "index", bytes }, [bytes])
    .catch((error) => { throw new Error(`The index file ${file.name} cannot be used: ${error.message}`); });
  listTarget(null, `${file.name}: ${images.length.toLocaleString("en")} pictures`, images.map(({ id }) => id));
}

const AHEAD = 4; // files that are read while the worker describes one

/** Adds files in their order; those that cannot be added are named. indexes: whatever they are called, they are meant to
 * be index files. */
async function addFiles(files, indexes = false) {
  say(null);
  const problems = [];
  const noted = (promise) => promise.catch((error) => { problems.push(error.message); return null; });
  const isIndex = ({ name }) => indexes || /\.kbi$/i.test(name);
  const reading = [];
  const added = [];
  for (const [i, file] of files.entries()) {
    for (const next of files.slice(reading.length, i + AHEAD)) reading.push(isIndex(next) ? null : noted(readPicture(next)));
    if (isIndex(file)) {
      await noted(addIndex(file));
    } else {
      const canvas = await reading[i];
      if (canvas) added.push(noted(addTarget(canvas, file.name.replace(/\.[^.]*$/, ""))));
    }
  }
  await Promise.all(added);
  if (problems.length) say(problems.join("\n"));
}

const samples = [11, 12, 13].map((seed) => poster(280, 210, seed));

for (const input of ["add-files", "add-index"]) {
  byId(input).addEventListener("change", async ({ target }) => {
    await addFiles([...target.files], input === "add-index");
    target.value = ""; // the same file may come again
  });
}
const dropZone = byId("targets-section");
dropZone.addEventListener("dragover", (event) => { event.preventDefault(); dropZone.classList.add("over"); });
dropZone.addEventListener("dragleave", () => dropZone.classList.remove("over"));
dropZone.addEventListener("drop", (event) => {
  event.preventDefault();
  dropZone.classList.remove("over");
  addFiles([...event.dataTransfer.files]);
});
byId("save").addEventListener("click", async () => {
  const { bytes } = await ask({ kind: "save" });
  save("targets.kbi", new Blob([bytes]));
});
byId("add-samples").addEventListener("click", async () => {
  byId("add-samples").disabled = true;
  for (const [i, sample] of samples.entries()) await addTarget(fromPixels(toRGBA(sample)), `poster ${i + 1}`);
});
byId("snapshot").addEventListener("click", async () => {
  try {
    await addTarget(currentFrame(), `snapshot ${items.size + 1}`);
  } catch (error) {
    say(error);
  }
});

// ---------------------------------------------------------------------------------------------------------- frames

const video = Object.assign(document.createElement("video"), { muted: true, playsInline: true });
let running = 0; // counts up: an older loop ends itself

const sizeOf = (from) => [from.videoWidth || from.width, from.videoHeight || from.height];

function currentFrame() {
  const from = source.frame();
  return drawn(from, ...sizeOf(from));
}

/** Resolves when the source has a new frame. */
function nextFrame() {
  return new Promise((resolve) => {
    if (source.frame() === video && video.requestVideoFrameCallback) video.requestVideoFrameCallback(resolve);
    else requestAnimationFrame(resolve);
  });
}

async function loop() {
  const mine = ++running;
  let shown = "";
  while (mine === running && source) {
    await Promise.race([nextFrame(), new Promise((resolve) => { setTimeout(resolve, 500); })]);
    if (mine !== running || !source) break;
    source.advance?.();
    const [width, height] = sizeOf(source.frame());
    if (!width) continue;
    const scale = Math.min(1, FRAME_SIDE / Math.max(width, height));
    const frame = drawn(source.frame(), Math.round(width * scale), Math.round(height * scale));
    const bitmap = await createImageBitmap(frame);
    const answer = await ask({ kind: "frame", bitmap }, [bitmap]);
    if (mine !== running) break;
    draw(frame, answer);
    const names = answer.seen.map(({ name }) => name).join(", ");
    if (names !== shown) byId("status").textContent = names ? `Seen: ${names}` : "Nothing known in view.";
    shown = names;
  }
}

/** Shows the frame that was computed with its outlines: a newer one would have moved on. */
function draw(frame, { seen, times, width, height, memory }) {
  const overlay = byId("overlay");
  if (overlay.width !== width) overlay.width = width;
  if (overlay.height !== height) overlay.height = height;
  const context = overlay.getContext("2d");
  context.drawImage(frame, 0, 0);
  context.lineWidth = 4;
  context.font = "600 18px system-ui, sans-serif";
  for (const { id, name, corners } of seen) {
    context.strokeStyle = COLOURS[id % COLOURS.length];
    outlinePath(context, corners);
    context.stroke();
    const top = corners.reduce((best, corner) => (corner[1] < best[1] ? corner : best));
    const long = context.measureText(name).width + 12;
    const [x, y] = [Math.max(0, Math.min(top[0], width - long)), Math.max(26, top[1])]; // the name stays in view
    context.fillStyle = "#000c";
    context.fillRect(x, y - 26, long, 24);
    context.fillStyle = "#fff";
    context.fillText(name, x + 6, y - 8);
  }
  const seenItems = new Set(seen.map(({ id }) => items.get(id)));
  for (const item of new Set(items.values())) item.classList.toggle("seen", seenItems.has(item));
  byId("timing").textContent = `${times.total.toFixed(1)} ms per frame in the worker; `
    + `${(memory / 1e6).toFixed(1)} MB`;
}

function start(next) {
  stop();
  source = next;
  showRunning(true);
  byId("running").scrollIntoView({ block: "start" }); // on a phone the view would lie below the screen
  byId("stop").focus({ preventScroll: true });
  loop().catch(say);
}

/** The buttons that start give way to the live view and its buttons. */
function showRunning(on) {
  byId("stage").hidden = byId("running").hidden = !on;
  byId("starters").hidden = on;
}

function stop() {
  running++;
  source?.stop();
  source = null;
  const overlay = byId("overlay");
  overlay.getContext("2d").clearRect(0, 0, overlay.width, overlay.height);
  for (const item of items.values()) item.classList.remove("seen");
  byId("timing").textContent = "";
  showRunning(false);
}

byId("stop").addEventListener("click", () => {
  stop();
  byId("status").textContent = "Stopped.";
  byId("camera").focus();
});

byId("camera").addEventListener("click", async () => {
  say(null);
  try {
    if (!navigator.mediaDevices) throw new Error("Cameras need https or localhost.");
    const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment",
      width: { ideal: 640 }, height: { ideal: 480 } } });
    video.srcObject = stream;
    await video.play();
    start({ frame: () => video, stop: () => { for (const t of stream.getTracks()) t.stop(); } });
  } catch (error) {
    say(`The camera could not be started: ${error.message}`);
  }
});

byId("video-file").addEventListener("change", async ({ target }) => {
  const file = target.files[0];
  if (!file) return;
  say(null);
  const url = URL.createObjectURL(file);
  try {
    video.srcObject = null;
    video.src = url;
    video.loop = true;
    await video.play();
    start({ frame: () => video, stop: () => { video.pause(); video.removeAttribute("src"); } });
  } catch {
    URL.revokeObjectURL(url);
    say(`${file.name} is not a video that this browser can play.`);
  }
});

byId("sample-video").addEventListener("click", () => {
  const background = poster(480, 360, 500, 30);
  const canvas = Object.assign(document.createElement("canvas"), { width: 480, height: 360 });
  let k = 0;
  start({
    frame: () => canvas,
    advance() {
      const [s, c] = [Math.sin(k / 40), Math.cos(k / 40)];
      const scene = { ...background, data: background.data.slice() };
      place(scene, samples[0], backFrom(samples[0], { x: 150 + 40 * s, y: 140, scale: 0.7, c: 1 - s * s / 8,
        s: s / 2 }));
      place(scene, samples[1], backFrom(samples[1], { x: 350, y: 230 + 40 * c, scale: 0.65 }));
      canvas.getContext("2d").putImageData(new ImageData(toRGBA(scene).data, 480, 360), 0, 0);
      k++;
    },
    stop() {},
  });
});

ask({ kind: "ready" }).then(countTargets, (error) => {
  byId("status").textContent = "";
  say(`The library could not be loaded: ${error.message}`);
});
