// One n axis for four things: bits needed and held, where it stops, a square a verdict, the slider.
// Below: hops, memory.
import { html } from "./vendor/htm-preact.js";
import { Tag, bytes, look, number, rich, short, useWidth } from "./draw.js";
import { sized } from "./ask.js";
import { layersOf } from "./stack.js";

const K0 = 4;
const K1 = 26;
const BITS = ["1", "10", "100", "1 k", "10 k", "100 k", "1 M", "10 M", "100 M", "1 G", "10 G", "100 G", "1 T"];
const log2 = (n) => Math.log2(Number(n));

// The line of one theorem: that of a CANNOT if there is one, otherwise the first that speaks.
function lines(answer) {
  const points = answer.report?.points ?? [];
  const spoken = points.filter((p) => p.unit === "bits" && p.needs != null);
  const theorem = (spoken.find((p) => p.verdict === "cannot") ?? spoken.at(-1))?.theorem;
  return spoken.filter((p) => p.theorem === theorem);
}

export function Axis({ both, n, set, size, live }) {
  const [box, w] = useWidth(860);
  const phone = w < 480;
  const L = phone ? 40 : 52;
  const R = phone ? 14 : 118;
  const top = phone ? 46 : 36;
  const H = 98;
  const x = (k) => L + ((k - K0) / (K1 - K0)) * (w - L - R);
  const end = x(K1);
  const drawn = [0, 1].map((i) => lines(both[i] ?? {}));
  const all = drawn
    .flat()
    .flatMap((p) => [Number(p.needs), Number(p.has)])
    .filter((b) => b > 0)
    .map(Math.log10);
  const lo = Math.floor(Math.min(...all, 1));
  const hi = Math.max(Math.ceil(Math.max(...all, 3)), lo + 2);
  const y = (b) => top + H - ((Math.max(Math.log10(Math.max(Number(b), 1)), lo) - lo) / (hi - lo)) * H;
  const path = (points, f) =>
    points.map((p, i) => (i ? "L" : "M") + x(log2(p.size)).toFixed(1) + " " + y(p[f]).toFixed(1)).join("");
  const why = both.map((v) => v.says?.undrawn);
  const undrawn = !why.every((says, i) => says && drawn[i].length < 2)
    ? []
    : why.every((says) => says === why[0])
      ? [`${both.map((_, i) => "AB"[i]).join(", ")}: ${why[0]}`]
      : why.map((says, i) => `${"AB"[i]}: ${says}`);
  const ticks = [];
  for (let e = lo; e <= hi && !undrawn.length; e += Math.ceil((hi - lo) / 5)) ticks.push(e);
  const S = top + H + 11;
  const sh = 18;
  const gap = 5;
  const cell = x(5) - x(4);
  const under = S + both.length * (sh + gap);
  const total = under + 36;
  const at = log2(n);
  const here = at >= K0 && at <= K1;
  const K = x(at);
  const alike = path(drawn[0], "needs") === path(drawn[1], "needs");
  const stops = both.map((v) => v.report?.stops_at && log2(v.report.stops_at));
  const seen = stops.map((k) => k && k >= K0 && k <= K1);
  const taken = [];
  const label = (points, f, text, cls) => {
    if (points.length < 2) return null;
    let at = y(points.at(-1)[f]) + 4;
    while (taken.some((q) => Math.abs(q - at) < 13)) at -= 13;
    taken.push(at);
    return html`<text x=${end + 9} y=${at} class=${"strong " + cls}>${text}</text>`;
  };
  const words = both.map((v, i) => `${"AB"[i]}: ${v.says?.stops ?? "…"}`).join("; ");
  return html`
    <div class="axis">
      <div class="head">
        <h2>Where it stops</h2>
        <small>bits by ${size}, both axes logarithmic; every square is one verdict</small>
        ${
          live &&
          html`
            <label class="typed">
              ${size} =
              <input
                key=${n}
                aria-label=${`${size}, typed`}
                defaultValue=${number(n)}
                inputmode="numeric"
                onChange=${(e) => {
                  const typed = e.target.value.replace(/[\s,]/g, "");
                  if (typed) set({ n: sized(typed) });
                }}
              />
            </label>
          `
        }
      </div>
      <div class="plot" ref=${box}>
        <svg viewBox=${`0 0 ${w} ${total}`} height=${total} role="img" aria-label=${words}>
          ${ticks.map(
            (e) => html`
              <g>
                <line class="grid" x1=${L} x2=${end} y1=${y(10 ** e)} y2=${y(10 ** e)} />
                <text x=${L - 8} y=${y(10 ** e) + 4} text-anchor="end">${BITS[e] ?? "1e" + e}</text>
              </g>
            `,
          )}
          ${
            !undrawn.length &&
            html`<text x=${L - 8} y=${top - 13} text-anchor="end">bits</text>`
          }
          ${stops.map(
            (k, i) =>
              seen[i] &&
              html`<rect class="out" x=${x(k)} y=${top} width=${end - x(k)} height=${H} />`,
          )}
          ${drawn.map(
            (points, i) =>
              points.length > 1 &&
              html`
                <g class="curve">
                  <path class=${"has " + "ab"[i]} d=${path(points, "has")} />
                  ${
                    !(i && alike) &&
                    html`
                      <path
                        class=${"needs" + (i && drawn[0].length > 1 ? " second" : "")}
                        d=${path(points, "needs")}
                      />
                    `
                  }
                </g>
              `,
          )}
          ${
            !phone &&
            html`
              <g>
                ${label(drawn[0], "needs", alike || drawn[1].length < 2 ? "needed" : "A needs", "")}
                ${label(drawn[0], "has", "A holds", "a")}
                ${!alike && label(drawn[1], "needs", drawn[0].length > 1 ? "B needs" : "needed", "")}
                ${label(drawn[1], "has", "B holds", "b")}
              </g>
            `
          }
          ${both.map(
            (v, i) => html`
              <g>
                <text x=${L - 20} y=${S + i * (sh + gap) + 13} text-anchor="end" class="strong">${"AB"[i]}</text>
                ${(v.report?.points ?? [])
                  .filter((p) => Number.isInteger(log2(p.size)) && log2(p.size) >= K0 && log2(p.size) <= K1)
                  .map(
                    (p) => html`
                      <rect
                        class=${"square " + look(p.verdict) + (p.size === n ? " here" : "")}
                        x=${x(log2(p.size)) - cell / 2 + 1}
                        y=${S + i * (sh + gap)}
                        width=${Math.max(cell - 2, 2)}
                        height=${sh}
                        rx="4"
                        onClick=${() => set({ n: p.size })}
                      >
                        <title>${size} = ${number(p.size)}: ${p.verdict.toUpperCase()}</title>
                      </rect>
                    `,
                  )}
                ${
                  !phone &&
                  html`
                    <text x=${end + cell / 2 + 8} y=${S + i * (sh + gap) + 13}>
                      ${v.says && (seen[i] ? "stops" : v.report.stops_at ? "stops later" : "no stop found")}
                    </text>
                  `
                }
              </g>
            `,
          )}
          ${stops.map((k, i) => {
            if (!seen[i]) return null;
            const at = x(k);
            const late = at > w * 0.6;
            return html`
              <g class="flip">
                <line x1=${at} x2=${at} y1=${top - 6} y2=${S + i * (sh + gap) + sh} />
                <text
                  x=${late ? Math.min(at + (phone ? 8 : 30), end) : Math.max(at, L + 70)}
                  y=${top - 12 - (i === 0 && seen[1] ? 15 : 0)}
                  text-anchor=${late ? "end" : "middle"}
                >
                  ${"AB"[i]} ${both[i].says.stops}
                </text>
              </g>
            `;
          })}
          ${here && html`<line class="cursor" x1=${K} x2=${K} y1=${top} y2=${under + 6} />`}
          ${[4, 8, 12, 16, 20, 24].map(
            (k) => html`<text x=${x(k)} y=${total - 2} text-anchor="middle">${short(2 ** k)}</text>`,
          )}
          <text x=${end + 9} y=${total - 2}>${phone ? "" : size}</text>
        </svg>
        ${
          undrawn.length > 0 &&
          html`
            <div class="undrawn" style=${{ left: L + "px", width: end - L + "px", top: top + "px", height: H + "px" }}>
              ${undrawn.map((line) => html`<p>${line}</p>`)}
            </div>
          `
        }
        <input
          type="range"
          aria-label=${size}
          aria-valuetext=${number(n)}
          min=${K0}
          max=${K1}
          step="1"
          value=${at >= K0 ? Math.round(Math.min(at, K1)) : K0}
          onInput=${(e) => set({ n: 2 ** +e.target.value })}
          style=${{ left: L - 11 + "px", width: end - L + 22 + "px", top: under - 4 + "px" }}
        />
      </div>
    </div>
  `;
}

