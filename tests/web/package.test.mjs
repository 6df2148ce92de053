// SPDX-License-Identifier: Apache-2.0
// The installed package in node, beside the program: run by package.sh in a folder with node_modules/keybits.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { Features, Index, KeybitsError, Model, Tracker, applyHomography, findHomography, fit, fitPoints, load,
  match, matchImages, memoryBytes, readVocabulary, version } from "keybits";
import { backFrom, place, poster, random, samplePair, toRGBA } from "./scene.js";

const program = process.env.KEYBITS;
const models = join(process.env.KEYBITS_SOURCE, "models");
const native = (...args) => execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });

function writePGM(name, { data, width, height }) {
  writeFileSync(name, Buffer.concat([Buffer.from(`P5 ${width} ${height} 255\n`), data]));
  return name;
}

test("nothing works before load, and the message says so", () => {
  assert.throws(() => new Features(poster(100, 100, 1)), /await load\(\)/);
});

await load();
const pair = samplePair();
writePGM("poster.pgm", pair.poster);
writePGM("room.pgm", pair.room);

test("the version is the program's", () => assert.ok(native("info").includes(version())));

for (const [detector, model] of [["hessian", "bag256"], ["orb", "bad256"], ["hessian", "hashsift256"],
  ["orb", "bag512"]]) {
  test(`${detector} ${model}: rows, matches and inliers are the program's`, () => {
    const builtin = model.endsWith("256") && model.startsWith("b");
    const used = new Model(builtin ? model : readFileSync(join(models, `${model}.kbm`)));
    const options = { detector, model: used, maxKeypoints: 700 };
    const b = new Features(toRGBA(pair.room), options);
    const rows = native("describe", "room.pgm", "--detector", detector, "-m", model, "-n", "700").trim().split("\n");
    const hex = Buffer.from(b.descriptors).toString("hex");
    assert.equal(b.count, rows.length);
    rows.forEach((row, i) => assert.equal(hex.slice(2 * i * used.rowBytes, 2 * (i + 1) * used.rowBytes), row));
    const args = ["match", "poster.pgm", "room.pgm", "--detector", detector, "-m", model, "-n", "700", "--looks", "oriented",
      "--no-filter"];
    const lines = native(...args, "-o", "-").trim().split("\n").slice(1).map((line) => line.split(","));
    const { matches, fit: found } = matchImages(pair.poster, toRGBA(pair.room), { ...options, looks: ["oriented"],
      filter: false });
    assert.deepEqual([...matches.a], lines.map((l) => Number(l[0])));
    assert.deepEqual([...matches.b], lines.map((l) => Number(l[1])));
    assert.deepEqual([...matches.distance], lines.map((l) => Number(l[6])));
    assert.deepEqual([...found.inliers], lines.map((l) => Number(l[8])));
    assert.ok(found.found && found.inlierCount > 40, `${found.inlierCount} inliers`);
    for (const f of [b, used]) f.free();
  });
}

test("a default call gives the program's keypoints and rows, byte for byte", () => {
  const features = new Features(pair.room);
  const rows = native("describe", "room.pgm").trim().split("\n");
  assert.equal(Buffer.from(features.descriptors).toString("hex"), rows.join(""));
  const table = native("detect", "room.pgm").trim().split("\n");
  const head = table[0].split(",");
  const column = (name) => table.slice(1).map((line) => Math.fround(Number(line.split(",")[head.indexOf(name)])));
  const { keypoints } = features;
  ["x", "y", "size", "angle", "response", "octave"].forEach((name, i) =>
    assert.deepEqual(column(name), [...keypoints.filter((_, k) => k % 6 === i)], name));
});

test("upright features have no angles", () => {
  const { keypoints, count } = new Features(pair.room, { orientation: "none" });
  assert.ok(count > 100);
  for (let i = 0; i < count; i++) assert.equal(keypoints[6 * i + 3], -1);
});

