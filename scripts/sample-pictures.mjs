// SPDX-License-Identifier: Apache-2.0
// node sample-pictures.mjs FOLDER: writes painting.ppm, a lake at dusk, and room.ppm, the room in which it hangs. Both are
// computed: noise for rock, plaster, wood and water; edges that are soft by their distance in pixels.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const mix = (a, b, t) => a.map((v, i) => v + (b[i] - v) * t);
const clamp = (t) => Math.min(1, Math.max(0, t));
const step = (from, to, x) => { const t = clamp((x - from) / (to - from)); return t * t * (3 - 2 * t); };

/** A fixed number in [0, 1) for whole x and y. */
function dice(x, y, seed) {
  let h = (Math.imul(x, 374761393) + Math.imul(y, 668265263) + Math.imul(seed, 1442695041)) | 0;
  h = Math.imul(h ^ (h >>> 13), 1274126177);
  return ((h ^ (h >>> 16)) >>> 0) / 4294967296;
}

function noise(x, y, seed) {
  const [ix, iy] = [Math.floor(x), Math.floor(y)];
  let [u, v] = [x - ix, y - iy];
  u *= u * (3 - 2 * u), v *= v * (3 - 2 * v);
  const top = dice(ix, iy, seed) * (1 - u) + dice(ix + 1, iy, seed) * u;
  return top + v * (dice(ix, iy + 1, seed) * (1 - u) + dice(ix + 1, iy + 1, seed) * u - top);
}

/** Noise of several octaves, from 0 to 1; the first has cells of `cell` px. */
function clouds(x, y, cell, octaves, seed) {
  let [sum, weight, total] = [0, 1, 0];
  for (let i = 0; i < octaves; i++, weight *= 0.52, cell /= 2.07) {
    sum += weight * noise(x / cell, y / cell, seed + i);
    total += weight;
  }
  return sum / total;
}

// ------------------------------------------------------------------------------------------------------- the painting

const [WIDTH, HEIGHT, SHORE] = [480, 360, 238];
const SUN = [88, 138];
const RIDGES = [ // from far to near: height, how high the peaks are, cell of the noise, colours of light and shade
  [168, 150, 190, [206, 178, 196], [142, 126, 170]],
  [196, 96, 130, [150, 120, 150], [84, 78, 124]],
  [222, 58, 90, [92, 84, 108], [38, 50, 76]]];
const PINES = Array.from({ length: 21 }, (_, i) => {
  const at = dice(i, 1, 7), side = i % 2 ? 1 - 0.34 * at : 0.36 * at;
  return { x: side * WIDTH, foot: 344 + 22 * dice(i, 2, 7), tall: 84 + 130 * dice(i, 3, 7) * Math.abs(2 * side - 1), tint: dice(i, 4, 7) };
}).sort((a, b) => a.foot - b.foot);

function sky(x, y) {
  let colour = y < 90 ? mix([38, 52, 104], [150, 104, 148], y / 90) : mix([150, 104, 148], [255, 190, 128], clamp((y - 90) / 110));
  const away = Math.hypot(x - SUN[0], y - SUN[1]);
  colour = mix(colour, [255, 214, 150], 0.85 * Math.exp(-away / 62));
  const cloud = step(0.5, 0.72, clouds(x, 3.4 * y, 130, 5, 31)) * (1 - 0.7 * y / 200);
  colour = mix(colour, mix([96, 76, 128], [255, 170, 140], step(20, 170, y)), 0.8 * cloud);
  return mix(colour, [255, 246, 214], 1 - step(15.5, 17, away));
}

/** What stands above the shore. */
function land(x, y) {
  let colour = sky(x, y);
  for (const [i, [base, peaks, cell, light, shade]] of RIDGES.entries()) {
    const ridge = base - peaks * (clouds(x, 0, cell, 6, 50 + 10 * i) - 0.28);
    const inside = clamp(y - ridge + 0.5);
    if (inside === 0) continue;
    const rock = (px, py) => clouds(px, py, 44, 5, 80 + 10 * i) + 0.006 * (py - ridge);
    const slope = 0.5 + 9 * (rock(x + 1.5, y - 1) - rock(x - 1.5, y + 1)); // lit from the sun's side
    let face = mix(shade, light, clamp(slope));
    if (i < 2) face = mix(face, [255, 236, 228], 0.9 * step(26, 2, y - ridge + 40 * clouds(x, y, 16, 3, 99)) * clamp(0.3 + slope));
    face = mix(face, [255, 196, 160], 0.5 * step(0, 90, y - ridge) * (1 - i / 3)); // haze in the valleys
    colour = mix(colour, face, inside);
  }
  return colour;
}

