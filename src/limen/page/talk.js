// The proof as a conversation, message by message; and two inputs after which everybody is told the same.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { Answered, Command, Lines, number, useWidth } from "./draw.js";
import { useAnswer } from "./ask.js";

const sum = (messages, f) => messages.reduce((all, m) => all + (m[f] ?? 0), 0);

export function Conversation({ start, s, set }) {
  const [asked, setAsked] = useState(start.talk);
  const answer = useAnswer("protocol", asked, start.unknown);
  return html`
    <div>
      <${Question} asked=${asked} put=${setAsked} />
      <${Answered} answer=${answer} says=${start.says.before}>
        ${
          answer.report?.messages &&
          html`
            <${Replay}
              talk=${answer.report}
              lines=${answer.says.messages}
              key=${answer.command}
              step=${s.step}
              set=${set}
            />
          `
        }
        <details>
          <summary>The whole conversation in words</summary>
          <${Lines} answer=${answer} />
        </details>
        <${Command} text=${answer.command} />
      <//>
    </div>
  `;
}

const Question = ({ asked, put }) => html`
  <form
    class="form"
    onSubmit=${(e) => {
      e.preventDefault();
      const f = new FormData(e.target);
      put({ ...asked, task: f.get("task").trim(), architecture: f.get("architecture").trim() });
    }}
  >
    <label class="wide">
      task
      <input name="task" class="mono" defaultValue=${asked.task} spellcheck="false" />
    </label>
    <label class="wide">
      stack, with random weights
      <input name="architecture" class="mono" defaultValue=${asked.architecture} spellcheck="false" />
    </label>
    <button class="go">Run</button>
  </form>
`;

function Replay({ talk, lines, step, set }) {
  const M = talk.messages;
  const P = talk.players;
  const at = Math.min(M.length, step ?? 0);
  const [playing, play] = useState(false);
  const [box, width] = useWidth(900);
  const go = (i) => set({ step: Math.max(0, Math.min(M.length, i)) });
  useEffect(() => {
    if (!playing) return;
    if (at >= M.length) return play(false);
    const t = setTimeout(() => go(at + 1), 1100);
    return () => clearTimeout(t);
  }, [playing, at]);
  const key = (e) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: M.length }[e.key];
    if (to === undefined || e.target.tagName === "INPUT") return;
    e.preventDefault();
    play(false);
    go(to);
  };
  const W = Math.max(width, 300);
  const base = 176;
  const r = W < 520 ? 22 : 28;
  const gap = P.length > 1 ? (W - 4 * r) / (P.length - 1) : 0;
  const X = Object.fromEntries(P.map((p, i) => [p.name, 2 * r + i * gap]));
  const now = at ? M[at - 1] : null;
  const told = M.slice(0, at);
  const drawn = now ? told : M; // before the first message all of them, faintly: what is to come
  const scene = now ? told.filter((m) => m.layer === now.layer) : M;
  const heardBy = (p, messages) => messages.filter((m) => m.receiver === p.name);
  const most = Math.max(...P.map((p) => sum(heardBy(p, M), "bits")), 1);
  const lift = (m) => Math.min(120, 40 + Math.abs(X[m.receiver] - X[m.sender]) * 0.22);
  const arc = (m) => {
    const a = X[m.sender];
    const b = X[m.receiver];
    return `M${a} ${base - r - 4}C${a} ${base - r - lift(m)} ${b} ${base - r - lift(m)} ${b} ${base - r - 6}`;
  };
  const bits = sum(told, "bits");
  const allowed = sum(told, "bits_formula");
  const all = Math.max(talk.bits_formula, talk.bits_measured, 1);
  return html`
    <div class="replay" onKeyDown=${key} tabindex="0" role="group" aria-label="Replay; arrow keys step">
      <div ref=${box}>
        <svg
          class=${now ? "" : "ahead"}
          viewBox=${`0 0 ${W} 350`}
          height="350"
          role="img"
          aria-label=${lines[at]}
        >
          <defs>
            <marker
              id="to"
              viewBox="0 0 10 10"
              refX="8"
              refY="5"
              markerWidth="7"
              markerHeight="7"
              orient="auto-start-reverse"
            >
              <path d="M0 0L10 5L0 10z" fill="context-stroke" />
            </marker>
          </defs>
          <line class="rail" x1=${r} x2=${W - r} y1=${base} y2=${base} />
          ${scene.map(
            (m, i) => html`
              <path
                key=${m.layer + "-" + i}
                class=${"arc " + m.what + (m === now ? " now" : "")}
                d=${arc(m)}
                marker-end="url(#to)"
                stroke-width=${1.5 + Math.log2(1 + m.bits) / 4}
              />
            `,
          )}
          ${
            now &&
            html`
              <g
                class="bubble"
                transform=${`translate(${(X[now.sender] + X[now.receiver]) / 2} ${base - r - lift(now) * 0.78})`}
              >
                <rect x="-46" y="-14" width="92" height="26" rx="13" />
                <text y="4" text-anchor="middle">${number(now.bits)} bits</text>
              </g>
            `
          }
          ${P.map((p) => {
            const heard = heardBy(p, drawn);
            let y = 0;
            return html`
              <g
                transform=${`translate(${X[p.name]} ${base})`}
                class=${`who ${now?.sender === p.name ? "speaks" : now?.receiver === p.name ? "hears" : ""}`}
              >
                <circle r=${r} />
                <text y="5" text-anchor="middle" class="name">${p.name}</text>
                <text y=${r + 17} text-anchor="middle">${p.tokens} tok.</text>
                ${heard.map((m) => {
                  const h = Math.max(2.5, (m.bits / most) * 84);
                  y += h;
                  return html`
                    <rect class=${"pile " + m.what} x=${-r} width=${2 * r} y=${140 - y} height=${h - 1} rx="2">
                      <title>${m.sender}: ${number(m.bits)} bits</title>
                    </rect>
                  `;
                })}
                <text y="158" text-anchor="middle">${now && heard.length ? number(sum(heard, "bits")) : ""}</text>
              </g>
            `;
          })}
        </svg>
      </div>
      <p class="now" aria-live="polite">${lines[at]}</p>
      <div class="gauge" role="img" aria-label=${`${number(bits)} bits of ${number(talk.bits_formula)}`}>
        <i class="allowed" style=${{ width: (100 * allowed) / all + "%" }}></i>
        <i class="told" style=${{ width: (100 * bits) / all + "%" }}></i>
      </div>
      <div class="key">
        <span>
          <b>${number(bits)}</b> bits sent
        </span>
        <span>${number(allowed)} allowed so far</span>
        <span class="end">${number(talk.bits_formula)} by the theorem's formula</span>
      </div>
      <div class="buttons">
        <button
          class="quiet"
          disabled=${!at}
          onClick=${() => {
            play(false);
            go(at - 1);
          }}
        >
          ← Back
        </button>
        <button
          class="go"
          onClick=${() => {
            if (at >= M.length) go(0);
            play(!playing);
          }}
        >
          ${playing ? "Pause" : at >= M.length ? "Again" : "Play"}
        </button>
        <button
          class="quiet"
          disabled=${at >= M.length}
          onClick=${() => {
            play(false);
            go(at + 1);
          }}
        >
          Step →
        </button>
        <input
          type="range"
          aria-label="Message"
          aria-valuetext=${lines[at]}
          min="0"
          max=${M.length}
          value=${at}
          onInput=${(e) => {
            play(false);
            go(+e.target.value);
          }}
        />
        <output>${at} / ${M.length}</output>
      </div>
    </div>
  `;
}

