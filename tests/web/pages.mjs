// SPDX-License-Identifier: Apache-2.0
// The pages in Debian's chromium, at the width of a desktop and of a phone. Run by pages.sh in a scratch folder:
// node pages.mjs SITE PICTURES. Screenshots go to PICTURES.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch, serve, tools } from "./browser.mjs";
import { backFrom, place, poster, samplePair } from "./scene.js";
import { writeHugePNG, writePNG, writeY4M } from "./files.mjs";

const [, , site, pictures] = process.argv;
const axe = readFileSync(tools.resolve("axe-core/axe.min.js"), "utf8");
mkdirSync(pictures, { recursive: true });

// --------------------------------------------------------------------------------------------------------- fixtures

const pair = samplePair();
writePNG("poster.png", pair.poster);
writePNG("room.png", pair.room);
writeFileSync("text.png", "this is no picture\n");
writeFileSync("empty.jpg", "");
writeFileSync("cut.png", readFileSync("room.png").subarray(0, 5000));
writeHugePNG("huge.png", 10000);

const cover = poster(280, 210, 21);
const other = poster(240, 240, 22);
writePNG("cover.png", cover);
writePNG("other.png", other);
for (let i = 0; i < 100; i++) writePNG(`many-${i}.png`, poster(320, 240, 300 + i, 90));
mkdirSync("covers");
for (let i = 0; i < 39; i++) writePNG(`covers/page-${i}.png`, poster(280, 210, 600 + i));
writePNG("covers/cover.png", cover);
writeFileSync("text.kbi", "this is no index\n");
const background = poster(480, 360, 23, 25);
const VISIBLE = 30; // frames, then as many without the cover
writeY4M("camera.y4m", Array.from({ length: 2 * VISIBLE }, (_, k) => {
  const scene = { ...background, data: background.data.slice() };
  const x = 180 + Math.min(2 * k, 2 * VISIBLE);
  if (k < VISIBLE) place(scene, cover, backFrom(cover, { x, y: 180, scale: 0.8, c: 0.96, s: 0.28 }));
  return scene;
}), 10);

const program = (...args) => execFileSync(process.env.KEYBITS, args,
  { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });

program("index", "build", "covers", "-o", "covers.kbi");
program("index", "build", "covers/cover.png", "-o", "bad.kbi", "-m", "bad256");
program("index", "build", "covers/cover.png", "-o", "bare.kbi", "--no-features");

function nativeInliersOf(a, b, ...options) {
  const out = program("match", a, b, "-o", "-", ...options);
  return out.trim().split("\n").slice(1).filter((line) => line.endsWith(",1")).length;
}
const nativeInliers = (...options) => nativeInliersOf("poster.png", "room.png", ...options);

// ----------------------------------------------------------------------------------------------- server and browser

const server = await serve([site]);
const { address } = server;
const context = await launch("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
  `--use-file-for-fake-video-capture=${process.cwd()}/camera.y4m`);

async function open(name, width) {
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => { if (message.type() === "error") problems.push(message.text()); });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    if (!/^(blob:|data:)/.test(request.url()) && !request.url().startsWith(address)) problems.push(request.url());
  });
  await page.setViewportSize({ width, height: 844 });
  await page.goto(`${address}/${name}`);
  await page.waitForFunction(() => /^(Ready|\d+ of)/.test(document.getElementById("status").textContent));
  return { page, problems };
}

async function finish({ page, problems }, name, width) {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${name} at ${width}: ${overflow} px too wide`);
  await page.evaluate(axe);
  for (const colorScheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes[0].html}`), [], `${name}, ${colorScheme}`);
    await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`), fullPage: true });
  }
  assert.deepEqual(problems, [], `${name} at ${width}`);
  await page.close();
}

const inliers = (page, expected) => page.waitForFunction((n) =>
  document.getElementById("status").dataset.inliers === String(n), expected)
  .catch(async () => assert.fail(`${await page.textContent("#status")}, ${expected} inliers were expected`));

const alerted = (page, sentence) => page.waitForFunction((s) =>
  new RegExp(s).test(document.getElementById("alert").textContent), sentence.source)
  .catch(async () => assert.fail(`"${await page.textContent("#alert")}", expected ${sentence}`));

