// SPDX-License-Identifier: Apache-2.0
// What the descriptors are worth and what they cost: report.json, which scripts/results-tables makes of results/.
import { byId } from "./picture.js";

/** Fills a table: names of columns, then rows whose first cell is a heading. */
export function tableOf(table, head, lines) {
  const cell = (name, scope, text) => {
    const element = document.createElement(name);
    if (scope) element.scope = scope;
    element.textContent = text;
    return element;
  };
  table.tHead.rows[0].replaceChildren(...head.map((text) => cell("th", "col", text)));
  table.tBodies[0].replaceChildren(...lines.map(([name, ...values]) => {
    const row = document.createElement("tr");
    row.append(cell("th", "row", name), ...values.map((text) => cell("td", "", text)));
    return row;
  }));
}

/** { name, map, precision, homographies, ms }, best first; ms per image to describe. */
function rowsOf({ oxford, bench }) {
  const describe = bench.rows.filter(({ step }) => step === "describe");
  const cost = (model) => (model === "cv:orb" ? describe[0]?.peer_ms
    : describe.find((row) => row.model === model)?.ms);
  return oxford.map((row) => ({ name: row.model === "cv:orb" ? "OpenCV ORB" : row.model, map: row.strict_map,
    precision: row.precision_3px, homographies: row.homography_3px, ms: cost(row.model) ?? null }))
    .sort((a, b) => b.map - a.map);
}

const SVG = "http://www.w3.org/2000/svg";

function shape(parent, name, attributes, text) {
  const element = parent.appendChild(document.createElementNS(SVG, name));
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** mAP against milliseconds: up and to the left is better. */
function plot(svg, rows) {
  const [width, height, left, bottom] = [innerWidth < 600 ? 330 : 520, 300, 30, 40]; // text as large as the page's
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren();
  const most = 1.15 * Math.max(...rows.map(({ ms }) => ms));
  const maps = rows.map(({ map }) => map);
  const [low, high] = [Math.floor(Math.min(...maps) / 5) * 5, Math.ceil(Math.max(...maps) / 5 + 0.01) * 5];
  const x = (ms) => left + (ms / most) * (width - left - 10);
  const y = (map) => height - bottom - ((map - low) / (high - low)) * (height - bottom - 10);
  for (let map = low; map <= high; map += 5) {
    shape(svg, "line", { x1: left, x2: width, y1: y(map), y2: y(map), class: "grid" });
    shape(svg, "text", { x: left - 6, y: y(map) + 4, "text-anchor": "end" }, map);
  }
  const step = 10 ** Math.floor(Math.log10(most / 2));
  for (let ms = 0; ms <= most; ms += step * (most / step > 8 ? 2 : 1)) {
    shape(svg, "text", { x: x(ms), y: height - bottom + 16, "text-anchor": "middle" }, +ms.toFixed(3));
  }
  shape(svg, "text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, "ms per image to describe");
  shape(svg, "text", { x: left + 6, y: 26 }, "mAP, %");
  for (const { name, map, ms } of rows) {
    const end = x(ms) > width - 90;
    shape(svg, "circle", { cx: x(ms), cy: y(map), r: 5, class: name.startsWith("OpenCV") ? "peer" : "ours" });
    shape(svg, "text", { x: x(ms) + (end ? -9 : 9), y: y(map) + 4, "text-anchor": end ? "end" : "start" }, name);
  }
}

const number = (value, digits) => (value === null ? "" : value.toFixed(digits));

export async function showReport() {
  const report = await (await fetch("report.json")).json();
  const rows = rowsOf(report);
  const { bench: { machine, max_keypoints: keypoints, images } } = report;
  byId("report").hidden = false;
  byId("report-about").textContent = `${report.oxford[0].pairs} pairs of images, at most ${keypoints} keypoints per `
    + `image. Times are those of the program on ${machine.processor}, one thread, over ${images} images.`;
  tableOf(byId("report-table"), ["descriptor", "mAP, %", "ms", "matches, %", "homog\u00adraphies, %"],
    rows.map(({ name, map, precision, homographies, ms }) => [name, number(map, 1), number(ms, 2),
      number(precision, 1), number(homographies, 1)]));
  plot(byId("report-plot"), rows.filter(({ ms }) => ms !== null));
}
