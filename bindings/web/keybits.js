// SPDX-License-Identifier: Apache-2.0
// keybits in JavaScript: the library as WebAssembly, for browsers, workers and node. keybits.d.ts is the manual.
import { KeybitsError, choice, column, known, number, refuse, whole } from "./input.js";

export { KeybitsError };

let wasm = null; // the exports, after load()
let loading = null;

/** The bytes of a file of the package; node's fetch knows no file: addresses. */
async function readFile(url) {
  if (url.protocol === "file:") {
    const fs = await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:fs/promises");
    return fs.readFile(url);
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new KeybitsError(`${url}: ${answer.status} ${answer.statusText}`, "fetch");
  return new Uint8Array(await answer.arrayBuffer());
}

async function instantiate(source) {
  if (source instanceof WebAssembly.Module) return WebAssembly.instantiate(source, {});
  const bytes = await (source ?? readFile(new URL("./keybits.wasm", import.meta.url)));
  return (await WebAssembly.instantiate(bytes, {})).instance;
}

export function load(source) {
  loading ??= instantiate(source).then(
    (instance) => { wasm = instance.exports; },
    (error) => { loading = null; throw error; },
  );
  return loading;
}

export const version = () => text(library().web_version());
export const memoryBytes = () => library().memory.buffer.byteLength;

// ------------------------------------------------------------------------------------------------------------- memory
// Addresses above 2 GiB come as negative numbers: >>> 0 wherever one is more than handed back.

const MOST_BYTES = 0xff000000; // of one piece, as malloc in memory.c

function library() {
  if (!wasm) throw new KeybitsError("keybits is not loaded: await load() first", "load");
  return wasm;
}

const bytesAt = (at, n) => new Uint8Array(wasm.memory.buffer, at, n);
const copyOf = (Type, at, n) => new Type(wasm.memory.buffer.slice(at, at + n * Type.BYTES_PER_ELEMENT));

function text(address) {
  const [at, memory] = [address >>> 0, new Uint8Array(wasm.memory.buffer)];
  return new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at)));
}

const failure = () => new KeybitsError(text(wasm.web_error()), wasm.web_error_code());

/** A handle or a count that is not an error. */
function checked(value) {
  if (value < 0) throw failure();
  return value;
}

function handle(value) {
  if (!value) throw failure();
  return value >>> 0;
}

/** Memory of the library: so many bytes, or the content of an array. */
function take(content) {
  const size = typeof content === "number" ? content : content.byteLength;
  const at = size <= MOST_BYTES ? wasm.web_alloc(size) >>> 0 : 0;
  if (!at) refuse(`out of memory: ${size} bytes`, -2);
  if (typeof content !== "number") bytesAt(at, size).set(new Uint8Array(content.buffer, content.byteOffset, size));
  return at;
}

/** Runs use(allocate), where allocate(bytes or an array) gives memory that is released when it returns. */
function withMemory(use) {
  const { web_free } = library();
  const taken = [];
  const allocate = (content) => {
    taken.push(take(content));
    return taken.at(-1);
  };
  try {
    return use(allocate);
  } finally {
    for (const at of taken) web_free(at);
  }
}

const cString = (s) => new TextEncoder().encode(`${s}\0`);

function asBytes(data, what) {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return refuse(`${what} must be an ArrayBuffer or a typed array`);
}

const registry = new FinalizationRegistry(({ at, release }) => wasm[release](at));

