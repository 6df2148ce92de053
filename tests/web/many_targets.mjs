// SPDX-License-Identifier: Apache-2.0
// Many targets, many frames; run by many_targets.sh.
import assert from "node:assert/strict";
import { Features, Index, Tracker, load, memoryBytes } from "./package/keybits.js";
import { backFrom, place, poster } from "./scene.js";

const TARGETS = 1000;
const FOLLOWED = 200;
const FRAMES = 2000;
const target = (seed) => poster(160, 120, seed, 90);
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

function seen(seed, k) {
  const picture = target(seed);
  const scene = poster(320, 240, 5000 + (k % 7), 15);
  return place(scene, picture, backFrom(picture, { x: 140 + (k % 40), y: 120, scale: 1.1, c: 0.96, s: 0.28 }));
}

await load();
const index = await Index.create();
const saved = [];
let adding = 0;
for (let i = 0; i < TARGETS; i++) {
  const picture = target(i);
  const start = performance.now();
  const features = new Features(picture, { maxKeypoints: 150 });
  index.add(features, i, `target ${i}`);
  adding += performance.now() - start;
  if (i < FOLLOWED) saved.push(features);
  else features.free();
}
const times = [];
let right = 0;
for (let i = 0; i < TARGETS; i += 20) {
  const query = new Features(seen(i, i), { maxKeypoints: 500 });
  const start = performance.now();
  const results = index.query(query, { verify: 4, count: 4 });
  times.push(performance.now() - start);
  right += results[0]?.id === i && results[0].inliers >= 15 ? 1 : 0;
  query.free();
}
console.log(`${TARGETS} targets: ${(adding / TARGETS).toFixed(2)} ms to add one, ${(index.bytes / 1e6).toFixed(1)} MB, `
  + `${median(times).toFixed(2)} ms per query with verification, ${right} of ${times.length} right`);
assert.ok(right >= 0.9 * times.length, `${right} right`);
assert.ok(index.bytes < 20e6);
index.free();

const tracker = await Tracker.create({ keypoints: 300 });
saved.forEach((features, i) => tracker.add(features, `target ${i}`));
const frames = Array.from({ length: 40 }, (_, k) => seen(17, k));
let held = 0;
let found = 0;
for (let k = 0; k < FRAMES; k++) {
  found += tracker.update(frames[k % 40]).some(({ name }) => name === "target 17") ? 1 : 0;
  if (k === 100) held = memoryBytes();
}
console.log(`${FRAMES} frames, ${FOLLOWED} targets: seen in ${found}, ${(memoryBytes() / 1e6).toFixed(1)} MB`);
assert.equal(memoryBytes(), held, "memory grows");
assert.ok(found > 0.8 * FRAMES, `seen in ${found} frames`);
