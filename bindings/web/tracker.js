// SPDX-License-Identifier: Apache-2.0
// Targets found in a stream of frames: recognised by an index, then followed from frame to frame.
//
// A target that is seen is looked for near where it was (refind), which is fast and steady. Every few frames, and when
// nothing is seen, the index says which other targets may be there. Corners are smoothed by a low-pass filter that
// opens with speed: still targets do not tremble, moving ones do not lag.
import { known, number, refuse } from "./input.js";
import { Features, Index, Model, applyHomography, readVocabulary, refind } from "./keybits.js";

const DEFAULTS = {
  model: "bag256",
  keypoints: 800, // of a frame
  targetKeypoints: 250, // a thousand targets stay below 20 MB
  minInliers: 12, // to follow a target
  minRecognised: 18, // to recognise one
  every: 5, // frames between two recognitions while something is followed
  candidates: 4, // targets that a recognition verifies
  patience: 2, // frames that a target may be missing before it counts as lost
  still: 0.25, // the share of a new corner when nothing moves; 1: no smoothing
};

/** The corners of a template under h, or null when they cannot be those of a picture. */
function outline(h, { width, height }) {
  const [right, bottom] = [width - 1, height - 1];
  const at = [[0, 0], [right, 0], [right, bottom], [0, bottom]];
  if (at.some(([x, y]) => !(h[6] * x + h[7] * y + h[8] > 0))) return null;
  const corners = at.map(([x, y]) => applyHomography(h, x, y));
  for (let i = 0; i < 4; i++) {
    const [a, b, c] = [corners[i], corners[(i + 1) % 4], corners[(i + 2) % 4]];
    const side = Math.hypot(b[0] - a[0], b[1] - a[1]);
    const turn = (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]);
    if (!(turn > 0 && side >= 8 && side <= 1e5)) return null;
  }
  return corners;
}

function inverse(h) {
  const [a, b, c, d, e, f, g, i, j] = h;
  const m = [e * j - f * i, c * i - b * j, b * f - c * e, f * g - d * j, a * j - c * g, c * d - a * f,
    d * i - e * g, b * g - a * i, a * e - b * d];
  return m.map((x) => x / m[8]);
}

export class Tracker {
  #options;
  #index;
  // id -> { name, sighting, features }: features are there while the target is seen; otherwise the index has them.
  #targets = new Map();
  #frame = 0;
  #nextId = 0;