/** An object of the library: released by free(), or when nobody can reach it any more. */
class Handle {
  #at;
  #release;
  constructor(at, release) {
    this.#at = at;
    this.#release = release;
    registry.register(this, { at, release }, this);
  }
  free() {
    if (!this.#at) return;
    registry.unregister(this);
    wasm[this.#release](this.#at);
    this.#at = 0;
  }
  static at(object, Type) {
    if (!(object instanceof Type)) refuse(`${object} is no ${Type.name}`);
    if (!object.#at) throw new KeybitsError(`this ${Type.name} was freed`, "freed");
    return object.#at;
  }
}

// -------------------------------------------------------------------------------------------------------------- model

const hexId = (id) => BigInt.asUintN(64, id).toString(16).padStart(16, "0");

export class Model extends Handle {
  constructor(source = "bag256") {
    const at = typeof source === "string"
      ? withMemory((allocate) => library().web_model_builtin(allocate(cString(source))))
      : withMemory((allocate) => {
        const bytes = asBytes(source, "a model");
        return library().web_model_load(allocate(bytes), bytes.length);
      });
    super(handle(at), "web_model_free");
  }
  get name() { return text(wasm.web_model_name(Handle.at(this, Model))); }
  get kind() { return text(wasm.web_model_kind(Handle.at(this, Model))); }
  get bits() { return wasm.web_model_bits(Handle.at(this, Model)); }
  get rowBytes() { return wasm.web_model_row_bytes(Handle.at(this, Model)); }
  get id() { return hexId(wasm.web_model_id(Handle.at(this, Model))); }
}

const builtin = new Map();

function modelOf(model) {
  if (model instanceof Model) return model;
  if (!builtin.has(model)) builtin.set(model, new Model(model));
  return builtin.get(model);
}

// ------------------------------------------------------------------------------------------------------------- pixels

let canvas = null;

/** Pixels of whatever can be drawn: ImageBitmap, VideoFrame, video, image and canvas elements. */
function drawn(source) {
  const width = source.displayWidth ?? source.videoWidth ?? source.naturalWidth ?? source.width;
  const height = source.displayHeight ?? source.videoHeight ?? source.naturalHeight ?? source.height;
  if (!(width > 0 && height > 0)) throw new KeybitsError("the image has no pixels yet", -3);
  if (typeof OffscreenCanvas !== "function" && typeof document === "undefined") {
    refuse("an image is { data, width, height } where there is no canvas to draw it", -3);
  }
  canvas ??= typeof OffscreenCanvas === "function" ? new OffscreenCanvas(1, 1) : document.createElement("canvas");
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  try {
    context.drawImage(source, 0, 0, width, height);
  } catch (e) {
    refuse(`this cannot be drawn: ${e.message}`, -3);
  }
  return context.getImageData(0, 0, width, height);
}

const positive = (n) => Number.isInteger(n) && n >= 1 && n <= 65535;

function pixelsOf(image) {
  if (image === null || typeof image !== "object") refuse(`an image must be an object, not ${image}`, -3);
  const { data, width, height } = ArrayBuffer.isView(image.data) ? image : drawn(image);
  if (!positive(width) || !positive(height)) {
    throw new KeybitsError(`an image of ${width} x ${height} pixels: each side must be 1 to 65535`, -3);
  }
  const channels = data.length / (width * height);
  if (data.BYTES_PER_ELEMENT !== 1 || (channels !== 1 && channels !== 4)) {
    throw new KeybitsError(`${data.length} values for ${width} x ${height} pixels: gray needs one byte per pixel, `
      + "RGBA four", -3);
  }
  return { data, width, height, gray: channels === 1 };
}

const BAND = 1 << 14; // pixels that become gray at once: colour takes little memory and stays in the cache

function grayInMemory({ data, width, height, gray }, allocate) {
  if (gray) return allocate(data);
  const pixels = width * height;
  const out = allocate(pixels);
  const band = allocate(4 * Math.min(BAND, pixels));
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.length);
  for (let i = 0; i < pixels; i += BAND) {
    const n = Math.min(BAND, pixels - i);
    bytesAt(band, 4 * n).set(bytes.subarray(4 * i, 4 * (i + n)));
    wasm.web_gray(band, out + i, n);
  }
  return out;
}

// ----------------------------------------------------------------------------------------------------------- features

/** Names of one of the library's tables and their numbers, from the first one on. */
function numbersOf(nameOf, first) {
  const numbers = {};
  for (let i = first, name; (name = nameOf(i)) !== 0; i++) numbers[text(name)] = i;
  return numbers;
}

/** Names of the detectors and their numbers; this build leaves some out. */
function detectors() {
  const numbers = {};
  for (let i = 1, name; i < 9; i++) if ((name = wasm.web_detector_name(i)) !== 0) numbers[text(name)] = i;
  return numbers;
}

const INSIDE = Symbol("inside"); // Features that are not detected
const FIELDS = 6; // of a keypoint: x, y, size, angle, response, octave

/** How options of detection become numbers, in the order of shim.c; 0 is the library's default. */
const DETECT_OPTIONS = {
  detector: (v) => (v === undefined ? 0 : choice(detectors(), v, "detector")),
  maxKeypoints: (v) => whole(v, 0, 1e6, "maxKeypoints"),
  selection: (v) => choice(numbersOf(wasm.web_selection_name, 0), v ?? "default", "selection"),
  orientation: (v) => choice(numbersOf(wasm.web_orientation_name, 0), v ?? "default", "orientation"),
  levels: (v) => whole(v, 0, 32, "levels"),
  hessianThreshold: (v) => number(v, 0, 0.5, "hessianThreshold"),
  fastThreshold: (v) => whole(v, 0, 255, "fastThreshold"),
  fastThresholdMin: (v) => whole(v, 0, 255, "fastThresholdMin"),
};
const detectNumbers = (options) =>
  Float64Array.from(Object.entries(DETECT_OPTIONS), ([name, toNumber]) => toNumber(options[name]));

const FEATURE_OPTIONS = ["model", ...Object.keys(DETECT_OPTIONS), "mask"];

export class Features extends Handle {
  constructor(image, options = {}) {
    super(...Features.#make(image, options));
    this.width = Features.#last.width;
    this.height = Features.#last.height;
    this.times = Features.#last.times;
    this.model = Features.#last.model;
  }

  static #last = null; // what the constructor learns from #make beside the handle

  static #make(image, options) {
    library();
    if (options?.[INSIDE]) return options[INSIDE] === "kept" ? Features.#kept(image) : Features.#restore(image);
    known(options, FEATURE_OPTIONS, "Features");
    const start = performance.now();
    const model = modelOf(options.model ?? "bag256");
    const pixels = pixelsOf(image);
    const { width, height } = pixels;
    return withMemory((allocate) => {
      const gray = grayInMemory(pixels, allocate);
      const mask = options.mask ? allocate(Features.#mask(options.mask, width, height)) : 0;
      const afterGray = performance.now();
      const at = handle(wasm.web_features_detect(gray, width, height, allocate(detectNumbers(options)), mask));
      const afterDetect = performance.now();
      if (wasm.web_features_describe(at, Handle.at(model, Model), gray) < 0) {
        const error = failure();
        wasm.web_features_free(at);
        throw error;
      }
      const times = { gray: afterGray - start, detect: afterDetect - afterGray,
        describe: performance.now() - afterDetect };
      Features.#last = { width, height, times, model: { id: model.id, name: model.name, binary: model.bits > 0 } };
      return [at, "web_features_free"];
    });
  }

  static #mask(mask, width, height) {
    const bytes = asBytes(mask, "a mask");
    if (bytes.length !== width * height) throw new KeybitsError("a mask has one byte per pixel of the image", -3);
    return bytes;
  }

  static #restore(saved) {
    if (saved === null || typeof saved !== "object") refuse(`saved features are an object, not ${saved}`);
    const { keypoints, descriptors, width, height, model } = saved;
    if (!/^[0-9a-f]{16}$/.test(model?.id)) refuse("saved features: model.id is 16 hexadecimal digits");
    const points = column(Float32Array, keypoints, undefined, "keypoints");
    const rows = asBytes(descriptors, "descriptors");
    const n = points.length / FIELDS;
    const rowBytes = n ? rows.length / n : 0;
    const fits = Number.isInteger(n) && Number.isInteger(rowBytes) && rowBytes <= 4096 && (n > 0 || !rows.length);
    if (!fits || !positive(width) || !positive(height)) refuse("keypoints and descriptors do not belong together");
    const at = withMemory((allocate) => wasm.web_features_restore(allocate(points), allocate(rows), n, rowBytes,
      BigInt(`0x${model.id}`), model.binary === false ? 0 : 1, width, height));
    Features.#last = { width, height, times: { gray: 0, detect: 0, describe: 0 }, model: { ...model } };
    return [handle(at), "web_features_free"];
  }

  /** Of an index; where it does not know the size of the image, the least that holds all keypoints. */
  static #kept({ at, model }) {
    const points = Features.#points(at);
    const most = (field) => points.reduce((best, v, i) => (i % FIELDS === field && v > best ? v : best), 0);
    Features.#last = { width: wasm.web_features_width(at) || Math.ceil(most(0)) + 1,
      height: wasm.web_features_height(at) || Math.ceil(most(1)) + 1,
      times: { gray: 0, detect: 0, describe: 0 }, model };
    return [at, "web_features_free"];
  }

  static #points(at) {
    const n = wasm.web_features_count(at) * FIELDS;
    return withMemory((allocate) => {
      const out = allocate(4 * n);
      wasm.web_features_keypoints(at, out);
      return copyOf(Float32Array, out, n);
    });
  }

  static fromJSON(saved) { return new Features(saved, { [INSIDE]: "saved" }); }

  /** Plain typed arrays: what fromJSON takes and what can be posted to a worker. */
  toJSON() {
    const { keypoints, descriptors, width, height, model } = this;
    return { keypoints, descriptors, width, height, model };
  }

  get count() { return wasm.web_features_count(Handle.at(this, Features)); }
  get rowBytes() { return wasm.web_features_row_bytes(Handle.at(this, Features)); }
  get keypoints() { return Features.#points(Handle.at(this, Features)); }
  get descriptors() {
    const at = Handle.at(this, Features);
    return copyOf(Uint8Array, wasm.web_features_rows(at) >>> 0, this.count * this.rowBytes);
  }
  get flags() { return copyOf(Uint8Array, wasm.web_features_flags(Handle.at(this, Features)) >>> 0, this.count); }
}

