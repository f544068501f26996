// The panels below the first screen, each one element; each says its command.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { Exact, ask, sized, useAnswer } from "./ask.js";
import { Answered, Command, Failed, Lines, MARK, Picture, bytes, number, percent, short, useWidth } from "./draw.js";
import { Attention } from "./attention.js";
import { Fooled, Input } from "./fooled.js";
import { Conversation, Pair } from "./talk.js";

// Buttons that put a stack where the first screen asks about it.
const Place = ({ text, set }) => html`
  <button class="quiet" onClick=${() => set({ a: text })}>Put it in A</button>${" "}
  <button class="quiet" onClick=${() => set({ b: text })}>Put it in B</button>
`;

// The stacks that were found, with the numbers of the picture.
function Found({ stacks, set }) {
  const [at, setAt] = useState(0);
  const stack = stacks[Math.min(at, stacks.length - 1)];
  return html`
    <p class="acts">
      <label>
        Stack${" "}
        <select class="quiet" onChange=${(e) => setAt(+e.target.value)}>
          ${stacks.map(
            (one, i) => html`<option value=${i} selected=${one === stack}>${i + 1}: ${one.strip}</option>`,
          )}
        </select>
      </label>
      <code>${stack.architecture}</code> <${Place} text=${stack.architecture} set=${set} />
    </p>
  `;
}

function Design({ start, set }) {
  const [asked, setAsked] = useState(start.wish);
  const answer = useAnswer("design", asked, start.unknown);
  const send = (e) => {
    e.preventDefault();
    const f = new FormData(e.target);
    setAsked({
      tasks: f
        .get("tasks")
        .split(";")
        .map((t) => t.trim())
        .filter(Boolean),
      ...Object.fromEntries(["context", "layers", "width"].map((k) => [k, sized(f.get(k).trim())])),
    });
  };
  return html`
    <div>
      <form class="form" onSubmit=${send}>
        <label class="wide">
          tasks that it must do, with ; between them
          <input name="tasks" class="mono" defaultValue=${asked.tasks.join("; ")} spellcheck="false" />
        </label>
        ${["context", "layers", "width"].map(
          (k) => html`
            <label>
              ${k}
              <input name=${k} inputmode="numeric" required defaultValue=${asked[k]} />
            </label>
          `,
        )}
        <button class="go">Search</button>
      </form>
      <${Answered} answer=${answer} says=${start.says.before}>
        <${Picture} answer=${answer} says="Stacks by what they keep and what they compute" />
        ${answer.report?.front.length > 0 && html`<${Found} stacks=${answer.report.front} set=${set} />`}
        <${Lines} answer=${answer} />
        <${Command} text=${answer.command} />
      <//>
    </div>
  `;
}

function Compare({ start, s }) {
  const answer = useAnswer("compare", { architectures: [s.a, s.b] }, start.unknown);
  const r = answer.report;
  return html`
    <div>
      <p class="lead">${start.says.compare}</p>
      <${Answered} answer=${answer} says=${start.says.before}>
        ${
          r &&
          html`
            <table class="plain">
              <thead>
                <tr>
                  <th scope="col">${number(r.context)} tokens</th>
                  <th scope="col">A</th>
                  <th scope="col">B</th>
                </tr>
              </thead>
              <tbody>
                ${[
                  ["layers", (x) => x.layers],
                  ["keep every token", (x) => x.full_layers],
                  ["keys and values", (x) => bytes(+x.growing_bytes)],
                  ["state of fixed size", (x) => bytes(+x.fixed_bytes)],
                  ["hops in one pass", (x) => x.hops],
                  ["hops for each thinking token", (x) => x.hops_per_step],
                ].map(
                  ([word, of]) => html`
                    <tr>
                      <th scope="row">${word}</th>
                      ${r.stacks.map((x) => html`<td>${of(x)}</td>`)}
                    </tr>
                  `,
                )}
                ${r.tasks.map(
                  (t) => html`
                    <tr>
                      <th scope="row">
                        <code>${t.task}</code>
                        ${t.tokens !== r.context && html`<small> ${number(t.tokens)} tokens</small>`}
                      </th>
                      ${t.answers.map(
                        (x) => html`
                          <td title=${x.reason}>
                            <em class=${"c-" + x.verdict}>${MARK[x.verdict]}</em> ${start.verdicts[x.verdict].word}
                          </td>
                        `,
                      )}
                    </tr>
                  `,
                )}
              </tbody>
            </table>
          `
        }
        <details>
          <summary>In words</summary>
          <${Lines} answer=${answer} />
        </details>
        <${Command} text=${answer.command} />
      <//>
    </div>
  `;
}