test("two images: looks, matches and geometry in one call", () => {
  const { a, b, candidates, fit: found, look, looks, matches } = matchImages(pair.poster, toRGBA(pair.room));
  assert.ok(found.found && found.inlierCount >= found.places && found.places > 60, `${found.places} places`);
  assert.ok(looks >= 1 && candidates >= matches.count && a.length % 6 === 0 && b.length % 6 === 0);
  assert.ok(["oriented", "rotated", "warped"].includes(look), look); // the poster is turned by 19 degrees
  for (const [x, y] of [[0, 0], [399, 0], [399, 299], [0, 299]]) {
    const [u, v] = applyHomography(pair.back, ...applyHomography(found.model, x, y));
    assert.ok(Math.hypot(u - x, v - y) < 1.5, `(${x},${y}) comes back as (${u},${v})`);
  }
  const upright = matchImages(pair.poster, pair.room, { looks: ["upright"], geometry: "none" });
  assert.deepEqual([upright.look, upright.looks, upright.fit], ["upright", 1, null]);
  assert.throws(() => matchImages(pair.poster, pair.room, { looks: ["sideways"] }), /upright, oriented/);
  assert.throws(() => matchImages(pair.poster, null), KeybitsError);
  assert.throws(() => matchImages(pair.poster, pair.room, { geometry: "essential" }), /needs a camera/);
});

test("matchImages gives the matches, look and inliers of the program", () => {
  for (const [options, ...args] of [[{}], [{ looks: ["upright"], filter: false }, "--looks", "upright", "--no-filter"],
    [{ geometry: "fundamental", maxKeypoints: 900 }, "--fit", "fundamental", "-n", "900"]]) {
    const { fit: found, matches } = matchImages(pair.poster, pair.room, options);
    const lines = native("match", "poster.pgm", "room.pgm", "-o", "-", ...args).trim().split("\n").slice(1)
      .map((line) => line.split(","));
    assert.ok(lines.length > 10);
    assert.deepEqual([...matches.a], lines.map((l) => Number(l[0])));
    assert.deepEqual([...matches.b], lines.map((l) => Number(l[1])));
    assert.deepEqual([...found.inliers], lines.map((l) => Number(l[8])));
  }
});

test("calibrated geometry: the pose of a scene that is not flat", () => {
  const [camera, angle] = [{ fx: 500, fy: 500, cx: 320, cy: 240 }, 0.1];
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const project = (x, y, z) => [camera.fx * x / z + camera.cx, camera.fy * y / z + camera.cy];
  const pairs = Array.from({ length: 200 }, (_, i) => {
    const [x, y, z] = [(i % 20) / 10 - 1, Math.floor(i / 20) / 10 - 0.5, 3 + ((i * 7919) % 100) / 50];
    return [...project(x, y, z), ...project(c * x + s * z - 0.5, y, c * z - s * x)];
  }).flat();
  const { found, rotation, translation } = fitPoints(pairs, { geometry: "essential", camera });
  assert.ok(found);
  assert.ok(Math.abs(rotation[2] - s) < 1e-3 && Math.abs(translation[0] + 1) < 1e-3, `${rotation} ${translation}`);
  assert.throws(() => fitPoints(pairs, { geometry: "essential", camera: { ...camera, fx: -1 } }), KeybitsError);
  assert.throws(() => fitPoints(pairs, { geometry: "essential", camera: { focal: 3 } }), /no option "focal"/);
});

test("a still target does not tremble", async () => {
  const tracker = await Tracker.create();
  const cover = poster(240, 180, 5);
  tracker.add(cover, "cover");
  const still = place(poster(640, 480, 77, 60), cover, backFrom(cover, { x: 320, y: 240, scale: 1.2, c: 0.96, s: 0.28 }));
  const next = random(1);
  const gauss = () => next() + next() + next() + next() - 2; // of deviation 0.58
  const shown = [];
  for (let k = 0; k < 80; k++) {
    const [frame] = tracker.update({ ...still, data: still.data.map((v) => Math.max(0, Math.min(255, v + 5 * gauss()))) });
    if (k >= 20) shown.push(frame.corners.flat());
  }
  const deviation = shown[0].map((_, i) => {
    const values = shown.map((corners) => corners[i]);
    const mean = values.reduce((sum, v) => sum + v) / values.length;
    return Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length);
  });
  console.log(`jitter of a still target: ${Math.max(...deviation).toFixed(3)} px`);
  assert.ok(Math.max(...deviation) <= 0.15, `${deviation}`);
  tracker.free();
});

