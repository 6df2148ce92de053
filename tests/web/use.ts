// SPDX-License-Identifier: Apache-2.0
// What a TypeScript user writes; compiled, bundled and run by package.sh.
import { Features, type Fit, Index, type Matches, Model, Tracker, findHomography, load, match } from "keybits";

await load();
const image = { data: new Uint8Array(200 * 200), width: 200, height: 200 };
for (let i = 0; i < image.data.length; i++) image.data[i] = ((i >> 4) * 7919 + ((i / 3200) | 0) * 104729) & 255;
const model: Model = new Model("bad256");
const a = new Features(image, { model, detector: "orb", maxKeypoints: 200 });
const matches: Matches = match(a, a, { maxRatio: 0.9 });
const found: Fit = findHomography(a, a, matches, { threshold: 2 });
const index: Index = await Index.create({ vocabulary: "bad256-1k" });
index.add(a, 1, "itself");
const tracker: Tracker = await Tracker.create({ keypoints: 500 });
tracker.free();
// @ts-expect-error: no such detector
if (found.inlierCount < 0) new Features(image, { detector: "surf" });
console.log(`bundled: ${found.result}`);