function Audit({ start, s, set }) {
  const [text, setText] = useState(s.dropped?.kind === "config" ? s.dropped.text : start.config);
  const [asked, setAsked] = useState(start.audited);
  const [wrong, setWrong] = useState("");
  const [changed, setChanged] = useState(false);
  useEffect(() => {
    if (s.dropped?.kind === "config") {
      setText(s.dropped.text);
      read(s.dropped.text, asked);
    }
  }, [s.dropped]);
  const answer = useAnswer("audit", asked, start.unknown);
  const stack = answer.report?.architecture;
  const read = (config, rest) => {
    try {
      const { config: _, ...more } = rest;
      setAsked({ ...more, config: new Exact(config) });
      setWrong("");
      setChanged(false);
    } catch (e) {
      setWrong(String(e.message));
    }
  };
  const send = (e) => {
    e.preventDefault();
    const f = new FormData(e.target);
    const { config, ...rest } = Object.fromEntries([...f].map(([k, v]) => [k, v.trim()]).filter(([, v]) => v));
    read(config ?? "", rest.gpu || rest.memory ? { ...rest, brief: true } : rest);
  };
  return html`
    <div>
      <form class="form" onSubmit=${send} onInput=${() => setChanged(true)}>
        <label class="whole">
          config.json: paste it, or drop the file anywhere on the page
          <textarea
            name="config"
            class="mono"
            rows="7"
            spellcheck="false"
            value=${text}
            onInput=${(e) => setText(e.target.value)}
          ></textarea>
        </label>
        <label>
          context
          <input name="context" defaultValue=${asked.context} />
        </label>
        <label>
          sequences
          <input name="sequences" inputmode="numeric" placeholder="1" defaultValue=${asked.sequences ?? ""} />
        </label>
        <label>
          engine
          <select name="engine">
            <option value="">default</option>
            ${start.engines.map((e) => html`<option value=${e} selected=${e === asked.engine}>${e}</option>`)}
          </select>
        </label>
        <label>
          GPU
          <select name="gpu">
            <option value="">none</option>
            ${start.gpus.map((g) => html`<option value=${g} selected=${g === asked.gpu}>${g}</option>`)}
          </select>
        </label>
        <label>
          how many
          <input name="gpus" inputmode="numeric" placeholder="1" defaultValue=${asked.gpus ?? ""} />
        </label>
        <label>
          or memory of each
          <input name="memory" placeholder="80GiB" defaultValue=${asked.memory ?? ""} />
        </label>
        <label class="medium">
          weights
          <input
            name="weights_dtype"
            placeholder="as the config says, or bfloat16"
            defaultValue=${asked.weights_dtype ?? ""}
          />
        </label>
        <button class="go">Audit</button>
      </form>
      ${wrong && html`<p class="failed" role="alert">${wrong}</p>`}
      <${Answered}
        answer=${{ ...answer, pending: answer.pending || changed }}
        says=${changed ? start.says.changed : start.says.before}
      >
        ${answer.says?.fits.map(
          (line) => html`<p class=${"fits " + (line.startsWith("FITS") ? "held" : "failed")}>${line}</p>`,
        )}
        ${
          stack &&
          html`
            <p class="acts">
              It is this stack: <code>${stack}</code> <${Place} text=${stack} set=${set} />
            </p>
          `
        }
        <${Picture} answer=${answer} says="What the model keeps, and where its limits are" />
        <${Lines} answer=${answer} />
        <${Command} text=${answer.command} />
      <//>
    </div>
  `;
}

