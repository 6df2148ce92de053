// SPDX-License-Identifier: Apache-2.0
// Matching away from the page, so that the page never stutters. Pictures come as transferred ImageBitmaps.
import { Model, load, matchImages } from "./package/keybits.js";
import { serve } from "./remote.js";

const ready = load();
const pictures = {}; // pixels of a and b
let fileModel = null;

function pixelsOf(bitmap) {
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return context.getImageData(0, 0, width, height);
}

function compute({ looks, model, ...options }) {
  const start = performance.now();
  const pair = matchImages(pictures.a, pictures.b, { ...options, looks: looks ? [looks] : [],
    model: model === "file" ? fileModel : model });
  return { ...pair, model: model === "file" ? fileModel.name : model, ms: performance.now() - start };
}

serve(async ({ kind, key, bitmap, bytes, options }) => {
  await ready;
  if (kind === "picture") {
    pictures[key] = pixelsOf(bitmap);
  } else if (kind === "model") {
    const model = new Model(bytes);
    fileModel?.free();
    fileModel = model;
  } else if (kind === "match") {
    return compute(options);
  }
  return null;
});