const counted = (page, text) => page.waitForFunction((t) => document.getElementById("count").textContent === t, text)
  .catch(async () => assert.fail(`"${await page.textContent("#count")}", expected "${text}"`));

// ------------------------------------------------------------------------------------------------------------ pages

async function download(page, kind) {
  const [event] = await Promise.all([page.waitForEvent("download"), page.click(`[data-save=${kind}]`)]);
  assert.equal(event.suggestedFilename(), `matches.${kind}`);
  return readFileSync(await event.path());
}

/** What the buttons save is what the program says of the same pictures. */
async function testDownloads(page, expected) {
  const lines = (await download(page, "csv")).toString().trim().split("\n");
  const native = program("match", "poster.png", "room.png", "-o", "-").trim().split("\n");
  assert.equal(lines.length, native.length);
  assert.equal(lines.filter((line) => line.endsWith(",1")).length, expected);
  assert.deepEqual(lines.slice(1).map((line) => line.split(",").slice(0, 2)),
    native.slice(1).map((line) => line.split(",").slice(0, 2)));
  const { images, model, inliers: saved, geometry, matrix, ms, places } = JSON.parse(await download(page, "json"));
  assert.deepEqual([images, model, saved, geometry, matrix.length],
    [["poster.png", "room.png"], "bag256", expected, "homography", 9]);
  assert.ok(ms > 0 && places > 0 && places <= expected);
  const png = await download(page, "png");
  const size = await page.evaluate(() => ["width", "height"].map((name) => document.getElementById("view")[name]));
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], size);
}

/** Every switch and slider changes what is computed, as the same option of the program does. */
async function testSettings(page) {
  const slide = (name, value) => page.$eval(`[name=${name}]`, (input, v) => {
    input.value = v;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }, String(value));
  await page.selectOption("[name=detector]", "orb");
  await inliers(page, nativeInliers("--detector", "orb"));
  await page.selectOption("[name=detector]", "hessian");
  await page.selectOption("[name=looks]", "oriented");
  await inliers(page, nativeInliers("--looks", "oriented"));
  await page.selectOption("[name=looks]", "");
  await slide("maxKeypoints", 300);
  await inliers(page, nativeInliers("-n", "300"));
  for (const n of [400, 900, 600, 500]) await slide("maxKeypoints", n); // the last one counts
  await inliers(page, nativeInliers("-n", "500"));
  await slide("maxKeypoints", 2000);
  await slide("maxRatio", 0.8);
  await inliers(page, nativeInliers("--ratio", "0.8"));
  assert.equal(await page.textContent("label:has([name=maxRatio]) output"), "0.8");
  await slide("maxRatio", 1);
  await slide("threshold", 1);
  await inliers(page, nativeInliers("--threshold", "1"));
  await slide("threshold", 3);
  await page.uncheck("[name=filter]");
  await inliers(page, nativeInliers("--no-filter"));
  await page.check("[name=filter]");
  await page.setInputFiles("[name=file]", join(process.env.KEYBITS_SOURCE, "models/hashsift256.kbm"));
  await inliers(page, nativeInliers("-m", "hashsift256"));
  await page.selectOption("[name=model]", "bad256");
  await inliers(page, nativeInliers("-m", "bad256"));
  await page.selectOption("[name=model]", "bag256");
  const shown = () => page.evaluate(() => document.getElementById("view").toDataURL());
  const plain = await shown();
  await page.check("[name=keypoints]");
  await page.check("[name=outliers]");
  assert.notEqual(await shown(), plain);
  await page.uncheck("[name=keypoints]");
  await page.uncheck("[name=outliers]");
}

/** Drops a file as the mouse would. */
async function drop(page, target, name) {
  const transfer = await page.evaluateHandle(([bytes, file]) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(bytes)], file, { type: "image/png" }));
    return data;
  }, [[...readFileSync(name)], name]);
  for (const kind of ["dragover", "drop"]) await page.dispatchEvent(target, kind, { dataTransfer: transfer });
}

async function testWrongFiles(page) {
  for (const [file, sentence] of [["text.png", /text.png is not a picture/], ["empty.jpg", /empty.jpg is empty/],
    ["huge.png", /huge.png has 100 megapixels/], ["cut.png", /cut.png is (damaged|not a picture)/]]) {
    await page.setInputFiles("#file-b", file);
    await alerted(page, sentence);
  }
  await page.setInputFiles("[name=file]", "text.png");
  await alerted(page, /text.png: .*keybits model/);
}

