// SPDX-License-Identifier: Apache-2.0
// The template matching application of the energy page, away from the page.
import { Features, Model, findHomography, load, match, version } from "./package/keybits.js";
import { serve } from "./remote.js";

const ready = load();
const KEYPOINTS = 1000;
let model = null;
let template = null;

async function modelOf(name) {
  const response = await fetch(new URL(`./models/${name}.kbm`, import.meta.url));
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return new Model(await response.arrayBuffer());
}

const describe = (bitmap) => new Features(bitmap, { model, maxKeypoints: KEYPOINTS });

/** Finds the template in a frame: milliseconds, and whether it is there. */
function process(bitmap) {
  const start = performance.now();
  const frame = describe(bitmap);
  const { found } = findHomography(template, frame, match(template, frame));
  frame.free();
  return { ms: performance.now() - start, found };
}

serve(async ({ kind, name, bitmap }) => {
  await ready;
  try {
    if (kind === "begin") {
      template?.free();
      model?.free();
      template = null;
      model = await modelOf(name);
      template = describe(bitmap);
      return { keypoints: template.count };
    }
    if (kind === "frame") return process(bitmap);
    return { version: version() };
  } finally {
    bitmap?.close();
  }
});