function Check({ start, s }) {
  const [text, setText] = useState("");
  const [beside, setBeside] = useState(null);
  const [answer, setAnswer] = useState({});
  const check = (content, files) => {
    setText(content);
    setBeside(files);
    setAnswer({ pending: true });
    let certificate;
    try {
      certificate = files ?? new Exact(content);
    } catch (e) {
      return setAnswer({ error: String(e.message) });
    }
    ask("check", { certificate, verbose: true }, { unknown: start.unknown }).then(setAnswer, (e) =>
      setAnswer({ error: String(e) }),
    );
  };
  useEffect(() => {
    if (s.dropped?.kind === "certificate") check(s.dropped.text, s.dropped.beside);
  }, [s.dropped]);
  return html`
    <div>
      <form
        class="form"
        onSubmit=${(e) => {
          e.preventDefault();
          check(text, beside);
        }}
      >
        <label class="whole">
          A certificate: paste it, or drop the file anywhere on the page
          <textarea
            class="mono"
            rows="8"
            spellcheck="false"
            value=${text}
            onInput=${(e) => {
              setText(e.target.value);
              setBeside(null);
            }}
            placeholder='{"schema": "limen/certificate/2", …}'
          ></textarea>
        </label>
        <button class="go" disabled=${!text.trim()}>Check it</button>
      </form>
      <p class="lead">${start.checked}</p>
      ${
        beside &&
        html`
          <p class="acts">
            ${Object.keys(beside).map((name) => html`<code>${name}</code>`)}
          </p>
        `
      }
      <${Answered} answer=${answer} says=${start.says.before}>
        ${answer.report?.seen && html`<${Input} seen=${answer.report.seen} says=${answer.says} />`}
        <${Lines} answer=${answer} />
        <${Command} text=${answer.command} />
      <//>
    </div>
  `;
}

const OUTCOME = { learned: "LEARNED", not_learned: "NOT LEARNED in this budget", no_statement: "no statement" };
function Experiments({ start, s, set }) {
  const name = s.experiment ?? "depth";
  const answer = useAnswer("experiment show", { experiment: [name] }, start.unknown);
  const one = answer.report?.experiments?.[0];
  return html`
    <div>
      <div class="form">
        <label class="wide">
          experiment
          <select onChange=${(e) => set({ experiment: e.target.value })}>
            ${start.experiments.map(
              (x) => html`<option value=${x.id} selected=${x.id === name}>${x.id}: ${x.asks}</option>`,
            )}
          </select>
        </label>
      </div>
      <${Answered} answer=${answer} says=${start.says.before}>
        ${
          one &&
          html`
            <h3>${one.title}</h3>
            <div class="dots" role="img" aria-label="Accuracy of each cell, by seed">
              ${one.cells.map(
                (c) => html`
                  <div class=${"dotrow " + c.learned}>
                    <code title=${c.cell}>${c.cell}</code>
                    <span class="rail">
                      <i
                        class="chance"
                        style=${{ left: 100 * c.chance + "%" }}
                        title=${"chance " + percent(c.chance)}
                      ></i>
                      <i
                        class="floor"
                        style=${{ left: 100 * c.floor + "%" }}
                        title=${"floor " + percent(c.floor)}
                      ></i>
                      ${c.starts[c.best_start].map(
                        (v) => html`<i class="seed" style=${{ left: 100 * v + "%" }} title=${percent(v)}></i>`,
                      )}
                    </span>
                    <b>${percent(c.mean)}</b>
                    <small>
                      ${OUTCOME[c.learned]}${
                        c.learned === "learned" && c.reached < c.seeds
                          ? ` (${c.reached} of ${c.seeds} seeds)`
                          : ""
                      }${c.provable ? ", proved impossible" : ""}
                    </small>
                  </div>
                `,
              )}
            </div>
            <div class="key">
              <span>
                <i class="seed"></i>
                a run
              </span>
              <span>
                <i class="chance"></i>
                chance
              </span>
              <span>
                <i class="floor"></i>
                floor
              </span>
              <span>${start.says.measured}</span>
            </div>
          `
        }
        <details open=${answer.report && !one}>
          <summary>${one ? "All cells, and how they were trained" : "All rows"}</summary>
          <${Lines} answer=${answer} />
        </details>
        <${Command} text=${answer.command} />
      <//>
    </div>
  `;
}