// ------------------------------------------------------------------------------------------------ matching, geometry

const GEOMETRIES = { homography: 1, fundamental: 2, similarity: 3, affine: 4, essential: 5, rotation: 6, any: 7 };

/** The columns of n matches of the library. */
function readMatches(rows, count, allocate) {
  const columns = [0, 0, 0, 0].map(() => allocate(4 * count));
  wasm.web_matches_read(rows, count, ...columns);
  const [a, b] = columns.map((at) => copyOf(Int32Array, at, count));
  const [, , distance, second] = columns.map((at) => copyOf(Float32Array, at, count));
  return { count, a, b, distance, second };
}

export function match(a, b, options = {}) {
  const [left, right] = [Handle.at(a, Features), Handle.at(b, Features)];
  known(options, ["oneWay", "maxRatio", "maxDistance", "filter"], "match");
  const room = a.count;
  return withMemory((allocate) => {
    const rows = allocate(room * wasm.web_match_size());
    let count = checked(wasm.web_match(left, right, options.oneWay ? 1 : 0,
      number(options.maxRatio, 0, 1, "maxRatio"), number(options.maxDistance, 0, 1e9, "maxDistance"), rows));
    if (options.filter) count = checked(wasm.web_filter(left, right, rows, count));
    return readMatches(rows, count, allocate);
  });
}