function water(x, y) {
  const depth = y - SHORE;
  const wave = clouds(x * 0.6, 5 * y, 30, 4, 140) - 0.5;
  let colour = mix(land(x + 0.12 * depth * wave * 4, Math.max(0, SHORE - 1 - depth * 1.25 + wave * depth * 0.6)), [22, 34, 66], 0.3);
  const path = Math.exp(-(((x - SUN[0]) / (10 + 0.5 * depth)) ** 2)); // of the sun
  colour = mix(colour, [255, 224, 170], 0.75 * path * step(0.0, 0.2, wave));
  return mix(colour, [30, 36, 62], 0.5 * clamp(1 - depth / 5));
}

/** Pines in front, with ragged branches. */
function pines(colour, x, y) {
  for (const { x: at, foot, tall, tint } of PINES) {
    const down = (y - foot + tall) / tall;
    if (down < 0 || down > 1) continue;
    const branch = down * tall / 9, part = branch - Math.floor(branch);
    const reach = tall * 0.17 * (0.12 + 0.88 * down) * (0.55 + 0.6 * part) * (0.75 + 0.5 * dice(Math.floor(branch), x > at ? 1 : 2, 200 + Math.round(at)));
    const inside = clamp((reach - Math.abs(x - at)) / 1.6);
    if (inside === 0) continue;
    const lit = clamp(0.25 + 0.5 * part + 0.5 * (x - at) / reach) * (0.6 + 0.8 * noise(x / 2.2, y / 2.2, 210));
    colour = mix(colour, mix([8, 18, 30], mix([34, 62, 58], [96, 74, 62], tint), lit), inside);
  }
  return colour;
}

function paint(x, y) {
  let colour = pines(y < SHORE ? land(x, y) : water(x, y), x, y);
  if (y > 336) colour = mix(colour, [12, 18, 24], step(336, 352, y + 14 * noise(x / 7, 0, 230)));
  const brush = 0.86 + 0.28 * clouds(x + 0.5 * y, y - 0.5 * x, 7, 2, 240);
  return colour.map((v) => v * brush);
}

// ----------------------------------------------------------------------------------------------------------- the room

const [ROOM_WIDTH, ROOM_HEIGHT, TABLE, FRAME] = [720, 540, 438, 26];
/** From a pixel of the room to one of the painting, whose corners are at (214, 66), (640, 100), (620, 384), (190, 404). */
const BACK = [0.8706843, 0.06182311, -190.8691, -0.07802357, 0.9797616, -48.42955, -0.0003448742, -2.322892e-05, 1];
function toPainting(x, y) {
  const w = BACK[6] * x + BACK[7] * y + BACK[8];
  return [(BACK[0] * x + BACK[1] * y + BACK[2]) / w, (BACK[3] * x + BACK[4] * y + BACK[5]) / w];
}

/** How far (u, v) is inside the painting's border, in its pixels; negative outside. */
const within = (u, v) => Math.min(u + 0.5, v + 0.5, WIDTH - 0.5 - u, HEIGHT - 0.5 - v);

const grain = (along, across, seed) => 0.5 + 0.5 * Math.sin(26 * clouds(along * 0.16, across, 52, 4, seed) + across * 0.11);

function frameAt(u, v) {
  const out = -within(u, v);
  const upright = Math.min(u, WIDTH - 1 - u) < Math.min(v, HEIGHT - 1 - v);
  const ridge = Math.sin(Math.PI * clamp(out / FRAME)); // rounded
  let colour = mix([70, 40, 20], [168, 112, 58], grain(upright ? v : u, upright ? u : v, 300));
  colour = mix(colour, [232, 190, 112], 0.9 * (step(5.5, 4.5, out) + step(FRAME - 4, FRAME - 3, out))); // gilt edges
  return colour.map((c) => c * (0.62 + 0.5 * ridge));
}

function wall(x, y) {
  const plaster = clouds(x, y, 130, 6, 330) - 0.5 + 0.5 * (clouds(x, y, 5, 2, 340) - 0.5);
  return mix([150, 166, 158], [196, 204, 190], clamp(0.5 + 1.6 * plaster));
}

/** Wood, a bowl with oranges and its shadow. */
function table(x, y) {
  const near = (y - TABLE) / (ROOM_HEIGHT - TABLE), along = (x - 360) / (0.7 + 0.6 * near);
  let colour = mix([104, 62, 34], [186, 128, 76], grain(along, 130 * near, 360));
  colour = mix(colour, [250, 232, 200], 0.22 * Math.exp(-(((x - 210 - 90 * near) / 120) ** 2)) * (1 - near));
  const shadow = Math.exp(-(((x - 590) / 96) ** 2 + ((y - 478) / 17) ** 2) * 1.2);
  return mix(colour, [34, 20, 16], 0.72 * shadow + 0.35 * step(8, 0, y - TABLE));
}