const hue = (i) => ({ "--hue": `var(--hue${1 + (i % 8)})` });
function Pictures({ start }) {
  const answer = useAnswer("demo pictures", {}, start.unknown);
  const r = answer.report;
  const [task, setTask] = useState(null);
  const [box, w] = useWidth(860);
  if (!r)
    return html`
      <div ref=${box}>
        <${Answered} answer=${answer} />
      </div>
    `;
  const tasks = [...new Set(r.bits.map((p) => p.task))];
  const chosen = task ?? tasks[0];
  const points = r.bits.filter((p) => p.task === chosen);
  const rows = [...new Set(points.map((p) => p.row))];
  const L = 52;
  const R = 12;
  const top = 12;
  const H = 250;
  const x = (n) => L + ((Math.log2(n) - 4) / 21) * (w - L - R);
  const most = Math.ceil(Math.log10(Math.max(...points.flatMap((p) => [+p.needs, +p.has]))));
  const y = (b) => top + H - (Math.log10(Math.max(+b, 1)) / most) * H;
  const line = (all, f) =>
    all.map((p, i) => (i ? "L" : "M") + x(p.n).toFixed(1) + " " + y(p[f]).toFixed(1)).join("");
  const held = rows.map((row) => points.filter((p) => p.row === row));
  const needed = [...new Map(held.map((l) => [line(l, "needs"), l])).keys()];
  const groups = [...(Map.groupBy?.(held, (l) => line(l, "has")) ?? held.map((l) => [line(l, "has"), [l]]))];
  const builds = [...new Set(r.precision.map((p) => p.construction))];
  const bits = [...new Set(r.precision.map((p) => p.bits))];
  return html`
    <div>
      <h3>Bits needed, bits held</h3>
      <p class="lead">${answer.says.bits}</p>
      <div class="form">
        <label class="wide">
          task
          <select onChange=${(e) => setTask(e.target.value)}>
            ${tasks.map((t) => html`<option value=${t} selected=${t === chosen}>${t}</option>`)}
          </select>
        </label>
      </div>
      <div ref=${box} class="chart">
        <svg
          viewBox=${`0 0 ${w} ${top + H + 30}`}
          height=${top + H + 30}
          role="img"
          aria-label=${`Bits needed and held: ${chosen}`}
        >
          ${Array.from({ length: Math.floor(most / 3) + 1 }, (_, i) => 3 * i).map(
            (e) => html`
              <g>
                <line class="grid" x1=${L} x2=${w - R} y1=${y(10 ** e)} y2=${y(10 ** e)} />
                <text x=${L - 8} y=${y(10 ** e) + 4} text-anchor="end">
                  ${["1", "1 k", "1 M", "1 G", "1 T", "1 P"][e / 3]}
                </text>
              </g>
            `,
          )}
          ${[4, 8, 12, 16, 20, 24].map(
            (k) => html`<text x=${x(2 ** k)} y=${top + H + 20} text-anchor="middle">${short(2 ** k)}</text>`,
          )}
          ${needed.map((d) => html`<path class="needed" d=${d} />`)}${groups.map(
            ([d], i) => html`<path class="held" style=${hue(i)} d=${d} />`,
          )}
        </svg>
        <div class="key">
          <span>
            <i class="needed"></i>
            needed
          </span>
          ${groups.map(
            ([, all], i) => html`
              <span>
                <i class="hue" style=${hue(i)}></i>
                ${all.map((l) => l[0].row).join(", ")}
              </span>
            `,
          )}
        </div>
      </div>
      <h3>How many hops a stack can chain</h3>
      <p class="lead">${answer.says.hops}</p>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Stack</th>
            <th scope="col">Hops in one pass</th>
            <th scope="col">More per thinking token</th>
          </tr>
        </thead>
        <tbody>
          ${r.hops.map(
            (h) => html`
              <tr>
                <th scope="row">
                  <code>${h.strip}</code> ${h.stack}
                </th>
                <td>${h.hops}</td>
                <td>${h.per_step}</td>
              </tr>
            `,
          )}
        </tbody>
      </table>
      <h3>How little precision is enough</h3>
      <p class="lead">${answer.says.precision}</p>
      <div class="scroll" tabindex="0" role="region" aria-label="Accuracy by significant bits">
        <table class="heat">
          <thead>
            <tr>
              <th scope="col">significant bits</th>
              ${bits.map((b) => html`<th scope="col">${b}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${builds.map(
              (c) => html`
                <tr>
                  <th scope="row">${c}</th>
                  ${bits.map((b) => {
                    const p = r.precision.find((q) => q.construction === c && q.bits === b);
                    const right = Math.round(100 * p.accuracy);
                    return html`
                      <td class=${(p.argued ? "argued " : "") + "h" + Math.floor(right / 25)}>${right}</td>
                    `;
                  })}
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
      <${Command} text=${answer.command} />
    </div>
  `;
}

const code = (text) =>
  text.split("`").map((part, i) =>
    i % 2
      ? html`<code>${part}</code>`
      : part,
  );
const Words = ({ start }) => html`
  <dl class="words">
    ${start.glossary.map(
      ([word, meaning]) => html`
        <dt>${code(word)}</dt>
        <dd>${code(meaning)}</dd>
      `,
    )}
  </dl>
`;

export const PANELS = [
  ["design", "Design", "The cheapest stacks that no theorem rules out", Design],
  ["compare", "Compare", "Where two stacks part", Compare],
  ["audit", "Audit a config", "What a real model keeps, and whether it fits", Audit],
  ["check", "Check a certificate", "Derived again by the kernel, or run again", Check],
  [
    "conversation",
    "Proof as a conversation",
    "A model's layers as messages between players, their bits counted",
    Conversation,
  ],
  [
    "pair",
    "Two inputs, one state",
    "Two inputs that it cannot tell apart: the proof, run on a model with random weights",
    Pair,
  ],
  ["attention", "Attention", "Where written weights look on your input", Attention],
  ["fooled", "A fooled model", "An input on which a trained model is wrong", Fooled],
  [
    "experiments",
    "Experiments",
    "What training found, and what two language models answered: measurements, never proofs",
    Experiments,
  ],
  ["pictures", "Pictures", "Bits, hops, precision", Pictures],
  ["words", "Words", "What the words mean", Words],
];

export function Panels({ start, s, set }) {
  const [id, , title, Body] = PANELS.find(([name]) => name === s.panel) ?? PANELS[0];
  const tabs = useRef();
  useEffect(() => {
    const tab = document.getElementById("tab-" + id);
    const { offsetLeft, offsetWidth } = tab;
    tabs.current.scrollLeft = offsetLeft - tabs.current.offsetLeft - (tabs.current.clientWidth - offsetWidth) / 2;
  }, [id]);
  const key = (e) => {
    const i = PANELS.findIndex(([name]) => name === id);
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: PANELS.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    const next = PANELS[(to + PANELS.length) % PANELS.length][0];
    set({ panel: next });
    requestAnimationFrame(() => document.getElementById("tab-" + next)?.focus());
  };
  return html`
    <section class="card panels" id="panels" aria-label="More to ask">
      <div class="tabs" ref=${tabs} role="tablist" aria-label="More to ask" onKeyDown=${key}>
        ${PANELS.map(
          ([name, word]) => html`
            <button
              role="tab"
              id=${"tab-" + name}
              aria-selected=${name === id}
              aria-controls="panel"
              tabindex=${name === id ? 0 : -1}
              onClick=${() => set({ panel: name })}
            >
              ${word}
            </button>
          `,
        )}
      </div>
      <div id="panel" role="tabpanel" aria-labelledby=${"tab-" + id} key=${id}>
        <h2>${title}</h2>
        <${Body} start=${start} s=${s} set=${set} />
      </div>
    </section>
  `;
}