const FIT_NUMBERS = 26; // inliers, places, iterations, rms, matrix, rotation, translation, geometry: as shim.c writes them

function fitResult(result, numbers, inliers) {
  return { found: result === 0, result: text(wasm.web_fit_result_name(result)),
    geometry: Object.keys(GEOMETRIES)[numbers[25] - 1], model: numbers.slice(4, 13),
    rotation: numbers.slice(13, 22), translation: numbers.slice(22, 25), inliers, inlierCount: numbers[0],
    places: numbers[1], iterations: numbers[2], rms: numbers[3] };
}

const CAMERA_FIELDS = ["fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2", "k3", "k4", "fisheye"];

/** Numbers of a camera; the library says what is wrong with them. */
function cameraNumbers(camera, what) {
  known(camera, CAMERA_FIELDS, what);
  return CAMERA_FIELDS.map((name) => {
    const value = Number(camera[name] ?? 0);
    return Number.isFinite(value) ? value : refuse(`${what}: ${name} is ${camera[name]}`);
  });
}

const FIT_OPTIONS = ["geometry", "threshold", "seed", "camera", "camera2"];

/** The options of a fit as numbers, in the order of shim.c. */
function fitNumbers(options) {
  const geometry = choice(GEOMETRIES, options.geometry ?? "homography", "geometry");
  if ([GEOMETRIES.essential, GEOMETRIES.rotation].includes(geometry) && !options.camera) refuse(`${options.geometry} needs a camera`);
  const cameras = [options.camera, options.camera && options.camera2].filter(Boolean)
    .map((camera, i) => cameraNumbers(camera, i ? "camera2" : "camera"));
  return Float64Array.of(geometry, number(options.threshold, 0, 1e9, "threshold"),
    whole(options.seed, 0, 2 ** 53 - 1, "seed"), cameras.length, ...cameras.flat());
}

