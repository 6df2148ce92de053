// SPDX-License-Identifier: Apache-2.0
// Wrong and forged input to the installed package: every size, every option, and addresses above 2 GiB.
import assert from "node:assert/strict";
import test from "node:test";
import { Features, Index, KeybitsError, Model, Tracker, findHomography, fit, fitPoints, load, match, memoryBytes,
  refind } from "keybits";
import { poster } from "./scene.js";

let exports = null; // of the instance that load makes
const instantiate = WebAssembly.instantiate;
WebAssembly.instantiate = async (...given) => {
  const result = await instantiate(...given);
  exports = (result.instance ?? result).exports;
  return result;
};
await load();

const image = poster(320, 240, 3);
const a = new Features(image, { maxKeypoints: 200 });
const matches = match(a, a);
const refused = (call, words = /./) => assert.throws(call, (e) => e instanceof KeybitsError && words.test(e.message));

test("matches of a forged size do not reach the memory", () => {
  for (const count of [2 ** 28, 2 ** 32, 2 ** 53, -1, 1.5, NaN, "200", null, undefined, matches.count + 1]) {
    refused(() => fit(a, a, { ...matches, count }));
  }
  for (const name of ["a", "b", "distance", "second"]) {
    for (const wrong of [null, undefined, 5, "xy", matches[name].slice(1), { length: 2 ** 40 }]) {
      refused(() => findHomography(a, a, { ...matches, [name]: wrong }), new RegExp(name));
    }
  }
  for (const wrong of [null, undefined, 5]) refused(() => fit(a, a, wrong));
  assert.equal(findHomography(a, a, matches).inlierCount, matches.count);
});

test("images that are none", () => {
  const data = new Uint8Array(100);
  const floats = new Float32Array(100);
  for (const wrong of [null, undefined, 5, "image.png", { data, width: 10, height: 11 },
    { data, width: 65536, height: 1 }, { data, width: 2.5, height: 40 },
    { data, width: "10", height: 10 }, { data: floats, width: 10, height: 10 },
    { data, width: 2 ** 32 + 10, height: 10 }]) {
    refused(() => new Features(wrong));
  }
});

test("options that are not known, or not numbers", () => {
  const index = [new Uint8Array(20)];
  for (const call of [(o) => new Features(image, o), (o) => match(a, a, o), (o) => fit(a, a, matches, o),
    (o) => findHomography(a, a, matches, o), (o) => fitPoints([], o), (o) => refind(a, a, new Array(9).fill(1), o),
    (o) => new Index(...index, o), (o) => new Tracker(...index, o)]) {
    refused(() => call({ maxKeypoint: 5 }), /no option "maxKeypoint"; there are/);
    for (const wrong of [null, 5, "fast"]) refused(() => call(wrong), /options are an object/);
  }
  for (const wrong of [-1, 1e7, 2 ** 32 + 5, 10.5, "100", NaN, Infinity, [5], {}]) {
    refused(() => new Features(image, { maxKeypoints: wrong }), /maxKeypoints/);
    refused(() => new Features(image, { levels: wrong }), /levels/);
    refused(() => fit(a, a, matches, { seed: wrong === 1e7 || wrong === 2 ** 32 + 5 ? -5 : wrong }), /seed/);
  }
  for (const wrong of [-1, 2, NaN, "0.8"]) refused(() => match(a, a, { maxRatio: wrong }), /maxRatio/);
  refused(() => findHomography(a, a, matches, { geometry: "affine" }), /no option "geometry"/);
  refused(() => new Tracker(new Uint8Array(20), { every: "often" }), /every/);
  refused(() => new Model(null), /a model/);
  refused(() => new Model({}), /a model/);
  refused(() => match(a, null), /Features/);
  refused(() => match(a, { count: 5 }), /Features/);
});

test("matrices, points and saved features of a wrong size", () => {
  for (const wrong of [[], [1, 2, 3], null, 5, new Float64Array(10)]) refused(() => refind(a, a, wrong), /^h: /);
  for (const wrong of [[1, 2, 3], null, 5, { length: 2 ** 40 }, { length: 0 }]) refused(() => fitPoints(wrong));
  refused(() => fitPoints([1, 2, 3, 4], { quality: [1, 2] }), /quality: 2 numbers, not 1/);
  refused(() => fitPoints([1, 2, 3, 4], { deviations: [1, 2] }), /deviations: 2 numbers, not 1/);
  refused(() => fit(a, a, match(a, a), { deviations: [1] }), /deviations: 1 numbers, not/);
  for (const wrong of [-1, NaN, Infinity, "x"])
    refused(() => fitPoints([1, 2, 3, 4], { deviations: [wrong] }), /deviations: finite/);
  const saved = a.toJSON();
  for (const wrong of [null, 5, {}, { ...saved, model: null }, { ...saved, model: { id: "bag256" } },
    { ...saved, descriptors: saved.descriptors.slice(1) }, { ...saved, descriptors: null }, { ...saved, keypoints: [] },
    { ...saved, keypoints: 7 }, { ...saved, width: 0 }, { ...saved, height: 1e6 }]) {
    refused(() => Features.fromJSON(wrong));
  }
  assert.deepEqual(Features.fromJSON(saved).descriptors, saved.descriptors);
});