const ORANGES = [[512, 408, 30, [240, 150, 40]], [598, 410, 31, [232, 120, 34]], [555, 396, 34, [246, 164, 52]]];

/** A ball lit from the upper left, with pores. */
function ball([cx, cy, r, colour], below, x, y) {
  const [u, v] = [(x - cx) / r, (y - cy) / r], rim = 1 - Math.hypot(u, v);
  if (rim * r < -0.5) return below;
  const z = Math.sqrt(Math.max(0, 1 - u * u - v * v)), light = clamp(0.28 + 0.85 * (-0.55 * u - 0.6 * v + 0.58 * z));
  const pores = 0.92 + 0.16 * noise(x / 1.7, y / 1.7, 380);
  let skin = colour.map((c) => c * (0.18 + 0.92 * light) * pores);
  skin = mix(skin, [255, 250, 236], 0.7 * clamp(-0.42 * u - 0.5 * v + 0.76 * z - 0.9) * 8);
  return mix(below, skin, clamp(rim * r + 0.5));
}

function bowl(below, x, y) {
  const [u, v] = [(x - 555) / 108, (y - 414) / 66];
  const side = 1 - Math.hypot(u, v);
  if (v < 0 || side * 66 < -0.5) return below;
  const light = clamp(0.62 - 0.62 * u - 0.25 * v);
  let glaze = mix([18, 52, 84], [96, 166, 190], light);
  const band = Math.abs(v - 0.32) < 0.1 ? 0.5 + 0.5 * Math.sign(Math.sin(26 * Math.asin(clamp(Math.abs(u))) * Math.sign(u))) : 0;
  glaze = mix(glaze, [236, 226, 198].map((c) => c * (0.4 + 0.6 * light)), 0.85 * band);
  glaze = mix(glaze, [250, 252, 250], 0.8 * Math.exp(-(((u + 0.5) / 0.08) ** 2 + ((v - 0.18) / 0.16) ** 2)));
  return mix(below, glaze, clamp(side * 66 + 0.5) * clamp(y - 414 + 0.5));
}

/** Evening sun through a window at the left, with the shadow of its bars. */
function daylight(x, y) {
  const slant = x + 0.5 * y;
  let beam = step(210, 236, slant) * step(640, 606, slant) * step(400, 370, y);
  beam *= 1 - 0.85 * Math.max(step(13, 6, Math.abs(slant - 424)), step(12, 5, Math.abs(y - 196)));
  return [0.7 + 0.42 * beam, 0.68 + 0.33 * beam, 0.7 + 0.17 * beam].map((v) => v * (1.08 - 0.32 * ((x - 200) / ROOM_WIDTH) ** 2));
}

function look(painting, x, y) {
  const [u, v] = toPainting(x, y);
  const inside = within(u, v);
  let colour = y < TABLE ? wall(x, y) : table(x, y);
  if (y < TABLE) {
    const [su, sv] = toPainting(x - 13, y - 17); // what the frame keeps from the light
    colour = mix(colour, [40, 46, 58], 0.62 * step(-FRAME - 16, -FRAME + 12, within(su, sv)));
  }
  colour = mix(colour, frameAt(u, v), y < TABLE ? clamp(inside + FRAME + 0.5) : 0);
  if (inside > 0 && y < TABLE) colour = mix(colour, sample(painting, u, v), clamp(inside));
  for (const orange of ORANGES) colour = ball(orange, colour, x, y);
  colour = bowl(colour, x, y);
  const light = daylight(x, y);
  return colour.map((c, i) => c * light[i]);
}

/** A painting's pixels between pixels. */
function sample({ data, width, height }, x, y) {
  const [ix, iy] = [Math.min(width - 2, Math.max(0, Math.floor(x))), Math.min(height - 2, Math.max(0, Math.floor(y)))];
  const [fx, fy, at] = [clamp(x - ix), clamp(y - iy), 3 * (iy * width + ix)];
  return [0, 1, 2].map((c) => (data[at + c] * (1 - fx) + data[at + 3 + c] * fx) * (1 - fy) +
    (data[at + 3 * width + c] * (1 - fx) + data[at + 3 * width + 3 + c] * fx) * fy);
}

function render(width, height, colourAt) {
  const data = new Uint8ClampedArray(3 * width * height);
  for (let y = 0, at = 0; y < height; y++)
    for (let x = 0; x < width; x++, at += 3) data.set(colourAt(x, y), at);
  return { data, width, height };
}

const painting = render(WIDTH, HEIGHT, paint);
const room = render(ROOM_WIDTH, ROOM_HEIGHT, (x, y) => look(painting, x, y));
for (const [name, { data, width, height }] of Object.entries({ painting, room }))
  writeFileSync(join(process.argv[2], `${name}.ppm`), Buffer.concat([Buffer.from(`P6 ${width} ${height} 255\n`), Buffer.from(data)]));
