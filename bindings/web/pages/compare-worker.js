// SPDX-License-Identifier: Apache-2.0
// The live benchmark, away from the page: two rendered pictures, matched again and again.
import { Features, findHomography, load, match, version } from "./package/keybits.js";
import { serve } from "./remote.js";
import { backFrom, place, poster } from "./scene.js";

const ready = load();
const ROUNDS = 40;

function scenes() {
  const first = poster(640, 480, 9, 400);
  const back = backFrom(first, { x: 320, y: 240, scale: 0.9, c: 0.98, s: 0.198 });
  return [first, place(poster(640, 480, 10, 100), first, back)];
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

/** Median milliseconds to detect, describe, match and fit. */
function measure(model) {
  const options = { model, maxKeypoints: 1000 };
  const [first, second] = scenes();
  const a = new Features(first, options);
  const times = [[], [], [], []];
  let inliers = 0;
  for (let i = 0; i < ROUNDS + 10; i++) {
    const b = new Features(second, options);
    const begin = performance.now();
    const matches = match(a, b);
    const matched = performance.now();
    inliers = findHomography(a, b, matches).inlierCount;
    const all = [b.times.detect, b.times.describe, matched - begin, performance.now() - matched];
    if (i >= 10) all.forEach((ms, k) => times[k].push(ms)); // the first ones warm up
    b.free();
  }
  a.free();
  return { model, medians: times.map(median), inliers };
}

serve(async ({ kind, model }) => {
  await ready;
  return kind === "measure" ? measure(model) : { version: version() };
});
