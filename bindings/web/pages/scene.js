// SPDX-License-Identifier: Apache-2.0
// Pictures out of arithmetic, for samples, benchmarks and tests: posters, and how a camera sees them. The same seed
// gives the same pixels everywhere.

/** A generator of numbers in [0, 1). */
export function random(seed) {
  let state = (seed * 2654435761 + 1013904223) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Gray: { data, width, height }. */
export function poster(width, height, seed, shapes = 140) {
  const next = random(seed);
  const image = { data: new Uint8Array(width * height), width, height };
  const [light, dark] = [170 + 60 * next(), 90 + 60 * next()];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) image.data[y * width + x] = light + ((dark - light) * (x + y)) / (width + height);
  }
  for (let i = 0; i < shapes; i++) {
    const big = i < shapes / 6 ? 0.3 : 0.09;
    const shape = { x: next() * width, y: next() * height, w: (0.2 + next()) * big * width,
      h: (0.2 + next()) * big * width, turn: Math.floor(next() * 8), kind: next(), value: Math.floor(256 * next()) };
    paint(image, shape);
  }
  return image;
}

const TURNS = [[1, 0], [0.9238795, 0.3826834], [0.7071068, 0.7071068], [0.3826834, 0.9238795]];

/** A turned rectangle, ellipse or frame. */
function paint({ data, width, height }, { x, y, w, h, turn, kind, value }) {
  const [c, s] = TURNS[turn % 4];
  const reach = Math.ceil(w + h);
  for (let py = Math.max(0, Math.floor(y - reach)); py < Math.min(height, y + reach); py++) {
    for (let px = Math.max(0, Math.floor(x - reach)); px < Math.min(width, x + reach); px++) {
      const u = Math.abs(c * (px - x) + s * (py - y)) / w;
      const v = Math.abs(c * (py - y) - s * (px - x)) / h;
      const inside = kind < 0.3 ? u * u + v * v < 0.25 : u < 0.5 && v < 0.5;
      if (inside && !(kind > 0.8 && u < 0.3 && v < 0.3)) data[py * width + px] = value;
    }
  }
}

/** What is at (x, y), between pixels; -1 outside. */
function sample({ data, width, height }, x, y) {
  if (!(x >= 0 && y >= 0 && x <= width - 1 && y <= height - 1)) return -1;
  const [ix, iy] = [Math.min(width - 2, Math.floor(x)), Math.min(height - 2, Math.floor(y))];
  const [fx, fy] = [x - ix, y - iy];
  const at = iy * width + ix;
  const top = data[at] + fx * (data[at + 1] - data[at]);
  const bottom = data[at + width] + fx * (data[at + width + 1] - data[at + width]);
  return top + fy * (bottom - top);
}

/** Draws a picture into a scene; back takes scene pixels to picture pixels (3 x 3, row major). */
export function place(scene, picture, back, brightness = 1) {
  for (let y = 0; y < scene.height; y++) {
    for (let x = 0; x < scene.width; x++) {
      const w = back[6] * x + back[7] * y + back[8];
      const value = w > 0 ? sample(picture, (back[0] * x + back[1] * y + back[2]) / w,
        (back[3] * x + back[4] * y + back[5]) / w) : -1;
      if (value >= 0) scene.data[y * scene.width + x] = Math.min(255, Math.round(value * brightness));
    }
  }
  return scene;
}

/** Back from a scene in which the picture's centre is at (x, y), turned by (c, s) and shrunk by `scale`. */
export function backFrom(picture, { x, y, scale = 1, c = 1, s = 0, tilt = 0 }) {
  const [k, cx, cy] = [1 / scale, (picture.width - 1) / 2, (picture.height - 1) / 2];
  const [a, b] = [k * c, k * s];
  // Perspective about (x, y): w = 1 + tilt (X - x).
  const w = [tilt, 0, 1 - tilt * x];
  const rows = [[a, b, -a * x - b * y], [-b, a, b * x - a * y]];
  const moved = rows.map((row, i) => row.map((v, j) => v + [cx, cy][i] * w[j]));
  return [...moved[0], ...moved[1], ...w];
}

/** A poster in a cluttered room: { poster, room, back }. */
export function samplePair(seed = 4) {
  const picture = poster(400, 300, seed);
  const room = poster(640, 480, seed + 1000, 60);
  const back = backFrom(picture, { x: 330, y: 235, scale: 0.85, c: 0.9455186, s: 0.3255682, tilt: 0.0004 });
  return { poster: picture, room: place(room, picture, back, 0.9), back };
}

/** Gray pixels as ImageData's RGBA. */
export function toRGBA({ data, width, height }) {
  const out = new Uint8ClampedArray(4 * width * height);
  for (let i = 0; i < data.length; i++) out.fill(data[i], 4 * i, 4 * i + 3), (out[4 * i + 3] = 255);
  return { data: out, width, height };
}