async function testMatch(width) {
  const opened = await open("index.html", width);
  const { page } = opened;
  for (const key of ["a", "b"]) { // the sample is there at once; as the browser decoded it, the program finds the same
    const url = await page.evaluate((slot) => document.querySelector(`#slot-${slot} canvas`).toDataURL("image/png"), key);
    writeFileSync(`sample-${key}.png`, Buffer.from(url.split(",")[1], "base64"));
  }
  const ofSample = nativeInliersOf("sample-a.png", "sample-b.png");
  assert.ok(ofSample > 500, `${ofSample} inliers of the sample`);
  await inliers(page, ofSample);
  await page.screenshot({ path: join(pictures, `sample-${width}.png`) });
  await page.evaluate(() => { delete document.getElementById("status").dataset.inliers; });
  await page.click("#sample");
  await inliers(page, ofSample);
  const expected = nativeInliers();
  await page.evaluate(() => { delete document.getElementById("status").dataset.inliers; });
  await drop(page, "#slot-a", "poster.png");
  await page.setInputFiles("#file-b", "room.png");
  await page.waitForFunction(() => /room.png/.test(document.getElementById("slot-b").textContent)
    && /poster.png/.test(document.getElementById("slot-a").textContent));
  await inliers(page, expected);
  if (width > 1000) await testSettings(page);
  await testWrongFiles(page);
  await page.setInputFiles("#file-b", "room.png");
  await inliers(page, expected);
  await page.waitForFunction(() => document.getElementById("alert").textContent === "");
  await testDownloads(page, expected);
  await finish(opened, "match", width);
}

async function testRecognise(width) {
  const opened = await open("recognise.html", width);
  const { page } = opened;
  const status = (text) => page.waitForFunction((t) => document.getElementById("status").textContent === t, text)
    .catch(async () => assert.fail(`"${await page.textContent("#status")}", expected "${text}"`));
  await page.setInputFiles("#add-files", ["cover.png", "other.png", "text.png"]);
  await page.waitForFunction(() => document.querySelectorAll("#targets li").length === 2
    && /text.png is not a picture/.test(document.getElementById("alert").textContent));
  await page.click("#camera");
  await status("Seen: cover");
  await status("Nothing known in view.");
  await status("Seen: cover");
  await page.setInputFiles("#add-files", ["other.png"]); // a second one of that name
  await page.waitForSelector("[aria-label='Remove other (2)']");
  await finish(opened, "recognise", width);
}

/** A hundred pictures at once, an index that the program wrote, and one that the page wrote. */
async function testManyTargets(width) {
  const opened = await open("recognise.html", width);
  const { page } = opened;
  await page.setInputFiles("#add-index", "covers.kbi");
  await counted(page, "40 pictures");
  await page.click("#camera");
  await page.waitForFunction(() => /cover/.test(document.getElementById("status").textContent));
  await page.waitForFunction(() => document.querySelector("#targets li.seen"));
  await page.click("#stop");
  const start = Date.now();
  await page.setInputFiles("#add-files", Array.from({ length: 100 }, (_, i) => `many-${i}.png`));
  await counted(page, "140 pictures");
  console.log(`100 pictures of 320 x 240 added in ${Date.now() - start} ms, with reading the files`);
  const [event] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  await event.saveAs("saved.kbi");
  assert.match(program("index", "info", "saved.kbi"), /140/);
  await page.click("[aria-label^='Remove covers.kbi']");
  await counted(page, "100 pictures");
  await page.setInputFiles("#add-index", ["text.kbi", "text.png", "bad.kbi", "bare.kbi", "saved.kbi"]);
  await counted(page, "240 pictures");
  for (const sentence of [/index file text.kbi cannot be used: .*keybits index/,
    /bad.kbi cannot be used: the index is not of the model bag256/, /bare.kbi cannot be used: .*keeps no features/]) {
    await alerted(page, sentence);
  }
  await finish(opened, "many", width);
}

