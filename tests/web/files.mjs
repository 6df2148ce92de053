// SPDX-License-Identifier: Apache-2.0
// Files that the browser tests need, out of rendered pixels.
import { writeFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}

/** A gray PNG; rows: bytes of all rows with the filter byte before each. */
function png(width, height, depth, rows) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = depth;
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

export function writePNG(name, { data, width, height }) {
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) rows.set(data.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  writeFileSync(name, png(width, height, 8, rows));
  return name;
}

/** Black, one bit per pixel, side x side. */
export function writeHugePNG(name, side) {
  writeFileSync(name, png(side, side, 1, Buffer.alloc((Math.ceil(side / 8) + 1) * side)));
  return name;
}

export function writeY4M(name, frames, rate) {
  const { width, height } = frames[0];
  const chroma = Buffer.alloc((width * height) / 2, 128);
  const parts = [Buffer.from(`YUV4MPEG2 W${width} H${height} F${rate}:1 Ip A1:1 C420jpeg\n`)];
  for (const { data } of frames) parts.push(Buffer.from("FRAME\n"), data, chroma);
  writeFileSync(name, Buffer.concat(parts));
  return name;
}