test("an index", async () => {
  const index = await Index.create();
  index.add(a, 7, "seven");
  for (const wrong of [-1, 1.5, 2 ** 53, "7", null]) refused(() => index.add(a, wrong), /id/);
  for (const options of [{ count: 0 }, { count: 1e9 }, { count: 2.5 }, { verify: -1 }, { verify: 2 ** 32 },
    { probes: 65 }, { probes: "all" }, { scoring: "best" }, { threshold: NaN }, { keypoints: 5 }]) {
    refused(() => index.query(a, options));
  }
  const [few, many] = [1, 64].map((probes) => index.query(a, { probes })[0]);
  assert.ok(few.id === 7 && many.id === 7 && few.score <= many.score);
  await assert.rejects(Index.create({ keepfeatures: false }), KeybitsError);
  index.free();
});

/** Numbers from 0 to n - 1, the same ones every time. */
function drawer(seed) {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * n);
  };
}

test("calls with anything: a result or a KeybitsError", async () => {
  const index = await Index.create();
  index.add(a, 1, "one");
  const file = index.serialise();
  const tracker = new Tracker(file);
  const h = [1, 0, 0, 0, 1, 0, 0, 0, 1];
  const anything = [null, undefined, true, 0, -1, 1.5, NaN, Infinity, 2 ** 31, 2 ** 32, 2 ** 53, 10n, "", "bag256",
    "x".repeat(5000), "\ud800", [], [1, 2, 3], [[1]], {}, { length: 2 ** 40 }, { width: 10, height: 10 },
    new Uint8Array(0), new Uint8Array(100), new Float32Array(7), new Float64Array(9), new ArrayBuffer(8), new Date(0),
    () => 1, h, image, { ...image, width: 2 ** 20 }, { ...image, data: new Uint8Array(9) }, a, index, matches, file,
    { ...matches, count: 2 ** 30 }, { ...matches, a: new Int32Array(2) }, a.toJSON(), { maxKeypoints: 50 },
    { count: 3 }, { verify: 2 }, { geometry: "fundamental" }, file.slice(0, 100),
    file.map((byte, i) => (i % 500 === 77 ? 255 : byte))];
  const calls = {
    Features: (...given) => new Features(...given), Model: (...given) => new Model(...given),
    Index: (...given) => new Index(...given), Tracker: (...given) => new Tracker(...given), match, fit, findHomography,
    fitPoints, refind, fromJSON: (...given) => Features.fromJSON(...given), add: (...given) => index.add(...given),
    remove: (...given) => index.remove(...given), query: (...given) => index.query(...given),
    features: (...given) => index.features(...given), find: (...given) => tracker.find?.(...given),
  };
  const usual = { Features: [image], match: [a, a], fit: [a, a, matches], findHomography: [a, a, matches],
    refind: [a, a, h], query: [a], add: [a, 2, "two"], find: [image], fromJSON: [a.toJSON()], features: [1],
    Index: [file] };
  const draw = drawer(5);
  const names = Object.keys(calls);
  const seen = { result: 0, refused: 0 };
  for (let i = 0; i < 3000; i++) {
    const name = names[draw(names.length)];
    const given = Array.from({ length: draw(5) }, (_, k) =>
      (draw(3) && usual[name] && k < usual[name].length ? usual[name][k] : anything[draw(anything.length)]));
    try {
      const result = calls[name](...given);
      if (result?.free && result !== a && result !== index) result.free();
      seen.result++;
    } catch (e) {
      assert.ok(e instanceof KeybitsError && e.message, `${name} of ${given.map((v) => typeof v)}: ${e.stack}`);
      seen.refused++;
    }
  }
  assert.ok(seen.result > 100 && seen.refused > 1000, JSON.stringify(seen));
  assert.deepEqual(new Features(image, { maxKeypoints: 200 }).descriptors, a.descriptors); // nothing was written over
  index.free();
});

test("addresses above 2 GiB", async () => {
  const before = { keypoints: a.keypoints, descriptors: a.descriptors, flags: a.flags };
  const index = await Index.create();
  index.add(a, 1, "one");
  const file = index.serialise();
  const taken = [exports.web_alloc(0x60000000), exports.web_alloc(0x30000000)]; // nothing writes there
  assert.ok(taken.every((at) => at) && memoryBytes() > 2 ** 31);
  // What is free below is used up, so that all that follows lies above.
  for (let size = 1 << 24; size >= 16; size >>= 1) {
    for (;;) {
      const at = exports.web_alloc(size) >>> 0;
      taken.push(at);
      if (at > 2 ** 31) break;
    }
  }
  const high = new Features(image, { maxKeypoints: 200 });
  for (const name of Object.keys(before)) assert.deepEqual(high[name], before[name], name);
  assert.deepEqual([...match(a, high).b], [...matches.b]);
  assert.equal(findHomography(a, high, match(a, high)).inlierCount, matches.count);
  const opened = new Index(file);
  assert.deepEqual(opened.images, [{ id: 1, name: "one" }]);
  assert.equal(opened.query(high, { verify: 1 })[0].id, 1);
  assert.deepEqual(opened.features(1).descriptors, before.descriptors);
  assert.deepEqual(opened.serialise(), file);
  assert.equal(new Model("bad256").name, "bad256");
  refused(() => new Model("bag9"), /bag9/);
  refused(() => new Features(poster(100, 100, 1), { mask: new Uint8Array(3) }), /one byte per pixel/);
  assert.equal(exports.web_alloc(0x70000000), 0); // more than there is
  assert.deepEqual(new Features(image, { maxKeypoints: 200 }).descriptors, before.descriptors);
  for (const at of taken) exports.web_free(at);
});