/** One number per pair of an option, or null. */
const perPair = (options, name, n) => options[name] ? column(Float32Array, options[name], n, name) : null;

function deviationsOf(options, n) {
  const deviations = perPair(options, "deviations", n);
  if (deviations?.some((d) => !(d >= 0 && d < Infinity))) refuse("deviations: finite numbers from 0 on");
  return deviations;
}

export function fit(a, b, matches, options = {}) {
  const [left, right] = [Handle.at(a, Features), Handle.at(b, Features)];
  const fitting = fitNumbers(known(options, [...FIT_OPTIONS, "deviations"], "fit"));
  if (matches === null || typeof matches !== "object") refuse(`matches are an object, not ${matches}`);
  const n = whole(matches.count, 0, 2 ** 32 - 1, "matches.count");
  const columns = [[Int32Array, "a"], [Int32Array, "b"], [Float32Array, "distance"], [Float32Array, "second"]]
    .map(([Type, name]) => column(Type, matches[name], n, `matches.${name}`));
  const deviations = deviationsOf(options, n);
  return withMemory((allocate) => {
    const rows = allocate(n * wasm.web_match_size());
    wasm.web_matches_write(rows, n, ...columns.map(allocate));
    const inliers = allocate(n);
    const numbers = allocate(FIT_NUMBERS * 8);
    const result = checked(wasm.web_fit(left, right, rows, deviations ? allocate(deviations) : 0, n, allocate(fitting),
      inliers, numbers));
    return fitResult(result, copyOf(Float64Array, numbers, FIT_NUMBERS), copyOf(Uint8Array, inliers, n));
  });
}

export const findHomography = (a, b, matches, options = {}) =>
  fit(a, b, matches, { ...known(options, ["threshold", "seed"], "findHomography"), geometry: "homography" });

export function fitPoints(pairs, options = {}) {
  const points = column(Float64Array, pairs, undefined, "pairs");
  const n = points.length / 4;
  if (!Number.isInteger(n)) refuse("pairs of points are four numbers each: x1 y1 x2 y2");
  const fitting = fitNumbers(known(options, [...FIT_OPTIONS, "deviations", "quality"],
    "fitPoints"));
  const [quality, deviations] = [perPair(options, "quality", n), deviationsOf(options, n)];
  return withMemory((allocate) => {
    const [at, inliers, numbers] = [allocate(points), allocate(n), allocate(FIT_NUMBERS * 8)];
    const result = checked(wasm.web_fit_points(at, quality ? allocate(quality) : 0,
      deviations ? allocate(deviations) : 0, n, allocate(fitting), inliers, numbers));
    return fitResult(result, copyOf(Float64Array, numbers, FIT_NUMBERS), copyOf(Uint8Array, inliers, n));
  });
}