const MOST = 96; // layers that are drawn one by one
export function Hops({ both, depths, start }) {
  const kinds = Object.fromEntries(start.mixers.map((m) => [m.id, m.kind]));
  return html`
    <section class="card">
      <div class="head">
        <h2>Hops in one pass</h2>
        <small title=${depths[0].says?.weights}>${depths[0].says?.trained}</small>
      </div>
      ${both.map((v, i) => {
        const d = depths[i];
        const on = new Map((d.report?.path ?? []).map((p) => [p.layer, p.holds.replace("i_", "")]));
        const layers = v.report ? layersOf(v.report) : [];
        return html`
          <div class=${"hoprow" + (d.pending ? " stale" : "")}>
            <${Tag} which=${"ab"[i]} />
            <div
              class=${"layers" + (layers.length > 64 ? " many" : "")}
              role="img"
              aria-label=${`${layers.length} layers; hops are found in ${on.size}`}
            >
              ${layers.slice(0, MOST).map(
                (m, j) => html`
                  <i
                    class=${(m.length > 1 ? "both" : kinds[m[0]]) + (on.has(j) ? " on" : "")}
                    title=${`layer ${j}: ${m.join("|")}`}
                  >
                    ${layers.length <= 12 && on.has(j) ? on.get(j) : ""}
                  </i>
                `,
              )}
            </div>
            <p title=${d.says?.whole}>
              ${
                d.error
                  ? "–"
                  : d.says
                    ? html`
                        ${rich(`${d.says.hops} ${d.says.beyond}`)}
                      `
                    : "…"
              }
            </p>
          </div>
        `;
      })}
    </section>
  `;
}