/** 2,000 frames with 203 targets: the worker's memory and the page's heap stay as they are. */
async function testSteady(width) {
  const opened = await open("recognise.html", width);
  const { page } = opened;
  await page.setInputFiles("#add-files", Array.from({ length: 200 }, (_, i) => `many-${i % 100}.png`));
  await counted(page, "200 pictures");
  await page.click("#add-samples");
  await counted(page, "203 pictures");
  await page.evaluate(() => {
    globalThis.frames = 0;
    new MutationObserver(() => { globalThis.frames++; }).observe(document.getElementById("timing"), { childList: true });
  });
  const devtools = await context.newCDPSession(page);
  const held = async (frames) => {
    await page.waitForFunction((n) => globalThis.frames >= n, frames);
    const worker = /; (.*) MB/.exec(await page.textContent("#timing"))[1];
    await devtools.send("HeapProfiler.collectGarbage");
    const { usedSize } = await devtools.send("Runtime.getHeapUsage");
    return { worker: Number(worker), page: usedSize / 1e6 };
  };
  await page.click("#sample-video");
  const [before, after] = [await held(200), await held(2000)];
  console.log(`2,000 frames, 203 targets: the worker has ${after.worker} MB, the page ${after.page.toFixed(1)} MB`);
  assert.equal(after.worker, before.worker);
  assert.ok(after.page < before.page + 1, `the page had ${before.page} MB`);
  assert.match(await page.textContent("#status"), /^Seen: poster 1, poster 2/);
  await page.click("#stop");
  await finish(opened, "steady", width);
}

async function testSampleVideo(width) {
  const opened = await open("recognise.html", width);
  const { page } = opened;
  await page.click("#add-samples");
  await page.waitForFunction(() => document.querySelectorAll("#targets li").length === 3);
  await page.click("#sample-video");
  await page.waitForFunction(() => document.getElementById("status").textContent === "Seen: poster 1, poster 2");
  await page.click("#snapshot");
  await page.waitForFunction(() => document.querySelectorAll("#targets li").length === 4);
  await page.click("[aria-label='Remove poster 1']");
  await page.waitForFunction(() => /^Seen: poster 2/.test(document.getElementById("status").textContent));
  await page.click("#stop");
  await finish(opened, "sample-video", width);
}

/** Every kind of image that a browser has gives the keypoints of its pixels. */
async function testInputs(width) {
  const opened = await open("index.html", width);
  const { page } = opened;
  const counts = await page.evaluate(async () => {
    const { Features, load } = await import("./package/keybits.js");
    const { samplePair, toRGBA } = await import("./scene.js");
    await load();
    const { data, width: w, height: h } = toRGBA(samplePair().poster);
    const pixels = new ImageData(data, w, h);
    const canvas = Object.assign(document.createElement("canvas"), { width: w, height: h });
    canvas.getContext("2d").putImageData(pixels, 0, 0);
    const offscreen = new OffscreenCanvas(w, h);
    offscreen.getContext("2d").putImageData(pixels, 0, 0);
    const image = new Image();
    image.src = canvas.toDataURL();
    await image.decode();
    const frame = new VideoFrame(canvas, { timestamp: 0 });
    const inputs = { pixels, gray: samplePair().poster, canvas, offscreen, image, frame,
      bitmap: await createImageBitmap(canvas) };
    const rows = Object.entries(inputs).map(([name, input]) => {
      const features = new Features(input);
      const sum = features.descriptors.reduce((total, byte, i) => (total + byte * (i + 1)) % 1000003, 0);
      return [name, features.width, features.height, features.count, sum];
    });
    frame.close();
    let empty = "";
    try {
      new Features(document.createElement("video"));
    } catch (error) {
      empty = error.message;
    }
    return { rows, empty };
  });
  for (const [name, ...found] of counts.rows) assert.deepEqual(found, counts.rows[0].slice(1), name);
  assert.ok(counts.rows[0][3] > 300);
  assert.match(counts.empty, /no pixels yet/);
  await finish(opened, "inputs", width);
}

const cells = (page, table) => page.$$eval(`#${table} tr`, (all) => all.map((row) =>
  [...row.cells].map((cell) => cell.textContent)));