/** Looks for a template near where the matrix h expects it in a frame, and fits again. */
export function refind(template, frame, h, options = {}) {
  const [left, right] = [Handle.at(template, Features), Handle.at(frame, Features)];
  known(options, ["radius", "threshold"], "refind");
  const matrix = column(Float64Array, h, 9, "h");
  return withMemory((allocate) => {
    const numbers = allocate(FIT_NUMBERS * 8);
    const result = checked(wasm.web_track(left, right, allocate(matrix), number(options.radius ?? 24, 0, 1e9, "radius"),
      number(options.threshold, 0, 1e9, "threshold"), numbers));
    return fitResult(result, copyOf(Float64Array, numbers, FIT_NUMBERS), null);
  });
}

// --------------------------------------------------------------------------------------------------------- two images

/** Names of looks and their bits. */
const looksOf = () => Object.fromEntries([1, 2, 4, 8, 16].filter((bit) => wasm.web_look_name(bit) !== 0)
  .map((bit) => [text(wasm.web_look_name(bit)), bit]));

/** Detects, describes, matches and fits by the looks that the pair needs, as kb_match_images does. */
export function matchImages(imageA, imageB, options = {}) {
  library();
  known(options, ["model", "looks", "maxRatio", "maxDistance", "filter", ...Object.keys(DETECT_OPTIONS), ...FIT_OPTIONS],
    "matchImages");
  const model = Handle.at(modelOf(options.model ?? "bag256"), Model);
  const [detecting, pictures] = [detectNumbers(options), [pixelsOf(imageA), pixelsOf(imageB)]];
  const fitting = options.geometry === "none" ? null : fitNumbers({ geometry: "any", ...options });
  const looks = column(Array, options.looks ?? [], undefined, "looks")
    .reduce((bits, name) => bits | choice(looksOf(), name, "look"), 0);
  const matching = Float64Array.of(number(options.maxRatio, 0, 1, "maxRatio"),
    number(options.maxDistance, 0, 1e9, "maxDistance"), options.filter === false ? 1 : 0, looks);
  return withMemory((allocate) => {
    const [a, b] = pictures.map((picture) => grayInMemory(picture, allocate));
    const sizes = allocate(Int32Array.from(pictures.flatMap(({ width, height }) => [width, height])));
    const pair = handle(wasm.web_match_images(model, a, b, sizes, allocate(detecting), allocate(matching),
      fitting ? allocate(fitting) : 0));
    try {
      return readPair(pair, fitting !== null, allocate);
    } finally {
      wasm.web_pair_free(pair);
    }
  });
}

function readPair(pair, fitted, allocate) {
  const room = allocate((7 + FIT_NUMBERS) * 8);
  const result = wasm.web_pair_read(pair, room);
  const numbers = copyOf(Float64Array, room, 7 + FIT_NUMBERS);
  const [na, nb, count, candidates, look, rotation, looks] = numbers;
  const [a, b] = [allocate(4 * FIELDS * na), allocate(4 * FIELDS * nb)];
  wasm.web_pair_keypoints(pair, a, b);
  const inliers = copyOf(Uint8Array, wasm.web_pair_inliers(pair) >>> 0, count);
  return { a: copyOf(Float32Array, a, FIELDS * na), b: copyOf(Float32Array, b, FIELDS * nb), candidates,
    matches: readMatches(wasm.web_pair_matches(pair), count, allocate), look: text(wasm.web_look_name(look)), rotation,
    looks, fit: fitted ? fitResult(result, numbers.subarray(7), inliers) : null };
}

export function applyHomography(h, x, y) {
  const w = h[6] * x + h[7] * y + h[8];
  return [(h[0] * x + h[1] * y + h[2]) / w, (h[3] * x + h[4] * y + h[5]) / w];
}

// -------------------------------------------------------------------------------------------------------------- index

const SCORINGS = { binary: 0, "tf-idf": 1, exact: 2 };

/** A vocabulary of the package, such as "bag256-1k". */
export const readVocabulary = (name = "bag256-1k") => {
  if (name === "bag256-1k") return readFile(new URL("./bag256-1k.kbv", import.meta.url));
  if (name === "bad256-1k") return readFile(new URL("./bad256-1k.kbv", import.meta.url));
  return Promise.reject(new KeybitsError(`no vocabulary "${name}" in the package: bag256-1k, bad256-1k`, -4));
};