export function Memory({ both, points, indexes }) {
  const kept = points.map((p) => ({ grow: Number(p?.growing_bytes ?? 0), fixed: Number(p?.fixed_bytes ?? 0) }));
  const most = Math.max(...kept.map((m) => m.grow + m.fixed), 1);
  const nice = [1, 1.25, 1.5, 1.75, 2]
    .map((q) => q * 2 ** Math.floor(Math.log2(most)))
    .find((q) => q >= most * 0.999);
  return html`
    <section class=${"card" + (both.some((v) => v.pending) ? " stale" : "")}>
      <h2>${both[0].says?.after[indexes[0]] ?? "Memory"}</h2>
      <div class="mem">
        ${both.map(
          (v, i) => html`
            <${Tag} which=${"ab"[i]} />
            <span class="track">
              <i class="kv" style=${{ width: (100 * (kept[i].grow + kept[i].fixed)) / nice + "%" }}></i>
              <i class="st" style=${{ width: (100 * kept[i].fixed) / nice + "%" }}></i>
            </span>
            <b>${v.error ? "–" : (v.says?.bytes[indexes[i]] ?? "…")}</b>
          `,
        )}
        <span class="ticks">
          <span>0</span>
          <span>${bytes(nice / 2)}</span>
          <span>${bytes(nice)}</span>
        </span>
      </div>
      <div class="key">
        <span>
          <i class="kv"></i>
          keys and values, grow
        </span>
        <span>
          <i class="st"></i>
          state, fixed
        </span>
      </div>
      <p class="adds">
        ${both
          .map((v, i) => v.says && `${"AB"[i]} ${v.says.memory}`)
          .filter(Boolean)
          .map((said, i) => html`${i ? "; " : ""}${rich(said)}`)}.
      </p>
    </section>
  `;
}
