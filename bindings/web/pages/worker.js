// Recognition away from the page, so that the page never stutters. Pictures come as transferred ImageBitmaps.
import { Tracker, load, memoryBytes } from "./package/keybits.js";

const ready = load().then(() => Tracker.create());

async function answer({ kind, bitmap, name, id }) {
  const tracker = await ready;
  try {
    if (kind === "add") return { id: tracker.add(bitmap, name) };
    if (kind === "remove") return { removed: tracker.remove(id) };
    if (kind === "frame") {
      const { width, height } = bitmap;
      return { seen: tracker.update(bitmap), times: tracker.times, width, height, memory: memoryBytes() };
    }
    return {};
  } finally {
    bitmap?.close();
  }
}

onmessage = async ({ data }) => {
  try {
    postMessage({ ...(await answer(data)), ticket: data.ticket });
  } catch (error) {
    postMessage({ error: error.message, ticket: data.ticket });
  }
};
