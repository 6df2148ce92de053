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

/** A turned rectangle, ellipse or frame with soft edges, lit from one side. */
function paint({ data, width, height }, { x, y, w, h, turn, kind, value }) {
  const [c, s] = TURNS[turn % 4];
  const reach = Math.ceil(w + h);
  for (let py = Math.max(0, Math.floor(y - reach)); py < Math.min(height, y + reach); py++) {
    for (let px = Math.max(0, Math.floor(x - reach)); px < Math.min(width, x + reach); px++) {
      const [along, across] = [(c * (px - x) + s * (py - y)) / w, (c * (py - y) - s * (px - x)) / h];
      const [u, v] = [Math.abs(along), Math.abs(across)];
      // px inside the edge: of an ellipse, of a rectangle, of a frame
      let depth = kind < 0.3 ? (0.5 - Math.sqrt(u * u + v * v)) * Math.min(w, h) : Math.min((0.5 - u) * w, (0.5 - v) * h);
      if (kind > 0.8) depth = Math.min(depth, Math.max((u - 0.3) * w, (v - 0.3) * h));
      const cover = Math.min(1, Math.max(0, depth + 0.5));
      const lit = Math.min(255, Math.max(0, value + 24 * (along + across)));
      if (cover > 0) data[py * width + px] = Math.round(data[py * width + px] + (lit - data[py * width + px]) * cover);
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

const grayOf = (r, g, b) => (9798 * r + 19235 * g + 3735 * b + 16384) >> 15; // docs/formats.md

/** A colour for every gray value, from night blue over teal and rose to sand, whose gray is that value again. */
const COLOURS = Array.from({ length: 256 }, (_, gray) => {
  const turn = 2.2 + gray / 34;
  const strength = 0.55 * Math.min(gray, 255 - gray, 90);
  let [r, g, b] = [0, 2.1, 4.2].map((hue) => gray + strength * Math.cos(turn - hue));
  [r, b] = [r, b].map((value) => Math.round(Math.min(255, Math.max(0, value))));
  g = Math.round(Math.min(255, Math.max(0, (gray * 32768 - 9798 * r - 3735 * b) / 19235)));
  while (grayOf(r, g, b) < gray) (g < 255 && grayOf(r, g + 1, b) <= gray) ? g++ : b < 255 ? b++ : r++;
  while (grayOf(r, g, b) > gray) (g > 0 && grayOf(r, g - 1, b) >= gray) ? g-- : b > 0 ? b-- : r--;
  return [r, g, b];
});

/** Gray pixels as ImageData's RGBA, in colours that become the same gray. */
export function toRGBA({ data, width, height }) {
  const out = new Uint8ClampedArray(4 * width * height);
  for (let i = 0; i < data.length; i++) out.set(COLOURS[data[i]], 4 * i), (out[4 * i + 3] = 255);
  return { data: out, width, height };
}