test("colour becomes gray by the rule of the docs, whatever the count of pixels", () => {
  const [width, height] = [151, 133]; // not a multiple of eight
  const data = new Uint8ClampedArray(4 * width * height).map((_, i) => {
    const [x, y] = [Math.floor((i >> 2) % width / 7), Math.floor((i >> 2) / width / 7)];
    return Math.imul(40 * y + x + 1000 * (i & 3), 2654435761) >>> 24;
  });
  const gray = new Uint8Array(width * height)
    .map((_, i) => (data[4 * i] * 9798 + data[4 * i + 1] * 19235 + data[4 * i + 2] * 3735 + 16384) >> 15);
  const options = { maxKeypoints: 1000 };
  const [a, b] = [new Features({ data, width, height }, options), new Features({ data: gray, width, height }, options)];
  assert.ok(a.count > 20);
  assert.deepEqual(a.keypoints, b.keypoints);
  assert.deepEqual(a.descriptors, b.descriptors);
});

test("the homography is the one that rendered the room", () => {
  const [a, b] = [new Features(pair.poster), new Features(pair.room)];
  const { model } = findHomography(a, b, match(a, b, { filter: true }));
  for (const [x, y] of [[0, 0], [399, 0], [399, 299], [0, 299]]) {
    const [u, v] = applyHomography(pair.back, ...applyHomography(model, x, y));
    assert.ok(Math.hypot(u - x, v - y) < 2, `(${x},${y}) comes back as (${u},${v})`);
  }
  a.free();
  b.free();
});

test("features survive a message", () => {
  const a = new Features(pair.poster, { maxKeypoints: 300 });
  const saved = structuredClone(a.toJSON());
  const b = Features.fromJSON(saved);
  assert.deepEqual(b.keypoints, a.keypoints);
  assert.deepEqual(b.descriptors, a.descriptors);
  const matches = match(a, b);
  assert.equal(matches.count, new Set(matches.a).size);
  assert.ok(findHomography(a, b, matches).inlierCount > 250);
  assert.throws(() => Features.fromJSON({ ...saved, keypoints: saved.keypoints.slice(1) }), KeybitsError);
});

test("points can be fitted by themselves", () => {
  const pairs = [];
  for (let i = 0; i < 40; i++) pairs.push(i * 7 % 50, i * 3 % 40, 10 + (i * 7 % 50) * 2, 5 + (i * 3 % 40) * 2);
  const { found, model } = fitPoints(pairs, { geometry: "similarity" });
  assert.ok(found && Math.abs(model[0] - 2) < 1e-6 && Math.abs(model[2] - 10) < 1e-6);
  assert.equal(fitPoints([]).found, false);
  assert.match(fitPoints([1, 2, 3, 4]).result, /few/);
});

test("exact pairs count more", () => {
  const next = random(9);
  const noise = () => next() + next() + next() - 1.5; // of deviation 0.5
  const deviations = Array.from({ length: 150 }, (_, i) => i % 3 ? 0.3 : 2);
  const pairs = deviations.flatMap((d) => {
    const [x, y] = [300 * next(), 300 * next()];
    return [x, y, 2 * x - y + 10 + d * noise(), x + 2 * y + 5 + d * noise()];
  });
  const fitted = (given) => fitPoints(pairs, { geometry: "affine", threshold: 0.8, deviations: given });
  const [plain, weighted] = [fitted(undefined), fitted(deviations)];
  assert.ok(weighted.inlierCount > plain.inlierCount + 10, `${plain.inlierCount} ${weighted.inlierCount}`);
  for (const alike of [0, 0.5]) assert.deepEqual(fitted(deviations.map(() => alike)), plain);

  const [a, b] = [new Features(pair.poster), new Features(pair.room)];
  const matches = match(a, b);
  const h = fit(a, b, matches);
  assert.deepEqual(fit(a, b, matches, { deviations: new Float32Array(matches.count).fill(3) }), h);
  const uneven = Float32Array.from(h.inliers, (inlier, i) => inlier && i % 2 ? 1 : 9);
  assert.notDeepEqual(fit(a, b, matches, { deviations: uneven }).model, h.model);
});

