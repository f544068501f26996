// Draws, and decides nothing: every verdict, number and sentence comes from Limen.
import { html, render, useEffect, useMemo, useRef, useState } from "./vendor/htm-preact.js";
import { WAY, base64, live, sized, start as begin, remember, useAnswer } from "./ask.js";
import { Tag, look, number } from "./draw.js";
import { Side } from "./stack.js";
import { Axis, Hops, Memory } from "./axis.js";
import { Evidence, Known, useTable } from "./known.js";
import { Panels } from "./panels.js";

const MODEL = ["model.json", "model.safetensors"];
const KEPT = ["task", "n", "a", "b", "cell", "panel", "experiment", "model", "step"]; // what the address says
const BELOW = ["cell", "panel", "experiment", "model", "step"]; // these leave an open cell open
const read = () => {
  const h = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  if (h.n) h.n = sized(h.n);
  else delete h.n;
  if ("step" in h) h.step = Math.max(0, Math.trunc(+h.step)) || 0;
  return h;
};

// Who answers; where Python is in the page, whether it is awake.
function Pill({ start }) {
  const [state, setState] = useState("");
  useEffect(() => {
    if (!start.python) return;
    let off = null;
    import("./python.js").then((it) => {
      off = it.onState(setState);
    });
    return () => off?.();
  }, []);
  return html`
    <span class="pill" role="status">
      <i class=${state}></i>
      <span>${start.python?.[state] ?? start.ways[WAY]}</span>
    </span>
  `;
}

