// SPDX-License-Identifier: Apache-2.0
// Recognition away from the page, so that the page never stutters. Pictures come as transferred ImageBitmaps.
import { Tracker, load, memoryBytes } from "./package/keybits.js";
import { serve } from "./remote.js";

const ready = load().then(() => Tracker.create());

serve(async ({ kind, bitmap, bytes, name, ids }) => {
  const tracker = await ready;
  try {
    if (kind === "add") return { id: tracker.add(bitmap, name) };
    if (kind === "index") return { images: tracker.addIndex(bytes) };
    if (kind === "remove") return { removed: ids.filter((id) => tracker.remove(id)).length };
    if (kind === "save") return { bytes: tracker.serialise() };
    if (kind === "frame") {
      const { width, height } = bitmap;
      return { seen: tracker.update(bitmap), times: tracker.times, width, height, memory: memoryBytes() };
    }
    return null;
  } finally {
    bitmap?.close();
  }
});
