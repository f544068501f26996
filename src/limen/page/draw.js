// Numbers, marks and small parts that several drawings share.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";

const plain = new Intl.NumberFormat("en-US");
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
export const number = (n) =>
  typeof n !== "string" ? plain.format(n) : /^[0-9]+$/.test(n) ? plain.format(BigInt(n)) : n;
export const short = (n) =>
  n >= 2 ** 30 ? n / 2 ** 30 + "G" : n >= 2 ** 20 ? n / 2 ** 20 + "M" : n >= 1024 ? n / 1024 + "k" : "" + n;
export const bytes = (b) => {
  let i = 0;
  while (b >= 1024 && i < UNITS.length - 1) {
    b /= 1024;
    i++;
  }
  return (i ? b.toPrecision(3) : b) + " " + UNITS[i];
};
export const percent = (x) => (100 * x).toFixed(0) + " %";

// A sentence in which ** stands around what is bold.
export const rich = (text) =>
  (text ?? "").split("**").map((part, i) =>
    i % 2
      ? html`<b>${part}</b>`
      : part,
  );

const stroke = (d) => html`
  <svg viewBox="0 0 10 10" aria-hidden="true"><path d=${d} /></svg>
`;
export const MARK = {
  can: stroke("M1 5.5 4 8.2 9 1.8"),
  cannot: stroke("M1.8 1.8 8.2 8.2M8.2 1.8 1.8 8.2"),
  open: stroke("M3 3.2a2.1 2 0 1 1 2.8 1.9c-.6.3-.8.6-.8 1.2M5 8.9v.05"),
  incomplete: stroke("M1.5 5h.05M5 5h.05M8.5 5h.05"),
};
export const look = (verdict) => (verdict?.startsWith("cannot") ? "cannot" : (verdict ?? "wait"));

export const Tag = ({ which }) => html`
  <span class=${"tag " + which}>${which.toUpperCase()}</span>
`;
export const Bars = ({ needs, has }) => {
  const most = Math.max(+needs, +has, 1);
  const row = (word, cls, value) => html`
    <dt>${word}</dt>
    <dd class=${cls}>
      <span class="room"><i class="bar" style=${{ width: (100 * value) / most + "%" }}></i></span>
      <b>
        ${number(value)} <small>bits</small>
      </b>
    </dd>
  `;
  return html`<dl class="sides">${row("needs", "needs", needs)}${row("holds", "has", has)}</dl>`;
};

// `bare`: its words are read aloud, and only its picture is seen.
export function Copy({ text, label = "Copy as command", bare }) {
  const [done, setDone] = useState(false);
  if (!text) return null;
  const copy = () =>
    navigator.clipboard?.writeText(text).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1600);
    });
  return html`
    <button class="copy" onClick=${copy} title=${text}>
      <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z" /></svg>
      <span aria-live="polite" class=${bare && !done ? "vh" : ""}>${done ? "Copied" : label}</span>
    </button>
  `;
}
export const Command = ({ text }) =>
  text
    ? html`
        <div class="command">
          <code>${text}</code>
          <${Copy} text=${text} label="Copy" />
        </div>
      `
    : null;

// A button that opens something below it; Esc or a click elsewhere closes it.
export function Pop({ name, label, cls = "", children, panel = "", ...more }) {
  const [open, setOpen] = useState(false);
  const box = useRef();
  const button = useRef();
  useEffect(() => {
    if (!open) return;
    const outside = (e) => box.current?.contains(e.target) || setOpen(false);
    document.addEventListener("pointerdown", outside);
    box.current.querySelector(".pop button, .pop input, .pop select")?.focus({ preventScroll: true });
    return () => document.removeEventListener("pointerdown", outside);
  }, [open]);
  const shut = () => {
    setOpen(false);
    button.current?.focus();
  };
  return html`
    <span
      class="holds-pop"
      ref=${box}
      onKeyDown=${(e) => e.key === "Escape" && open && (e.stopPropagation(), shut())}
    >
      <button
        ref=${button}
        class=${cls}
        aria-label=${name}
        aria-expanded=${open}
        title=${name}
        onClick=${() => setOpen(!open)}
        ...${more}
      >
        ${label}
      </button>
      ${open && html`<div class=${"pop " + panel} role="group" aria-label=${name}>${children(shut)}</div>`}
    </span>
  `;
}

// Width of an element, followed; what is not drawn yet has none.
const NARROWEST = 240;
export function useWidth(first) {
  const box = useRef();
  const [width, setWidth] = useState(first);
  useEffect(() => {
    const seen = new ResizeObserver(([e]) => setWidth(Math.max(NARROWEST, e.contentRect.width)));
    seen.observe(box.current);
    return () => seen.disconnect();
  }, []);
  return [box, width];
}
export const Failed = ({ answer }) =>
  answer?.error
    ? html`<p class="failed" role="alert">${answer.error}</p>`
    : null;
export const Lines = ({ answer }) =>
  answer?.lines
    ? html`
        <pre class="lines" tabindex="0" aria-label="The answer in words">
${answer.lines.join("\n")}</pre>
      `
    : null;
export const Picture = ({ answer, says }) =>
  answer?.picture
    ? html`
        <div class="pictured" tabindex="0" role="group" aria-label="Picture">
          <img
            class="picture"
            alt=${says}
            src=${"data:image/svg+xml;charset=utf-8," + encodeURIComponent(answer.picture)}
          />
        </div>
      `
    : null;
// An answer, dimmed while the next one is computed; `says` tells so where an old one stands.
export const Answered = ({ answer, says, children }) => html`
  <p class="wait-line" role="status">${answer.pending ? (answer.last ? says : "…") : ""}</p>
  <div class=${"answer" + (answer.pending ? " stale" : "")} aria-busy=${answer.pending}>
    <${Failed} answer=${answer} />${children}
  </div>
`;