function App({ start }) {
  const learn = start.begin.at(-1);
  const first = { ...learn.set, panel: learn.panel };
  const [s, setS] = useState({ ...first, ...read() });
  const own = useRef("");
  const set = (more) =>
    setS((old) => ({
      ...old,
      ...(BELOW.some((key) => key in more) ? {} : { cell: null }),
      ...more,
    }));
  useEffect(() => {
    if (start.alone) return;
    const hash = new URLSearchParams(
      KEPT.filter((k) => s[k] != null && s[k] !== "").map((k) => [k, s[k]]),
    ).toString();
    own.current = "#" + hash;
    history.replaceState(null, "", "#" + hash);
  }, [s]);
  useEffect(() => {
    const back = () => location.hash !== own.current && setS((old) => ({ ...first, panel: old.panel, ...read() }));
    addEventListener("hashchange", back);
    return () => removeEventListener("hashchange", back);
  }, []);
  const known = start.tasks.find((t) => t.id === s.task);
  const task = known ?? {
    ...start.unnamed,
    id: s.task,
    text: s.task,
    question: start.unnamed.question.replace("{task}", s.task),
  };
  const power = Number.isInteger(Math.log2(s.n)) && s.n >= 16 && s.n <= 2 ** 26;
  const where = (text) => ({
    task: task.text,
    architecture: text,
    ...(task.over ? { over: task.over } : {}),
    ...(power ? {} : { at: s.n }),
  });
  const alone = start.alone;
  const depth = (text) => ({ architecture: text }); // in a notebook there is one stack, and this card
  const A = useAnswer("where", where(s.a), start.unknown);
  const B = useAnswer("where", alone ? null : where(s.b), start.unknown);
  const depths = [
    useAnswer("depth", depth(s.a), start.unknown),
    useAnswer("depth", alone ? null : depth(s.b), start.unknown),
  ];
  useEffect(() => {
    for (const [which, v] of [
      ["a", A],
      ["b", B],
    ]) {
      const made = v.report?.architecture;
      if (v.pending || !made) continue;
      if (made !== s[which]) {
        remember("where", where(made), v.last);
        set({ [which]: made });
      }
      if (v.report.at && v.report.at !== s.n) set({ n: v.report.at });
    }
  });
  const indexes = [A, B].map((v) => v.report?.points.findIndex((p) => p.size === s.n) ?? -1);
  const points = [A, B].map((v, i) => v.report?.points[indexes[i]]);
  const [shown, setShown] = useState(false);
  const table = useTable(start, shown);
  const [over, setOver] = useState(false);
  // A config, a certificate, or a certificate with the two files of its model.
  const drop = async (list) => {
    const files = [...list];
    const first =
      files.find((f) => f.name === "certificate.json") ?? files.find((f) => !MODEL.includes(f.name)) ?? files[0];
    if (!first) return;
    const text = await first.text();
    const kind = text.includes("limen/certificate") ? "certificate" : "config";
    const model = kind === "certificate" ? files.filter((f) => MODEL.includes(f.name)) : [];
    const beside = model.length
      ? Object.fromEntries(
          await Promise.all(
            [first, ...model].map(async (f) => [f === first ? "certificate.json" : f.name, await base64(f)]),
          ),
        )
      : null;
    set({ dropped: { kind, text, beside }, panel: kind === "certificate" ? "check" : "audit" });
    show();
  };
  const show = () =>
    requestAnimationFrame(() =>
      document
        .getElementById("panels")
        ?.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" }),
    );
  const word = start.begin.find((b) => b.panel === s.panel && Object.keys(b.set).every((k) => b.set[k] === s[k]));
  const [before, after] = task.question.split(/\{\w+\}/);
  const ready = !A.pending && !B.pending && depths.every((d) => !d.pending);
  useEffect(() => {
    document.body.dataset.ready = ready;
    if (ready) setShown(true);
  }, [ready]);
  const [row, column] = (s.cell ?? "").split("/");
  const cell = start.rows.some((r) => r.row === row) && start.columns.some((c) => c.column === column);
  const both = alone ? [A] : [A, B];
  // Neither depends on n, so that the slider leaves them as they are.
  const what = useMemo(
    () => html`<${Known} start=${start} table=${table} s=${s} set=${set} task=${task} />`,
    [table.cells, table.failed, s.whole, s.left, s.a, s.b, s.task],
  );
  const below = useMemo(
    () => html`<${Panels} start=${start} s=${s} set=${set} />`,
    [s.a, s.b, s.panel, s.dropped, s.experiment, s.model, s.step],
  );
  const stacks = html`
    <div>
      <div class="card">
        <div class=${"pair" + (alone ? " alone" : "")}>
          ${both.map(
            (v, i) => html`
              <${Side}
                which=${"ab"[i]}
                text=${s["ab"[i]]}
                set=${set}
                start=${start}
                answer=${v}
                point=${points[i]}
                says=${v.says?.points[indexes[i]]}
              />
            `,
          )}
        </div>
        <${Axis} both=${both} n=${s.n} set=${set} size=${task.size} live=${live} />
      </div>
      <div class="two">
        <${Hops} both=${both} depths=${depths} start=${start} />
        <${Memory} both=${both} points=${points} indexes=${indexes} />
      </div>
    </div>
  `;
  if (alone)
    return html`
      <div class="page">
        <h1>
          Can it ${before}
          <span class="n">${number(s.n)}</span>
          ${after}?
        </h1>
        ${stacks}
      </div>
    `;
  return html`
    <div
      class=${"page" + (over ? " over" : "")}
      onDragOver=${(e) => {
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave=${() => setOver(false)}
      onDrop=${(e) => {
        e.preventDefault();
        setOver(false);
        drop(e.dataTransfer.files);
      }}
    >
      <header class="top">
        <a class="brand" href="#">
          <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
            <path d="M2 17C8 17 11 11 18 3" />
            <path class="bar" d="M2 10h16" />
          </svg>
          limen
        </a>
        <nav aria-label="Begin with what you do">
          ${start.begin.map(
            (b) => html`
              <button
                title=${b.asks}
                aria-current=${b === word}
                onClick=${() => {
                  set({ ...b.set, panel: b.panel });
                }}
              >
                ${b.word}
              </button>
            `,
          )}
        </nav>
        ${
          word &&
          html`
            <button class="asks" onClick=${show}>
              ${word.asks} <span aria-hidden="true">↓</span>
            </button>
          `
        }
        <${Pill} start=${start} />
      </header>
      <main>
        <h1 class=${before.length + after.length > 40 ? "long" : ""}>
          ${"Can it "}
          <label class="pick">
            <span>
              ${before}
              <span class="n">${number(s.n)}</span>
              ${after}
            </span>
            <select aria-label="Task" value=${task.id} onChange=${(e) => set({ task: e.target.value })}>
              ${!known && html`<option value=${task.id} selected>${task.id}</option>`}${start.tasks.map(
                (t) => html`
                  <option value=${t.id} title=${t.summary} selected=${t === task}>
                    ${t.id.replaceAll("_", " ")}: ${t.question.replace(/\{(\w+)\}/, "$1")}
                  </option>
                `,
              )}
            </select>
          </label>
          ?
        </h1>
        <div class="grid">
          ${stacks}
          <div class=${"sheet" + (cell ? " up" : "")}>
            ${
              cell
                ? html`<${Evidence} start=${start} table=${table} s=${s} set=${set} />`
                : what
            }
            ${
              live &&
              html`
                <label class="drop">
                  <svg width="26" height="26" viewBox="0 0 26 26" aria-hidden="true">
                    <path d="M13 16V5M9 9l4-4 4 4M5 15v5h16v-5" />
                  </svg>
                  <span>
                    <b>${start.says.drop[0]}</b> ${start.says.drop[1]}
                  </span>
                  <input
                    type="file"
                    class="vh"
                    multiple
                    accept=".json,application/json,.safetensors"
                    onChange=${(e) => drop(e.target.files)}
                  />
                </label>
              `
            }
          </div>
        </div>
        ${below}
      </main>
      <footer>${start.says.foot}</footer>
      <div class="bottom" aria-hidden="true">
        ${points.map(
          (p, i) => html`
            <${Tag} which=${"ab"[i]} />
            <b class=${"w " + look(p?.verdict)}>${start.verdicts[p?.verdict]?.word ?? "…"}</b>
          `,
        )}
        <output>${task.size} = ${number(s.n)}</output>
      </div>
    </div>
  `;
}
begin().then((start) => {
  const app = document.getElementById("app");
  app.replaceChildren();
  render(
    html`<${App} start=${start} />`,
    app,
  );
});
