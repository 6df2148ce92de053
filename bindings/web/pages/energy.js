// SPDX-License-Identifier: Apache-2.0
// The page that repeats the paper's last table, energy of a template matching application, on the visitor's device.
import { byId, drawn, fromPixels, say } from "./picture.js";
import { connect } from "./remote.js";
import { tableOf } from "./report.js";
import { backFrom, place, poster, toRGBA } from "./scene.js";

const MODELS = ["bad256", "bad512", "bag256", "bag512", "hashsift256", "hashsift512"];
const FRAME_MS = 1000 / 30; // the rate of the paper's camera
const [WIDTH, HEIGHT] = [640, 480];
const ask = connect("./energy-worker.js", () => say("The application could not be started."));
const form = byId("options");
let stopped = false;
let version = "";
let rows = []; // { model, frames, seconds, ms, found, discharge }

for (const name of MODELS) {
  const label = byId("models").appendChild(document.createElement("label"));
  const box = Object.assign(document.createElement("input"), { type: "checkbox", value: name,
    checked: ["bad256", "bag256", "hashsift256"].includes(name) });
  label.append(box, ` ${name}`);
}

// ----------------------------------------------------------------------------------------------------------- frames

const picture = poster(320, 240, 9, 200);

/** A poster that moves through a room. */
function renderedFrames() {
  const room = poster(WIDTH, HEIGHT, 10, 100);
  const turns = Array.from({ length: 30 }, (_, k) => {
    const scene = { ...room, data: room.data.slice() };
    const s = Math.sin((2 * Math.PI * k) / 30);
    place(scene, picture, backFrom(picture, { x: 320 + 60 * s, y: 240, scale: 0.9, c: 1 - (s * s) / 8, s: s / 2 }));
    return fromPixels(toRGBA(scene));
  });
  let k = 0;
  return { template: fromPixels(toRGBA(picture)), next: () => turns[k++ % turns.length], stop() {} };
}

/** The camera; the template is the middle of its first frame. */
async function cameraFrames() {
  if (!navigator.mediaDevices) throw new Error("Cameras need https or localhost.");
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment",
    width: { ideal: WIDTH }, height: { ideal: HEIGHT }, frameRate: { ideal: 30 } } });
  const video = Object.assign(document.createElement("video"), { muted: true, playsInline: true, srcObject: stream });
  await video.play();
  const whole = drawn(video, WIDTH, HEIGHT);
  const template = document.createElement("canvas");
  [template.width, template.height] = [WIDTH / 2, HEIGHT / 2];
  template.getContext("2d").drawImage(whole, -WIDTH / 4, -HEIGHT / 4);
  return { template, next: () => drawn(video, WIDTH, HEIGHT),
    stop: () => { for (const track of stream.getTracks()) track.stop(); } };
}

// -------------------------------------------------------------------------------------------------------- measuring

const battery = navigator.getBattery ? await navigator.getBattery().catch(() => null) : null;

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, Math.max(0, ms)); });

async function measure(model, seconds, frames) {
  await ask({ kind: "begin", name: model, bitmap: await createImageBitmap(frames.template) });
  const row = { model, frames: 0, seconds: 0, ms: 0, found: 0, discharge: null };
  const [begin, level] = [performance.now(), battery?.level];
  while (!stopped && row.seconds < seconds) {
    const due = performance.now() + FRAME_MS;
    const bitmap = await createImageBitmap(frames.next());
    const { ms, found } = await ask({ kind: "frame", bitmap }, [bitmap]);
    row.frames++;
    row.ms += ms;
    row.found += found;
    await pause(due - performance.now());
    row.seconds = (performance.now() - begin) / 1000;
    byId("status").textContent = `${model}: ${Math.round(row.seconds)} of ${seconds} s, `
      + `${(row.frames / row.seconds).toFixed(1)} frames per second`;
  }
  if (battery && !battery.charging) row.discharge = 100 * (level - battery.level);
  return row;
}

async function run() {
  say(null);
  stopped = false;
  rows = [];
  const chosen = [...byId("models").querySelectorAll("input:checked")].map(({ value }) => value);
  if (!chosen.length) throw new Error("Choose a descriptor first.");
  const lock = await navigator.wakeLock?.request("screen").catch(() => null);
  const frames = form.elements.frames.value === "camera" ? await cameraFrames() : renderedFrames();
  try {
    for (const model of chosen) {
      if (stopped) break;
      rows.push(await measure(model, 60 * Number(form.elements.minutes.value), frames));
      show();
    }
  } finally {
    frames.stop();
    lock?.release();
  }
  byId("status").textContent = stopped ? "Stopped." : "Done.";
}

// ----------------------------------------------------------------------------------------------------------- result

const HEAD = ["descriptor", "frames / s", "ms / frame", "found, %", "discharge, %", "minutes"];
const cells = (row) => [row.model, (row.frames / row.seconds).toFixed(1), (row.ms / row.frames).toFixed(2),
  (100 * row.found / row.frames).toFixed(0), row.discharge === null ? "-" : row.discharge.toFixed(0),
  (row.seconds / 60).toFixed(1)];

function batteryHint() {
  if (!battery) return "This browser does not tell the charge of the battery: read it in the settings before and after.";
  return battery.charging ? "The device is charging, so no discharge is shown: unplug it." : "";
}

function show() {
  byId("result").hidden = false;
  tableOf(byId("table"), HEAD, rows.map(cells));
  byId("battery").textContent = batteryHint();
}

const asText = () => [`keybits ${version}, template matching, ${WIDTH} x ${HEIGHT}: ${navigator.userAgent}`, "",
  ...[HEAD, HEAD.map(() => "---"), ...rows.map(cells)].map((line) => `| ${line.join(" | ")} |`)].join("\n");

byId("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(asText());
    byId("status").textContent = "The table is on the clipboard.";
  } catch (error) {
    say(`It could not be copied: ${error.message}`);
  }
});

function setBusy(busy) {
  byId("start").disabled = busy;
  byId("stop").disabled = !busy;
}

byId("start").addEventListener("click", () => {
  setBusy(true);
  run().catch(say).finally(() => setBusy(false));
});
byId("stop").addEventListener("click", () => { stopped = true; });
form.addEventListener("submit", (event) => event.preventDefault());

ask({ kind: "version" }).then((answer) => {
  ({ version } = answer);
  setBusy(false);
  byId("status").textContent = "Ready.";
}, (error) => {
  byId("status").textContent = "";
  say(`The library could not be loaded: ${error.message}`);
});