async function testCompare(width) {
  const opened = await open("compare.html", width);
  const { page } = opened;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.click("#start");
  await page.waitForFunction(() => document.getElementById("status").textContent === "Done.");
  const rows = await cells(page, "table");
  assert.deepEqual(rows.map(([name]) => name),
    ["step", "detect", "describe", "match", "homography", "together", "inliers"]);
  for (const row of rows) console.log(row.join(" "));
  assert.ok(rows[6].slice(1).every((n) => Number(n) > 200), rows[6].join(" "));
  await page.click("#copy");
  await page.waitForFunction(() => /table is on the clipboard/.test(document.getElementById("status").textContent));
  const text = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(text, /^keybits [\d.]+, 640 x 480/);
  assert.ok(text.includes(`| bag256 | ${rows.slice(1).map((row) => row[2]).join(" | ")} |`), text);
  await page.click("#link");
  await page.waitForFunction(() => /link is on the clipboard/.test(document.getElementById("status").textContent));
  const link = await page.evaluate(() => navigator.clipboard.readText());
  await page.goto(link);
  await page.reload();
  await page.waitForSelector("#shared:not([hidden])");
  assert.deepEqual((await cells(page, "shared-table")).filter(([name]) => name !== "together"),
    rows.filter(([name]) => name !== "together"));
  for (const wrong of ["#result=1", "#result=[1,2,[[1,2]]]", "#x"]) {
    await page.goto(`${address}/compare.html${wrong}`);
    await page.waitForSelector("#shared", { state: "hidden" });
  }
  await page.goto(link);
  await testReport(page);
  await finish(opened, "compare", width);
}

/** Accuracy and cost, as the pages ship them. */
async function testReport(page) {
  await page.waitForSelector("#report:not([hidden])");
  const [head, ...rows] = await cells(page, "report-table");
  assert.deepEqual(head, ["descriptor", "mAP, %", "ms", "matches, %", "homog\u00adraphies, %"]);
  const { oxford } = JSON.parse(readFileSync(join(site, "report.json"), "utf8"));
  assert.equal(rows.length, oxford.length);
  const bag = oxford.find(({ model }) => model === "bag256");
  assert.equal(rows.find(([name]) => name === "bag256")[1], bag.strict_map.toFixed(1));
  assert.equal(await page.$$eval("#report-plot circle", (all) => all.length), rows.filter(([, , ms]) => ms).length);
}

async function testEnergy(width) {
  const opened = await open("energy.html", width);
  const { page } = opened;
  await page.selectOption("[name=frames]", "rendered");
  await page.selectOption("[name=minutes]", "0.1");
  await page.uncheck("[value=hashsift256]");
  await page.click("#start");
  await page.waitForFunction(() => document.getElementById("status").textContent === "Done.");
  const [head, ...rows] = await cells(page, "table");
  assert.deepEqual(head.slice(0, 3), ["descriptor", "frames / s", "ms / frame"]);
  assert.deepEqual(rows.map(([name]) => name), ["bad256", "bag256"]);
  for (const [, rate, ms, found] of rows) assert.ok(rate > 0 && rate <= 31 && ms > 0 && found > 90, rows.join("; "));
  await page.click("#copy");
  await page.waitForFunction(() => /on the clipboard/.test(document.getElementById("status").textContent));
  await page.selectOption("[name=frames]", "camera");
  await page.click("#start");
  await page.waitForFunction(() => /^bad256: \d+ of 6 s/.test(document.getElementById("status").textContent));
  await page.click("#stop");
  await page.waitForFunction(() => document.getElementById("status").textContent === "Stopped.");
  await finish(opened, "energy", width);
}

const TESTS = { inputs: [testInputs, 1280], match: [testMatch, 1280, 390], recognise: [testRecognise, 1280, 390],
  many: [testManyTargets, 1280], video: [testSampleVideo, 1280], compare: [testCompare, 1280, 390],
  energy: [testEnergy, 1280, 390],
  steady: [testSteady, 1280] };
// KEYBITS_PAGES names some; "steady" takes minutes and is left to many_targets.sh
const chosen = process.env.KEYBITS_PAGES?.split(",") ?? Object.keys(TESTS).filter((name) => name !== "steady");
try {
  for (const name of chosen) {
    const [test, ...widths] = TESTS[name];
    for (const width of widths) await test(width);
  }
} finally {
  await context.close();
  server.close();
}
console.log("pages: done");
