// SPDX-License-Identifier: Apache-2.0
/** keybits: learned binary local image descriptors. Points are pixels, (0,0) is the centre of the first one. */

/** Loads the library; call once and wait before anything else. Without a source, keybits.wasm beside this module. */
export function load(source?: BufferSource | Promise<BufferSource> | WebAssembly.Module): Promise<void>;
/** The version of the library, such as "0.1.0". */
export function version(): string;
/** Bytes of memory that the library holds; it never shrinks. */
export function memoryBytes(): number;

/** What the library refuses: wrong sizes and numbers, unknown options, damaged files. message is its sentence, code its
 * status (see kb_status), or a word. */
export class KeybitsError extends Error {
  readonly code: number | string;
}

/** Gray (one byte per pixel) or RGBA (four); ImageData is one of these. */
export interface Pixels {
  readonly data: Uint8Array | Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}
/** Pixels, or anything that a canvas can draw: ImageBitmap, VideoFrame, video, image and canvas elements. */
export type ImageSource = Pixels | CanvasImageSource;

/** A model: "bad256", "bag256" (default) or the bytes of a model file. */
export class Model {
  constructor(source?: string | ArrayBuffer | ArrayBufferView);
  readonly name: string;
  /** "bad", "bag", "hashsift", "sift" or "rootsift". */
  readonly kind: string;
  readonly bits: number;
  readonly rowBytes: number;
  /** 16 hexadecimal digits; equal ids mean equal bits. */
  readonly id: string;
  /** Releases the memory now; otherwise that happens when nobody can reach the object any more. */
  free(): void;
}

/** 0 and undefined mean the library's default, which is the program's too. */
export interface DetectOptions {
  /** By default "hessian". */
  detector?: "hessian" | "orb";
  /** The max number of keypoints; by default 2000. */
  maxKeypoints?: number;
  selection?: "default" | "best" | "grid" | "quadtree";
  /** "none" describes upright: for cameras that do not roll. matchImages decides per pair. */
  orientation?: "default" | "gradient" | "centroid" | "none";
  levels?: number;
  /** hessian: min response, by default 0.001; lower finds more in soft or dim images. */
  hessianThreshold?: number;
  /** orb: contrast of corners in gray levels, by default 20. */
  fastThreshold?: number;
  /** orb: threshold of a second search in cells without corners. */
  fastThresholdMin?: number;
}

export interface FeatureOptions extends DetectOptions {
  model?: string | Model;
  /** One byte per pixel; keypoints only where it is not zero. */
  mask?: ArrayBuffer | ArrayBufferView;
}

/** Features as plain arrays, for postMessage and storage. */
export interface SavedFeatures {
  keypoints: Float32Array;
  descriptors: Uint8Array;
  width: number;
  height: number;
  model: { id: string; name: string; binary: boolean };
}

/** Keypoints and descriptors of one image. */
export class Features {
  constructor(image: ImageSource, options?: FeatureOptions);
  static fromJSON(saved: SavedFeatures): Features;
  toJSON(): SavedFeatures;
  readonly width: number;
  readonly height: number;
  readonly count: number;
  readonly rowBytes: number;
  readonly model: { id: string; name: string; binary: boolean };
  /** A copy: x, y, size, angle, response, octave of every keypoint, strongest first. */
  readonly keypoints: Float32Array;
  /** A copy: rowBytes bytes per keypoint. */
  readonly descriptors: Uint8Array;
  /** A copy: KB_KP_* of every keypoint, 0 for an ordinary one. */
  readonly flags: Uint8Array;
  /** Milliseconds of each step. */
  readonly times: { gray: number; detect: number; describe: number };
  free(): void;
}