export function Pair({ start }) {
  const [asked, setAsked] = useState(start.pair);
  const answer = useAnswer("protocol", asked, start.unknown);
  const r = answer.report;
  const steps = r?.levels ? r.steps.filter((s) => s.level === r.levels.at(-1)?.level) : [];
  const c = r?.certificate;
  const first = steps[0]?.before;
  return html`
    <div>
      <${Question} asked=${asked} put=${setAsked} />
      <${Answered} answer=${answer} says=${start.says.before}>
        ${
          steps.length > 0 &&
          html`
            <div class="sieve">
              ${[
                { after: first, says: answer.says.first },
                ...steps.map((s, i) => ({ ...s, says: answer.says.steps[i] })),
              ].map(
                (s) => html`
                  <div>
                    <b>${number(s.after)}</b>
                    <i
                      class=${s.what ?? ""}
                      style=${{ width: Math.max(1.5, (100 * Math.log2(s.after + 1)) / Math.log2(first + 1)) + "%" }}
                    ></i>
                    <span>${s.says}</span>
                  </div>
                `,
              )}
            </div>
          `
        }
        ${
          c &&
          html`
            <div class="inputs">
              ${[
                [c.left, c.right, 0],
                [c.right, c.left, 1],
              ].map(
                ([own, other, i]) => html`
                  <div class="row">
                    <span class="who">${"AB"[i]}</span>
                    ${[...own, ...c.suffix].map(
                      (v, j) => html`
                        <i class=${j < own.length && v !== other[j] ? "differs" : j >= own.length ? "same" : ""}>
                          ${v}
                        </i>
                      `,
                    )}
                    <em>
                      right: <b>${r.pair[i].answer}</b>
                    </em>
                  </div>
                `,
              )}
            </div>
            <p class="now">${answer.says?.end}</p>
          `
        }
        <details>
          <summary>The proof, run, in words</summary>
          <${Lines} answer=${answer} />
        </details>
        <${Command} text=${answer.command} />
      <//>
    </div>
  `;
}