export class Index extends Handle {
  /** data: the bytes of a vocabulary (an empty index) or of an index file. */
  constructor(data, options = {}) {
    library();
    known(options, ["keepFeatures", "file", "vocabulary"], "Index");
    const bytes = asBytes(data, "a vocabulary or an index");
    super(handle(wasm.web_index_open(take(bytes), bytes.length, options.file || Index.#isIndex(bytes) ? 1 : 0,
      options.keepFeatures === false ? 0 : 1)), "web_index_free");
  }
  static #isIndex(bytes) { return bytes[0] === 0x8b && bytes[3] === 0x49; } // \x8bKBI; a vocabulary has KBV
  static async create(options = {}) {
    return new Index(options.vocabulary instanceof Uint8Array ? options.vocabulary
      : await readVocabulary(options.vocabulary), options);
  }
  add(features, id, name = "") {
    const [at, from] = [Handle.at(this, Index), Handle.at(features, Features)];
    if (!Number.isSafeInteger(id) || id < 0) refuse(`id ${id}: a whole number from 0`);
    withMemory((allocate) => checked(wasm.web_index_add(at, from, id, allocate(cString(name)))));
  }
  remove(id) {
    if (!Number.isSafeInteger(id) || id < 0) return 0;
    return checked(wasm.web_index_remove(Handle.at(this, Index), id));
  }
  query(features, options = {}) {
    const [at, from] = [Handle.at(this, Index), Handle.at(features, Features)];
    known(options, ["count", "scoring", "verify", "threshold", "probes"], "query");
    const most = whole(options.count ?? 10, 1, 1e6, "count");
    return withMemory((allocate) => {
      const out = allocate(most * 12 * 8);
      const n = checked(wasm.web_index_query(at, from, choice(SCORINGS, options.scoring ?? "binary", "scoring"),
        whole(options.verify, 0, 1e6, "verify"), number(options.threshold, 0, 1e9, "threshold"),
        whole(options.probes, 0, 64, "probes"), most, out));
      const numbers = copyOf(Float64Array, out, n * 12);
      return Array.from({ length: n }, (_, i) => {
        const row = numbers.subarray(12 * i, 12 * i + 12);
        return { id: row[0], score: row[1], inliers: row[2], model: row.slice(3) };
      });
    });
  }
  get count() { return wasm.web_index_count(Handle.at(this, Index)); }
  get bytes() { return wasm.web_index_bytes(Handle.at(this, Index)); }
  get keepsFeatures() { return wasm.web_index_keeps_features(Handle.at(this, Index)) !== 0; }
  get images() {
    const at = Handle.at(this, Index);
    return this.#positions().map(([id, i]) => ({ id, name: text(wasm.web_index_name_at(at, i)) }));
  }
  get modelId() { return hexId(wasm.web_index_model_id(Handle.at(this, Index))); }
  /** Id and position of every image. */
  #positions() {
    const at = Handle.at(this, Index);
    const count = wasm.web_index_positions(at);
    const all = [];
    for (let i = 0; i < count; i++) all.push([wasm.web_index_id_at(at, i), i]);
    return all.filter(([id]) => id >= 0);
  }
  features(id) {
    const found = this.#positions().find(([one]) => one === id);
    if (!found) refuse(`no image ${id} in the index`);
    const at = handle(wasm.web_index_features(Handle.at(this, Index), found[1]));
    return new Features({ at, model: { id: this.modelId, name: "", binary: true } }, { [INSIDE]: "kept" });
  }
  /** The index file, which `keybits search` and new Index read. */
  serialise() {
    const at = Handle.at(this, Index);
    return withMemory((allocate) => {
      const size = allocate(4);
      const file = handle(wasm.web_index_save(at, size));
      const bytes = copyOf(Uint8Array, file, copyOf(Uint32Array, size, 1)[0]);
      wasm.web_free(file);
      return bytes;
    });
  }
}

export { Tracker } from "./tracker.js";