  constructor(vocabulary, options = {}) {
    known(options, [...Object.keys(DEFAULTS), "vocabulary"], "Tracker");
    this.#options = { ...DEFAULTS, ...options };
    for (const [name, value] of Object.entries(DEFAULTS)) {
      if (typeof value === "number") number(this.#options[name], 0, name === "still" ? 1 : 1e6, name);
    }
    this.#index = new Index(vocabulary);
  }

  static async create(options = {}) {
    const { model = DEFAULTS.model, vocabulary = `${model}-1k` } = options;
    return new Tracker(typeof vocabulary === "string" ? await readVocabulary(vocabulary) : vocabulary, options);
  }

  get count() { return this.#targets.size; }
  get bytes() { return this.#index.bytes; }

  #describe(image, maxKeypoints) {
    if (image instanceof Features) return image;
    return new Features(image, { model: this.#options.model, maxKeypoints });
  }

  /** Adds a target, an image or Features of its own, and returns its id. */
  add(image, name = "") {
    const features = this.#describe(image, this.#options.targetKeypoints);
    if (features.count < this.#options.minRecognised) {
      const { count } = features;
      if (features !== image) features.free();
      refuse(`${name || "the target"} has ${count} keypoints, too few to recognise it by`);
    }
    const id = this.#nextId++;
    this.#index.add(features, id, name);
    if (features !== image) features.free();
    this.#targets.set(id, { name, sighting: null, features: null });
    return id;
  }

  /** Adds the images of an index file; the file's index is used as it is when there are no targets yet. */
  addIndex(file) {
    const index = new Index(file, { file: true });
    const { images } = index;
    try {
      this.#checkIndex(index, images);
    } catch (error) {
      index.free();
      throw error;
    }
    const adopted = this.#targets.size === 0;
    if (adopted) {
      this.#index.free();
      this.#index = index;
      this.#nextId = images.reduce((next, { id }) => Math.max(next, id + 1), this.#nextId);
    }
    for (const image of images) {
      if (!adopted) {
        const features = index.features(image.id);
        image.id = this.#nextId++;
        this.#index.add(features, image.id, image.name);
        features.free();
      }
      this.#targets.set(image.id, { name: image.name, sighting: null, features: null });
    }
    if (!adopted) index.free();
    return images;
  }

  #checkIndex(index, images) {
    const model = new Model(this.#options.model);
    const [wanted, { name }] = [model.id, model];
    model.free();
    if (!index.keepsFeatures) refuse("the index keeps no features, which recognition needs");
    if (index.modelId !== wanted) refuse(`the index is not of the model ${name}`);
    if (new Set(images.map(({ id }) => id)).size < images.length) refuse("two images have the same id");
  }

  /** All targets as an index file. */
  serialise() { return this.#index.serialise(); }

  remove(id) {
    const target = this.#targets.get(id);
    if (!target) return false;
    this.#index.remove(id);
    this.#lose(target);
    return this.#targets.delete(id);
  }

  #lose(target) {
    target.features?.free();
    target.features = target.sighting = null;
  }

  /** What is seen in the next frame: an array of { id, name, corners, homography, inliers, age }. */
  update(image) {
    const start = performance.now();
    const frame = this.#describe(image, this.#options.keypoints);
    const described = performance.now();
    try {
      for (const target of this.#targets.values()) if (target.sighting) this.#follow(target, frame);
      const followed = [...this.#targets.values()].filter((t) => t.sighting).length;
      const due = followed === 0 || this.#frame % this.#options.every === 0;
      if (due && this.#targets.size > followed && frame.count > 0) this.#recognise(frame, followed);
      this.#frame++;
      const end = performance.now();
      this.times = { ...frame.times, track: end - described, total: end - start };
      return this.#seen();
    } finally {
      if (frame !== image) frame.free();
    }
  }

  #seen() {
    const seen = [];
    for (const [id, { name, sighting }] of this.#targets) {
      if (!sighting || sighting.missing > 0) continue;
      const { corners, homography, inliers, age } = sighting;
      seen.push({ id, name, corners: corners.map((c) => [...c]), homography: [...homography], inliers, age });
    }
    return seen;
  }

  #follow(target, frame) {
    const { features, sighting } = target;
    const size = Math.max(frame.width, frame.height);
    const found = refind(features, frame, sighting.homography, { radius: 0.05 * size * (1 + sighting.missing) });
    const corners = found.found && found.inlierCount >= this.#options.minInliers
      ? outline(found.model, features) : null;
    if (!corners) {
      if (++sighting.missing > this.#options.patience) this.#lose(target);
      return;
    }
    sighting.homography = found.model;
    sighting.inliers = found.inlierCount;
    sighting.missing = 0;
    sighting.age++;
    this.#smooth(sighting.corners, corners, size);
  }

  #smooth(shown, corners, size) {
    const moved = Math.max(...corners.map(([x, y], i) => Math.hypot(x - shown[i][0], y - shown[i][1])));
    const { still } = this.#options;
    const share = Math.min(1, still + (1 - still) * (moved / (0.01 * size)));
    corners.forEach(([x, y], i) => {
      shown[i][0] += share * (x - shown[i][0]);
      shown[i][1] += share * (y - shown[i][1]);
    });
  }

  #recognise(frame, followed) {
    const verify = this.#options.candidates + followed;
    for (const result of this.#index.query(frame, { verify, count: verify })) {
      const target = this.#targets.get(result.id);
      if (!target || target.sighting || result.inliers < this.#options.minRecognised) continue;
      const homography = inverse(result.model);
      target.features = this.#index.features(result.id);
      const corners = outline(homography, target.features);
      if (corners) target.sighting = { homography, corners, inliers: result.inliers, missing: 0, age: 0 };
      else this.#lose(target);
    }
  }

  free() {
    for (const target of this.#targets.values()) this.#lose(target);
    this.#targets.clear();
    this.#index.free();
  }
}