export interface Matches {
  count: number;
  a: Int32Array;
  b: Int32Array;
  distance: Float32Array;
  second: Float32Array;
}
export interface MatchOptions {
  /** The nearest neighbour of every row of a, instead of mutual nearest neighbours only. */
  oneWay?: boolean;
  maxRatio?: number;
  maxDistance?: number;
  /** Drop matches that their neighbours do not agree with. */
  filter?: boolean;
}
export function match(a: Features, b: Features, options?: MatchOptions): Matches;

/** A calibrated camera: kb_camera of the library. Pixels; distortion as in OpenCV. */
export interface Camera {
  fx: number;
  fy: number;
  cx: number;
  cy: number;
  k1?: number;
  k2?: number;
  p1?: number;
  p2?: number;
  k3?: number;
  k4?: number;
  /** A fisheye lens, with k1 to k4. */
  fisheye?: boolean;
}
/** "essential" and "rotation" need a camera. "any" is a homography, or where an epipolar geometry has clearly more
 * places, that one: fundamental, with a camera essential. */
export type Geometry = "homography" | "fundamental" | "similarity" | "affine" | "essential" | "rotation" | "any";
export interface FitOptions {
  geometry?: Geometry;
  /** Largest error of an inlier, px; by default 3, for fundamental and essential 1. */
  threshold?: number;
  seed?: number;
  camera?: Camera;
  /** Of the second image, where it is another one. */
  camera2?: Camera;
  /** The standard deviation of the error of every pair, in any unit: errors count by it, and threshold is that of the
   * median pair, 0.8 to 4 times as large for others. 0: the median's. */
  deviations?: ArrayLike<number>;
}
export interface Fit {
  found: boolean;
  /** "found", or why not. */
  result: string;
  /** Of the model: with "any" the one that was found. */
  geometry: Exclude<Geometry, "any">;
  /** 3 x 3, row major, from the first image to the second; zeros when nothing was found. */
  model: Float64Array;
  /** One byte per match. */
  inliers: Uint8Array;
  inlierCount: number;
  /** Different inliers: several at one place count once. What decisions should rest on. */
  places: number;
  /** essential, rotation: from rays of the first camera to rays of the second; else zeros. */
  rotation: Float64Array;
  translation: Float64Array;
  iterations: number;
  rms: number;
}
export function findHomography(a: Features, b: Features, matches: Matches,
  options?: Pick<FitOptions, "threshold" | "seed">): Fit;
export function fit(a: Features, b: Features, matches: Matches, options?: FitOptions): Fit;
/** pairs: x1 y1 x2 y2 of every pair, best first, or with a quality each, lower is better. */
export function fitPoints(pairs: ArrayLike<number>, options?: FitOptions & { quality?: ArrayLike<number> }): Fit;
/** Looks for a template near where h expects it in a frame, and fits again. */
export function refind(template: Features, frame: Features, h: ArrayLike<number>,
  options?: { radius?: number; threshold?: number }): Omit<Fit, "inliers">;
/** How the keypoints of a pair of images are described: "upright", "oriented" (an angle each), "rotated" (one rotation
 * for the pair), "warped" (the second image warped by a homography that was found); "guided" (along epipolar lines) runs
 * only when it is asked for. */
export type Look = "upright" | "oriented" | "rotated" | "warped" | "guided";
export interface PairOptions extends DetectOptions, Omit<FitOptions, "geometry" | "deviations"> {
  model?: string | Model;
  /** By default "any"; "none": matches alone. */
  geometry?: Geometry | "none";
  /** The looks that may be tried; by default all but "guided". */
  looks?: readonly Look[];
  maxRatio?: number;
  maxDistance?: number;
  /** false: fit all matches, also those that their neighbours do not agree with. */
  filter?: boolean;
}
export interface Pair {
  /** x, y, size, angle, response, octave of every keypoint of the two images. */
  a: Float32Array;
  b: Float32Array;
  /** Matches that their neighbours agree with. */
  matches: Matches;
  /** Matches before the neighbours were asked. */
  candidates: number;
  /** null with geometry "none". */
  fit: Fit | null;
  /** The look that gave the matches. */
  look: Look;
  /** "rotated": degrees clockwise of the second image against the first; else 0. */
  rotation: number;
  /** How many looks were tried. */
  looks: number;
}
/** Two images to matches and geometry, by the looks that the pair needs: the simplest and the best way to match two
 * images. The same as kb_match_images in C, keybits.match_images in Python and `keybits match`. */
