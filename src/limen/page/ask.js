// Asks Limen: answers that stand in the page, live by POST, or by Python in the page.
// Decides nothing, and keeps what it was told.
import { useEffect, useRef, useState } from "./vendor/htm-preact.js";

export const WAY = document.documentElement.dataset.way; // serve, site or file
const kept = new Map();
let stored = null; // the answers that came with the page, once they are loaded
let python = null; // asks Python in the page, where the site has it
export let live = WAY === "serve"; // whether a question that nobody has asked before is answered

// JSON that is sent as it was typed: JavaScript would round its integers, and take 1.0 for 1.
export class Exact {
  constructor(text) {
    this.text = text;
    this.value = JSON.parse(text);
  }
}
// The bytes of a dropped file, as they travel in JSON.
export const base64 = (file) =>
  new Promise((done, fail) => {
    const read = new FileReader();
    read.onload = () => done(read.result.split(",")[1] ?? "");
    read.onerror = () => fail(read.error);
    read.readAsDataURL(file);
  });
// A size that was typed: a number where JavaScript holds it, otherwise the text, which Python reads or refuses.
export const sized = (text) => (/^[1-9][0-9]{0,14}$/.test(text) ? +text : text);

// The same text for the same body, whatever the order of its keys; Python writes it alike.
const canonical = (x, sent) =>
  x instanceof Exact
    ? sent
      ? x.text
      : canonical(x.value)
    : x && typeof x === "object" && !Array.isArray(x)
      ? "{" +
        Object.keys(x)
          .sort()
          .map((k) => JSON.stringify(k) + ":" + canonical(x[k], sent))
          .join(",") +
        "}"
      : Array.isArray(x)
        ? "[" + x.map((one) => canonical(one, sent)).join(",") + "]"
        : JSON.stringify(x);
const keyOf = (name, body) => name + " " + canonical(body, true);

const inside = (id) => JSON.parse(document.getElementById(id).textContent);
const fetched = (file) => fetch(file).then((r) => r.json());
export async function start() {
  const begin = WAY === "file" ? inside("start") : await fetched("start.json");
  if (begin.python) {
    python = (await import("./python.js")).python(begin.python);
    live = true;
  }
  return begin;
}
const answers = () => (stored ??= WAY === "file" ? Promise.resolve(inside("answers")) : fetched("answers.json"));

async function posted(name, text, signal) {
  const sent = await fetch("call", {
    method: "POST",
    signal,
    headers: { "content-type": "application/json" },
    body: `{"name":${JSON.stringify(name)},"body":${text}}`,
  });
  return sent.json().catch(() => ({ error: `${sent.status} ${sent.statusText}` }));
}
export async function ask(name, body, { signal, unknown } = {}) {
  const sent = canonical(body, true);
  const key = name + " " + sent;
  if (kept.has(key)) return kept.get(key);
  const answer =
    WAY === "serve"
      ? await posted(name, sent, signal)
      : ((await answers())[name + " " + canonical(body)] ??
        (await python?.(name, sent, signal)) ?? { error: unknown?.replace("{command}", name), unknown: true });
  if (!answer.error) kept.set(key, answer);
  return answer;
}
export const remember = (name, body, answer) => kept.set(keyOf(name, body), answer);

// The answer to a question that changes: the last one stays until the next has come; an older call is given up.
export function useAnswer(name, body, unknown) {
  const key = body && keyOf(name, body);
  const [got, setGot] = useState({ key: null, answer: kept.get(key) ?? null });
  const now = useRef();
  useEffect(() => {
    if (!body) return setGot({ key: null, answer: null });
    const control = new AbortController();
    now.current = key;
    ask(name, body, { signal: control.signal, unknown })
      .catch((error) => (error.name === "AbortError" ? null : { error: String(error.message ?? error) }))
      .then((answer) => answer && now.current === key && setGot({ key, answer }));
    return () => control.abort();
  }, [key]);
  return { ...got.answer, pending: got.key !== key, last: got.answer };
}
