// Python in the page: a worker that the first question starts. A question takes its turn, and its time is limited.
const SPARED = 5000; // ms that an answer may still take once nobody waits for it
const listeners = new Set();
let state = "asleep";

export const onState = (listener) => {
  listeners.add(listener);
  listener(state);
  return () => listeners.delete(listener);
};
const become = (next) => {
  if (state === next) return;
  state = next;
  listeners.forEach((tell) => tell(next));
};

// One worker and its queue. `says` has the sentences, and the seconds that an answer may take.
function lane(says) {
  let worker = null;
  let awake = false;
  let now = null;
  let last = 0;
  let late = null;
  const queue = [];

  const start = () => {
    become("starting");
    worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.ready) {
        awake = true;
        if (now) limit();
        return become("ready");
      }
      if (data.failed) return fail(`${says.failed} (${data.failed})`);
      if (data.id === now?.id) {
        now.done(JSON.parse(data.text));
        next();
      }
    };
    worker.onerror = (event) => fail(`${says.failed} (${event.message ?? "worker"})`);
  };
  const stop = () => {
    worker?.terminate();
    worker = null;
    awake = false;
    clearTimeout(late);
    become("asleep");
  };
  const fail = (error) => {
    const lost = [now, ...queue.splice(0)];
    now = null;
    stop();
    become("failed");
    lost.forEach((one) => one?.done({ error }));
  };
  const dropped = (one) => one.drop(new DOMException("nobody waits for it", "AbortError"));
  const next = () => {
    clearTimeout(late);
    now = queue.shift() ?? null;
    if (!now) return;
    if (!worker) start();
    worker.postMessage({ id: now.id, name: now.name, text: now.text });
    limit();
  };
  // The start of Python is not ended by whoever asks something else meanwhile.
  const limit = () => {
    clearTimeout(late);
    late = setTimeout(give, now.left && awake ? SPARED : 1000 * says.seconds);
  };
  const give = () => {
    const one = now;
    stop();
    if (one.left) dropped(one);
    else one.done({ error: says.long });
    next();
  };

  return (name, text, signal) =>
    new Promise((done, drop) => {
      const one = { id: ++last, name, text, done, drop, left: false };
      signal?.addEventListener("abort", () => {
        one.left = true;
        const at = queue.indexOf(one);
        if (at >= 0) {
          queue.splice(at, 1);
          dropped(one);
        } else if (now === one) limit();
      });
      queue.push(one);
      if (!now) next();
    });
}

// What takes long has a worker of its own, so that the first screen need not wait for it.
export function python(says) {
  const quick = lane(says);
  const slow = lane(says);
  return (name, text, signal) => (says.slow.includes(name) ? slow : quick)(name, text, signal);
}