export function matchImages(imageA: ImageSource, imageB: ImageSource, options?: PairOptions): Pair;
export function applyHomography(h: ArrayLike<number>, x: number, y: number): [number, number];

/** The bytes of a vocabulary of the package: "bag256-1k" or "bad256-1k". */
export function readVocabulary(name?: string): Promise<Uint8Array>;

export interface IndexResult {
  id: number;
  score: number;
  /** -1: not verified. */
  inliers: number;
  /** From the query to the image; zeros unless verified and found. */
  model: Float64Array;
}
/** Finds images that look like a query among many. */
export class Index {
  /** data: a vocabulary file for an empty index, or an index file; with `file`, nothing but an index file. */
  constructor(data: ArrayBuffer | ArrayBufferView, options?: { keepFeatures?: boolean; file?: boolean });
  static create(options?: { vocabulary?: string | Uint8Array; keepFeatures?: boolean }): Promise<Index>;
  add(features: Features, id: number, name?: string): void;
  /** How many images with this id were removed. */
  remove(id: number): number;
  query(features: Features, options?: {
    count?: number;
    scoring?: "binary" | "tf-idf" | "exact";
    /** So many of the best are matched and fitted, and come first. */
    verify?: number;
    threshold?: number;
    /** "binary": the number of nearest words in which each row is searched, up to 64; 0 decides by the images. */
    probes?: number;
  }): IndexResult[];
  readonly count: number;
  readonly bytes: number;
  readonly keepsFeatures: boolean;
  readonly images: { id: number; name: string }[];
  /** Model.id of the features that it takes. */
  readonly modelId: string;
  /** The kept features of an image, a copy. Where the file does not tell its width and height, they are the least
   * that hold all keypoints. */
  features(id: number): Features;
  /** The index file. */
  serialise(): Uint8Array;
  free(): void;
}

export interface Sighting {
  id: number;
  name: string;
  /** Top left, top right, bottom right and bottom left corner in the frame, smoothed. */
  corners: [number, number][];
  /** From the target to the frame, as it was fitted. */
  homography: number[];
  inliers: number;
  /** Frames since it was recognised. */
  age: number;
}
export interface TrackerOptions {
  model?: string;
  vocabulary?: string | Uint8Array;
  /** Of a frame, by default 800. */
  keypoints?: number;
  /** Of a target, by default 250: a thousand targets then take less than 20 MB. */
  targetKeypoints?: number;
  minInliers?: number;
  minRecognised?: number;
  /** Frames between two recognitions while something is followed. */
  every?: number;
  candidates?: number;
  patience?: number;
  /** 0 to 1: the share of a new corner when nothing moves. */
  still?: number;
}
/** Recognises targets in a stream of frames and follows them. */
export class Tracker {
  constructor(vocabulary: ArrayBuffer | ArrayBufferView, options?: TrackerOptions);
  static create(options?: TrackerOptions): Promise<Tracker>;
  readonly count: number;
  /** Of the index. */
  readonly bytes: number;
  /** Milliseconds of the last update. */
  readonly times?: { gray: number; detect: number; describe: number; track: number; total: number };
  add(image: ImageSource | Features, name?: string): number;
  /** Adds all images of an index file, such as `keybits index build` writes, and returns them. */
  addIndex(file: ArrayBuffer | ArrayBufferView): { id: number; name: string }[];
  remove(id: number): boolean;
  /** All targets as an index file, for addIndex. */
  serialise(): Uint8Array;
  update(image: ImageSource | Features): Sighting[];
  free(): void;
}