test("wrong input is an exception with a sentence", () => {
  const a = new Features(pair.poster, { maxKeypoints: 50 });
  const b = new Features(pair.poster, { maxKeypoints: 50, model: "bad256" });
  assert.throws(() => match(a, b), /different models/);
  assert.throws(() => new Model("bag9"), (e) => e instanceof KeybitsError && e.code === -4 && /bag9/.test(e.message));
  assert.throws(() => new Model("bag512"), (e) => e.code === -5);
  assert.throws(() => new Model(new Uint8Array(100)), (e) => e.code === -6 && e.message.length > 10);
  const file = readFileSync(join(models, "bag256.kbm"));
  assert.throws(() => new Model(file.subarray(0, 1000)), (e) => e.code === -7);
  const damaged = Uint8Array.from(file);
  damaged[900] ^= 1;
  assert.throws(() => new Model(damaged), (e) => e.code === -8);
  assert.throws(() => new Features({ data: new Uint8Array(10), width: 5, height: 5 }), /10 values for 5 x 5/);
  assert.throws(() => new Features({ data: new Uint8Array(0), width: 0, height: 5 }), /0 x 5/);
  assert.throws(() => new Features(pair.poster, { detector: "surf" }), /orb, hessian/);
  assert.throws(() => new Features(pair.poster, { mask: new Uint8Array(3) }), /one byte per pixel/);
  assert.throws(() => fit(a, a, { count: 1, a: [99], b: [0], distance: [0], second: [0] }), /not there/);
  assert.throws(() => fit(a, a, match(a, a), { geometry: "pose" }), /homography, fundamental/);
  assert.throws(() => new Index(new Uint8Array(20)), KeybitsError);
  a.free();
  a.free();
  assert.throws(() => a.count, /freed/);
  assert.throws(() => match(a, b), /freed/);
});

test("tiny and empty images give no keypoints", () => {
  const one = new Features({ data: new Uint8Array(1), width: 1, height: 1 });
  assert.equal(one.count, 0);
  assert.equal(match(one, one).count, 0);
  assert.equal(findHomography(one, one, match(one, one)).found, false);
});

test("a mask keeps keypoints out", () => {
  const mask = new Uint8Array(400 * 300);
  for (let y = 0; y < 300; y++) mask.fill(1, y * 400, y * 400 + 200);
  const { keypoints, count } = new Features(pair.poster, { mask });
  assert.ok(count > 50);
  for (let i = 0; i < count; i++) assert.ok(keypoints[6 * i] < 201);
});

test("an index finds its images, also after a file; the program reads that file", async () => {
  const index = await Index.create();
  const posters = Array.from({ length: 30 }, (_, i) => poster(240, 180, i));
  posters.forEach((p, i) => {
    const features = new Features(p, { maxKeypoints: 300 });
    index.add(features, i, `poster ${i}`);
    features.free();
  });
  const seen = place(poster(320, 240, 99, 20), posters[17], backFrom(posters[17], { x: 160, y: 120, scale: 0.9,
    c: 0.8, s: 0.6 }));
  const query = new Features(seen, { maxKeypoints: 500 });
  const results = index.query(query, { verify: 3, count: 5 });
  assert.equal(results[0].id, 17);
  assert.ok(results[0].inliers > 30);
  const file = index.serialise();
  const again = new Index(file);
  assert.equal(again.count, 30);
  assert.deepEqual(again.images[17], { id: 17, name: "poster 17" });
  assert.deepEqual(again.query(query, { verify: 3, count: 5 }), results);
  assert.deepEqual(again.serialise(), file);
  assert.equal(again.remove(17), 1);
  assert.notEqual(again.query(query, { verify: 3 })[0]?.id, 17);
  file[file.length >> 1] ^= 1;
  assert.throws(() => new Index(file), (e) => e instanceof KeybitsError && e.code === -8);
  file[file.length >> 1] ^= 1;
  writeFileSync("posters.kbi", file);
  writePGM("seen.pgm", seen);
  assert.match(native("search", "posters.kbi", "seen.pgm"), /poster 17/);
  const other = new Features(seen, { model: "bad256" });
  assert.throws(() => index.query(other), (e) => e.code === -12);
  const upright = new Features(seen, { orientation: "none" });
  assert.throws(() => index.query(upright), /oriented\) cannot be mixed with.*upright/);
  assert.throws(() => match(query, upright), /cannot be mixed/);
});

