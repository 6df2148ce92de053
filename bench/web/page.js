// SPDX-License-Identifier: Apache-2.0
// keybits and opencv.js in one page: the same RGBA frames, at most 1000 keypoints, in turns.
import { Features, Index, findHomography, load, match, memoryBytes } from "./package/keybits.js";
import { backFrom, place, poster, toRGBA } from "./scene.js";

const KEYPOINTS = 1000;
const STEPS = ["gray", "detect", "describe", "match", "homography"];

function scenes() {
  const first = poster(640, 480, 9, 400);
  const back = backFrom(first, { x: 320, y: 240, scale: 0.9, c: 0.98, s: 0.198 });
  return [first, place(poster(640, 480, 10, 100), first, back)].map(toRGBA)
    .map(({ data, width, height }) => new ImageData(data, width, height));
}

/** Milliseconds between calls of the function that it returns. */
function stopwatch() {
  let last = performance.now();
  return () => {
    const now = performance.now();
    const passed = now - last;
    last = now;
    return passed;
  };
}

function ours(model, [first, second]) {
  const options = { model, maxKeypoints: KEYPOINTS };
  const a = new Features(first, options);
  return { name: `keybits ${model}`, frame() {
    const b = new Features(second, options);
    const lap = stopwatch();
    const matches = match(a, b);
    const times = [b.times.gray, b.times.detect, b.times.describe, lap()];
    const inliers = findHomography(a, b, matches).inlierCount;
    times.push(lap());
    const keypoints = b.count;
    b.free();
    return { times, inliers, keypoints };
  } };
}

/** cv.ORB with its defaults, BFMatcher with crossCheck, findHomography by RANSAC. */
function theirs(cv, [first, second]) {
  const orb = new cv.ORB(KEYPOINTS);
  const matcher = new cv.BFMatcher(cv.NORM_HAMMING, true);
  const none = new cv.Mat();
  const describe = (image, lap) => {
    const rgba = cv.matFromImageData(image);
    const gray = new cv.Mat();
    cv.cvtColor(rgba, gray, cv.COLOR_RGBA2GRAY);
    const times = [lap()];
    const keypoints = new cv.KeyPointVector();
    orb.detect(gray, keypoints, none);
    times.push(lap());
    const rows = new cv.Mat();
    orb.compute(gray, keypoints, rows);
    times.push(lap());
    rgba.delete();
    gray.delete();
    return { keypoints, rows, times };
  };
  const a = describe(first, stopwatch());
  const points = (matches, vector, side) => cv.matFromArray(matches.size(), 1, cv.CV_32FC2,
    Array.from({ length: matches.size() }, (_, i) => {
      const { x, y } = vector.get(matches.get(i)[side]).pt;
      return [x, y];
    }).flat());
  return { name: "opencv.js ORB", frame() {
    const lap = stopwatch();
    const b = describe(second, lap);
    const matches = new cv.DMatchVector();
    matcher.match(a.rows, b.rows, matches);
    const times = [...b.times, lap()];
    const [p, q, mask] = [points(matches, a.keypoints, "queryIdx"), points(matches, b.keypoints, "trainIdx"),
      new cv.Mat()];
    const h = cv.findHomography(p, q, cv.RANSAC, 3, mask);
    times.push(lap());
    const [inliers, keypoints] = [cv.countNonZero(mask), b.keypoints.size()];
    for (const object of [b.keypoints, b.rows, matches, p, q, mask, h]) object.delete();
    return { times, inliers, keypoints };
  } };
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

/** opencv.js when it is ready, in an object: some of its builds have a then() of their own. */
async function openCV() {
  const cv = globalThis.cv instanceof Promise ? await globalThis.cv : globalThis.cv;
  if (!cv.Mat) await new Promise((resolve) => { cv.onRuntimeInitialized = resolve; });
  return { cv };
}

/** Rows of { name, least, median, keypoints, inliers }; times in milliseconds, one per step and all together. */
globalThis.measure = async (rounds) => {
  await load();
  const { cv } = await openCV();
  const images = scenes();
  const methods = [ours("bad256", images), ours("bag256", images), theirs(cv, images)];
  const samples = methods.map(() => STEPS.map(() => []));
  const last = [];
  for (let i = 0; i < rounds + 5; i++) {
    methods.forEach(({ frame }, m) => {
      last[m] = frame();
      if (i >= 5) last[m].times.forEach((ms, k) => samples[m][k].push(ms)); // the first ones warm up
    });
    await new Promise((resolve) => { setTimeout(resolve, 0); });
  }
  const together = (times) => [...times, sum(times)];
  return methods.map(({ name }, m) => ({ name, keypoints: last[m].keypoints, inliers: last[m].inliers,
    least: together(samples[m].map((all) => Math.min(...all))), median: together(samples[m].map(median)) }));
};

/** 1,000 targets: what they take, and how long a query with the features of a frame takes. */
globalThis.measureTargets = async (count) => {
  await load();
  const index = await Index.create();
  const target = (seed) => poster(320, 240, seed, 90);
  const [adding, querying] = [[], []];
  let right = 0;
  for (let i = 0; i < count; i++) {
    const picture = toRGBA(target(i));
    const lap = stopwatch();
    const features = new Features(picture, { maxKeypoints: 250 });
    index.add(features, i, `target ${i}`);
    adding.push(lap());
    features.free();
  }
  for (let i = 0; i < count; i += Math.ceil(count / 50)) {
    const picture = target(i);
    const back = backFrom(picture, { x: 320, y: 240, scale: 1.1, c: 0.96, s: 0.28 });
    const frame = new Features(place(poster(640, 480, 5000 + i, 40), picture, back), { maxKeypoints: 800 });
    const lap = stopwatch();
    const [best] = index.query(frame, { verify: 4, count: 4 });
    querying.push(lap());
    right += best?.id === i ? 1 : 0;
    frame.free();
  }
  const { bytes } = index;
  const queries = querying.length;
  index.free();
  return { bytes, memory: memoryBytes(), add: [Math.min(...adding), median(adding)],
    query: [Math.min(...querying), median(querying)], right, queries };
};
