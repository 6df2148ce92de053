// SPDX-License-Identifier: Apache-2.0
// Messages to a worker and their answers.

/** ask(message, transfer) sends a message to the worker and gives a promise of its answer. */
export function connect(name, onFailure) {
  const worker = new Worker(new URL(name, import.meta.url), { type: "module" });
  const waiting = new Map();
  let tickets = 0;
  worker.onmessage = ({ data: { ticket, error, value } }) => {
    const { resolve, reject } = waiting.get(ticket);
    waiting.delete(ticket);
    if (error) reject(new Error(error));
    else resolve(value);
  };
  worker.onerror = onFailure;
  return (message, transfer = []) => {
    const ticket = tickets++;
    worker.postMessage({ ticket, message }, transfer);
    return new Promise((resolve, reject) => { waiting.set(ticket, { resolve, reject }); });
  };
}

/** The worker's side: answer(message) returns the value, or throws. */
export function serve(answer) {
  onmessage = async ({ data: { ticket, message } }) => {
    try {
      postMessage({ ticket, value: await answer(message) });
    } catch (error) {
      postMessage({ ticket, error: error.message });
    }
  };
}