test("a tracker recognises, follows, loses and finds again; memory stays", async () => {
  const tracker = await Tracker.create();
  const cover = poster(240, 180, 5);
  const another = poster(200, 200, 6);
  tracker.add(cover, "cover");
  tracker.add(another, "another");
  const blank = { data: new Uint8Array(100 * 100), width: 100, height: 100 };
  assert.throws(() => tracker.add(blank, "blank"), /blank has 0/);
  const background = poster(320, 240, 77, 25);
  const frame = (k) => {
    const scene = { ...background, data: background.data.slice() };
    const visible = !(k >= 12 && k < 18);
    if (visible) place(scene, cover, backFrom(cover, { x: 100 + 3 * k, y: 110 + k, scale: 0.6, c: 0.96, s: 0.28 }));
    if (k < 6) place(scene, another, backFrom(another, { x: 255, y: 65, scale: 0.6 }));
    return scene;
  };
  let held = 0;
  for (let round = 0; round < 3; round++) {
    for (let k = 0; k < 30; k++) {
      const seen = tracker.update(frame(k));
      // Between two rounds the cover jumps, and is looked for again after a while.
      const names = seen.map((s) => s.name).sort().join();
      const expected = k < 6 ? "another,cover" : k >= 12 && k < 18 ? "" : "cover";
      if (round === 0 || k >= 8) assert.equal(names, expected, `frame ${k}`);
      const sighting = seen.find((s) => s.name === "cover");
      if (!sighting) continue;
      const centre = applyHomography(sighting.homography, 119.5, 89.5);
      assert.ok(Math.hypot(centre[0] - 100 - 3 * k, centre[1] - 110 - k) < 2, `frame ${k}: centre ${centre}`);
    }
    if (round === 0) held = memoryBytes();
  }
  assert.equal(memoryBytes(), held);
  tracker.free();
});

test("a tracker takes index files, its own and the program's", async () => {
  const covers = Array.from({ length: 12 }, (_, i) => poster(240, 180, 40 + i));
  covers.forEach((cover, i) => writePGM(`cover-${i}.pgm`, cover));
  const names = covers.map((_, i) => `cover-${i}.pgm`);
  native("index", "build", ...names, "-o", "covers.kbi");
  const scene = place(poster(320, 240, 78, 25), covers[7], backFrom(covers[7], { x: 150, y: 120, scale: 0.8 }));
  const saw = (tracker) => tracker.update(scene).map(({ name, corners }) => [name, corners.flat().map(Math.round)]);
  const tracker = await Tracker.create();
  assert.equal(tracker.addIndex(readFileSync("covers.kbi")).length, 12);
  const [[name, corners]] = saw(tracker);
  assert.equal(name, "cover-7.pgm");
  // The file tells how large the pictures are.
  [[55, 48], [246, 48], [246, 192], [55, 192]].flat().forEach((v, i) => assert.ok(Math.abs(corners[i] - v) < 4));
  const { images } = new Index(tracker.serialise());
  assert.deepEqual(images.map((image) => image.name).sort(), names.sort());
  // Beside other targets, with new ids.
  const mixed = await Tracker.create();
  const first = mixed.add(poster(240, 180, 5), "another");
  const added = mixed.addIndex(tracker.serialise());
  assert.equal(new Set([first, ...added.map(({ id }) => id)]).size, 13);
  assert.deepEqual(saw(mixed), [[name, corners]]);
  assert.ok(mixed.remove(added[7].id));
  assert.deepEqual(saw(mixed), []);
  native("index", "build", "cover-0.pgm", "-o", "other.kbi", "-m", "bad256");
  assert.throws(() => mixed.addIndex(readFileSync("other.kbi")), /not of the model bag256/);
  native("index", "build", "cover-0.pgm", "-o", "bare.kbi", "--no-features");
  assert.throws(() => mixed.addIndex(readFileSync("bare.kbi")), /keeps no features/);
  assert.throws(() => mixed.addIndex(new Uint8Array(100)), KeybitsError);
  assert.equal(mixed.count, 12);
  const kept = new Index(readFileSync("covers.kbi"));
  const features = kept.features(kept.images[3].id);
  const own = new Features(covers[3]);
  assert.equal(kept.modelId, own.model.id);
  assert.deepEqual(features.descriptors, own.descriptors);
  assert.deepEqual([features.width, features.height], [240, 180]);
  assert.equal(match(features, own).count, own.count);
  assert.throws(() => kept.features(999), KeybitsError);
  for (const object of [tracker, mixed, kept, features, own]) object.free();
});

test("memory that nobody frees is found by the collector", { skip: !globalThis.gc }, async () => {
  const small = poster(200, 150, 3);
  const before = memoryBytes();
  for (let i = 0; i < 200; i++) {
    new Features(small, { maxKeypoints: 2000, hessianThreshold: 0.0001 });
    if (i % 20 === 19) {
      globalThis.gc();
      await new Promise((resolve) => { setTimeout(resolve, 0); });
    }
  }
  assert.ok(memoryBytes() - before < 8e6, `${memoryBytes() - before} bytes more`);
});

test("vocabularies of the package", async () => {
  assert.equal((await readVocabulary("bad256-1k")).length, 48584);
  await assert.rejects(readVocabulary("orb"), /bag256-1k/);
});
