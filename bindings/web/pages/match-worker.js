// Matching away from the page, so that the page never stutters. Pictures come as transferred ImageBitmaps; features are
// kept until the picture or the way to find them changes.
import { Features, Model, findHomography, load, match } from "./package/keybits.js";
import { serve } from "./remote.js";

const ready = load();
const slots = { a: { pixels: null }, b: { pixels: null } }; // with features, and by what they were found
let fileModel = null;

function pixelsOf(bitmap) {
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return context.getImageData(0, 0, width, height);
}

function forget(slot) {
  slot.features?.free();
  slot.features = null;
}

function featuresOf(slot, options) {
  const found = JSON.stringify(options);
  if (!slot.features || slot.found !== found) {
    forget(slot);
    slot.features = new Features(slot.pixels, options.model === "file" ? { ...options, model: fileModel } : options);
    slot.found = found;
  }
  return slot.features;
}

function compute({ threshold, maxRatio, filter, ...options }) {
  const [a, b] = [featuresOf(slots.a, options), featuresOf(slots.b, options)];
  const start = performance.now();
  const matches = match(a, b, { maxRatio, filter });
  const matched = performance.now();
  const fit = findHomography(a, b, matches, { threshold });
  const fitted = performance.now();
  return { matches, fit, a: a.keypoints, b: b.keypoints, model: a.model.name,
    steps: [["keypoints", `${a.count} and ${b.count}`, a.times.detect + b.times.detect],
      ["descriptors", a.model.name, a.times.describe + b.times.describe],
      ["matches", matches.count, matched - start], ["inliers", fit.inlierCount, fitted - matched]] };
}

serve(async ({ kind, key, bitmap, bytes, options }) => {
  await ready;
  if (kind === "picture") {
    forget(slots[key]);
    slots[key].pixels = pixelsOf(bitmap);
  } else if (kind === "model") {
    const model = new Model(bytes);
    Object.values(slots).forEach(forget);
    fileModel?.free();
    fileModel = model;
  } else if (kind === "match") {
    return compute(options);
  }
  return null;
});
