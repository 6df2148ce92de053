// SPDX-License-Identifier: Apache-2.0
// Pictures from files, and what the pages share around them.

const MOST_MEGAPIXELS = 64;
const LONGEST_SIDE = 1600; // larger ones are scaled down: phones take 50 megapixels, matching needs two

export const byId = (id) => document.getElementById(id);

/** Shows an error, or clears it. */
export function say(error) {
  byId("alert").textContent = error ? error.message ?? String(error) : "";
}

/** A canvas with the picture of a file; throws a sentence that names the file. */
export async function readPicture(file) {
  if (file.size === 0) throw new Error(`${file.name} is empty.`);
  const url = URL.createObjectURL(file);
  try {
    const image = new Image();
    image.src = url;
    await new Promise((resolve, reject) => {
      image.onload = resolve;
      image.onerror = () => reject(new Error(`${file.name} is not a picture that this browser can read.`));
    });
    const megapixels = (image.naturalWidth * image.naturalHeight) / 1e6;
    if (megapixels > MOST_MEGAPIXELS) {
      throw new Error(`${file.name} has ${Math.round(megapixels)} megapixels; `
        + `up to ${MOST_MEGAPIXELS} are taken here.`);
    }
    // An image element shows what it has of a damaged file; a bitmap is all or nothing.
    const bitmap = await createImageBitmap(file).catch(() => { throw new Error(`${file.name} is damaged.`); });
    const scale = Math.min(1, LONGEST_SIDE / Math.max(bitmap.width, bitmap.height));
    const canvas = drawn(bitmap, Math.round(bitmap.width * scale), Math.round(bitmap.height * scale));
    bitmap.close();
    return canvas;
  } finally {
    URL.revokeObjectURL(url);
  }
}

export function drawn(source, width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d", { willReadFrequently: true }).drawImage(source, 0, 0, width, height);
  return canvas;
}

/** A canvas with the pixels of { data, width, height } in RGBA. */
export function fromPixels({ data, width, height }) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d", { willReadFrequently: true }).putImageData(new ImageData(data, width, height), 0, 0);
  return canvas;
}

export function outlinePath(context, corners) {
  context.beginPath();
  corners.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
}

export function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
