// A stack as chips: add, repeat, size, move and remove its layers; the text form says the same.
import { html, useState } from "./vendor/htm-preact.js";
import { Bars, Copy, Pop, Tag, look, rich } from "./draw.js";
import { useRoving } from "./roving.js";

const FEW = 4; // layers up to which each one is a chip of its own
const shapes = new Map(); // text -> { repeat, units }: as it was edited, or as Limen read it

const write = ({ times, layer }) => (times > 1 ? `${times}*${layer.includes("|") ? `(${layer})` : layer}` : layer);
const joined = (units) =>
  units.reduce(
    (out, u) =>
      out.length && out.at(-1).layer === u.layer
        ? [...out.slice(0, -1), { ...u, times: out.at(-1).times + u.times }]
        : [...out, { ...u }],
    [],
  );
const textOf = ({ repeat, units }) => {
  const inner = joined(units).map(write).join(",");
  return repeat > 1
    ? units.length > 1 || inner.includes("*")
      ? `${repeat}*(${inner})`
      : write({ times: repeat, layer: inner })
    : inner;
};

function folded(runs) {
  const all = runs.map(({ times, layer, mixers }) => ({ times, layer, mixers }));
  if (all.reduce((sum, u) => sum + u.times, 0) <= FEW)
    return { repeat: 1, units: all.flatMap((u) => Array.from({ length: u.times }, () => ({ ...u, times: 1 }))) };
  const same = (a, b) => a.layer === b.layer && a.times === b.times;
  for (let p = 1; p <= all.length; p++)
    if (all.length % p === 0 && all.every((u, i) => same(u, all[i % p])))
      return { repeat: all.length / p, units: all.slice(0, p) };
}
export const layersOf = (report) =>
  report.runs.flatMap((run) => Array.from({ length: Math.min(run.times, 128) }, () => run.mixers));

const sizesOf = (part) => {
  const [, name, inner = ""] = part.match(/^(\w+)(?:\((.*)\))?$/) ?? [, part];
  return {
    name,
    sizes: Object.fromEntries(
      inner
        .split(",")
        .filter(Boolean)
        .map((p) => p.split("=")),
    ),
  };
};
const written = ({ name, sizes }) => {
  const inner = Object.entries(sizes)
    .filter(([, v]) => v !== "")
    .map(([k, v]) => `${k}=${v}`)
    .join(",");
  return inner ? `${name}(${inner})` : name;
};

export function Side({ which, text, set, start, answer, point, says }) {
  const report = answer.report;
  const ready = report && !answer.pending;
  if (ready && !shapes.has(text)) shapes.set(text, folded(report.runs));
  const shape = shapes.get(text) ?? { repeat: 1, units: [] };
  const word = start.verdicts[point?.verdict];
  const kinds = Object.fromEntries(start.mixers.map((m) => [m.id, m.kind]));
  const put = (next) => {
    if (!next.units.length) return;
    const made = textOf(next);
    shapes.set(made, next);
    set({ [which]: made });
  };
  const preset = start.presets.find((p) => p.text === text);
  const groups = [...new Set(start.presets.map((p) => p.group))];
  const bits = point?.unit === "bits" && point.needs != null && point.has != null;
  return html`
    <section
      class=${"side " + which + " " + look(point?.verdict) + (answer.pending ? " stale" : "")}
      aria-label=${"Stack " + which.toUpperCase()}
      aria-busy=${answer.pending}
    >
      <div class="who">
        <${Tag} which=${which} />
        <select
          aria-label=${"Stack " + which.toUpperCase() + ": presets"}
          value=${preset ? text : ""}
          onChange=${(e) => e.target.value && set({ [which]: e.target.value })}
        >
          ${!preset && html`<option value="">Your own</option>`}
          ${groups.map(
            (g) => html`
              <optgroup label=${g}>
                ${start.presets
                  .filter((p) => p.group === g)
                  .map((p) => html`<option value=${p.text} selected=${p === preset}>${p.name}</option>`)}
              </optgroup>
            `,
          )}
        </select>
        <input
          class="text"
          key=${text}
          aria-label=${"Stack " + which.toUpperCase() + " as text"}
          spellcheck="false"
          autocapitalize="off"
          autocomplete="off"
          defaultValue=${text}
          onChange=${(e) => e.target.value.trim() && set({ [which]: e.target.value.trim() })}
        />
        <${Copy} text=${answer.command} bare />
      </div>
      <${Chips} shape=${shape} put=${put} start=${start} kinds=${kinds} which=${which} />
      ${answer.error && html`<p class="failed" role="alert">${answer.error}</p>`}
      <div class="verdict" aria-live="polite">
        <b class=${"word" + ((word?.word.length ?? 0) > 8 ? " long" : "")}>
          ${answer.error ? "–" : (word?.word ?? "…")}
        </b>
        <span>${answer.error ? "" : word?.under}</span>
      </div>
      ${
        bits &&
        !answer.error &&
        html`<${Bars} needs=${point.needs} has=${point.has} />`
      }
      ${!answer.error && html`<p class="because">${rich(says)}</p>`}
      ${
        !answer.error &&
        answer.says?.learned?.map((line) => html`<p class="because measured">${line}</p>`)
      }
      ${
        !answer.error &&
        answer.says?.exactly &&
        html`
          <p class="because exactly">${answer.says.exactly[0].toUpperCase() + answer.says.exactly.slice(1)}.</p>
        `
      }
    </section>
  `;
}

function Chips({ shape, put, start, kinds, which }) {
  const { repeat, units } = shape;
  // In a row: how often it is repeated, the chips, and +.
  const places = [...(repeat > 1 ? ["repeat"] : []), ...units.map((_, i) => `${i}`), "add"];
  const { on, stop } = useRoving(
    places.map((place) => [which, place]),
    [which, "0"],
  );
  const focus = (place) =>
    requestAnimationFrame(() => on.ref.current?.querySelector(`[data-cell="${which}/${place}"]`)?.focus());
  const [dragged, setDragged] = useState(null);
  const change = (i, more) => put({ repeat, units: units.map((u, j) => (j === i ? { ...u, ...more } : u)) });
  const remove = (i) => {
    if (units.length < 2) return;
    put({ repeat, units: units.filter((_, j) => j !== i) });
    focus(Math.min(i, units.length - 2));
  };
  const move = (from, to) => {
    if (to < 0 || to >= units.length || from === to) return;
    const rest = units.filter((_, j) => j !== from);
    rest.splice(to, 0, units[from]);
    put({ repeat, units: rest });
  };
  const add = (mixer) => put({ repeat, units: [...units, { times: 1, layer: mixer.text, mixers: [mixer.id] }] });
  const key = (i) => (e) => {
    const acts = {
      Delete: () => remove(i),
      Backspace: () => remove(i),
      "+": () => change(i, { times: units[i].times + 1 }),
      "-": () => change(i, { times: Math.max(1, units[i].times - 1) }),
    };
    if (e.shiftKey && (e.key === "ArrowLeft" || e.key === "ArrowRight"))
      acts[e.key] = () => {
        const to = i + (e.key === "ArrowLeft" ? -1 : 1);
        move(i, to);
        focus(to);
      };
    if (e.target.closest(".pop") || !acts[e.key]) return;
    e.preventDefault();
    acts[e.key]();
  };
  // Mouse and touch alike: a chip that is pulled over another takes its place.
  const grab = (i) => (e) => {
    if (e.button || e.target.closest(".pop")) return;
    const x0 = e.clientX;
    const y0 = e.clientY;
    let moved = false;
    const over = (at) => {
      const chip = document.elementFromPoint(at.clientX, at.clientY)?.closest(`[data-of="${which}"]`);
      return chip ? +chip.dataset.at : null;
    };
    const on = (at) => {
      if (Math.hypot(at.clientX - x0, at.clientY - y0) > 8) {
        moved = true;
        setDragged({ from: i, to: over(at) });
      }
    };
    const off = (at) => {
      removeEventListener("pointermove", on);
      removeEventListener("pointerup", off);
      removeEventListener("pointercancel", off);
      setDragged(null);
      if (!moved) return;
      const swallow = (c) => {
        c.stopPropagation();
        c.preventDefault();
      };
      addEventListener("click", swallow, true);
      setTimeout(() => removeEventListener("click", swallow, true), 50);
      const to = at.type === "pointerup" ? over(at) : null;
      if (to != null) move(i, to);
    };
    addEventListener("pointermove", on);
    addEventListener("pointerup", off);
    addEventListener("pointercancel", off);
  };
  return html`
    <div class="chips" role="toolbar" aria-label="Layers, from the first to the last" ...${on}>
      ${
        repeat > 1 &&
        html`
          <${Pop}
            name=${`The whole group is repeated ${repeat} times`}
            cls="repeat"
            label=${repeat + "×"}
            panel="edit"
            ...${stop(which, "repeat")}
          >
            ${() => html`
              <label>
                repeated
                <input
                  type="number"
                  min="1"
                  max="512"
                  value=${repeat}
                  onFocus=${(e) => e.target.select()}
                  onChange=${(e) => put({ repeat: Math.max(1, +e.target.value | 0), units })}
                />
              </label>
            `}
          <//>
        `
      }
      ${units.map(
        (u, i) => html`
          <span
            key=${i + u.layer}
            data-of=${which}
            data-at=${i}
            class=${dragged?.from === i ? "lifted" : dragged?.to === i ? "target" : ""}
            onKeyDown=${key(i)}
            onPointerDown=${grab(i)}
          >
            <${Pop}
              name=${`${u.times > 1 ? u.times + " × " : ""}${u.layer}: change it`}
              cls=${"chip " + (u.mixers.length > 1 ? "both" : kinds[u.mixers[0]])}
              aria-keyshortcuts="Shift+ArrowLeft Shift+ArrowRight + - Delete"
              panel="edit"
              ...${stop(which, `${i}`)}
              label=${html`
                ${u.times > 1 && html`<small>${u.times}×</small>`}${u.mixers.join(" | ").replaceAll("_", " ")}
              `}
            >
              ${(shut) => html`
                <${Editor}
                  unit=${u}
                  start=${start}
                  change=${(more) => change(i, more)}
                  remove=${() => {
                    shut();
                    remove(i);
                  }}
                  left=${
                    i > 0 &&
                    (() => {
                      shut();
                      move(i, i - 1);
                    })
                  }
                  right=${
                    i < units.length - 1 &&
                    (() => {
                      shut();
                      move(i, i + 1);
                    })
                  }
                />
              `}
            <//>
          </span>
        `,
      )}
      <${Pop} name="Add a layer" cls="add" label="+" panel="menu" ...${stop(which, "add")}>
        ${(shut) =>
          Object.entries(start.kinds).map(
            ([kind, says]) => html`
              <p>${says}</p>
              ${start.mixers.filter((m) => m.kind === kind).map((m) => html`
                <${Choice} mixer=${m} choose=${() => (shut(), add(m))} />
              `)}
            `,
          )}
      <//>
    </div>
  `;
}

const Choice = ({ mixer, choose }) => html`
  <button onClick=${choose}>
    <i class=${"dot " + mixer.kind}></i>
    <b>${mixer.id.replaceAll("_", " ")}</b>
    <small>${mixer.summary}</small>
  </button>
`;

function Editor({ unit, start, change, remove, left, right }) {
  const parts = unit.layer.split("|").map(sizesOf);
  const resize = (i, key, value) =>
    change({
      layer: parts
        .map((p, j) => written(j === i ? { name: p.name, sizes: { ...p.sizes, [key]: value } } : p))
        .join("|"),
    });
  return html`
    <div class="fields">
      <label>
        layers
        <input
          type="number"
          min="1"
          max="512"
          value=${unit.times}
          onChange=${(e) => change({ times: Math.max(1, +e.target.value | 0) })}
        />
      </label>
      ${parts.map((p, i) => {
        const known = start.mixers.find((m) => m.id === p.name)?.keys ?? [];
        const keys = [
          ...new Set([
            ...("state_bits" in p.sizes || "reply_bits" in p.sizes ? [] : known),
            ...Object.keys(p.sizes),
          ]),
        ];
        return html`
          <fieldset>
            <legend>${p.name.replaceAll("_", " ")}</legend>
            ${keys.map(
              (k) => html`
                <label>
                  ${k}
                  <input
                    defaultValue=${p.sizes[k] ?? ""}
                    placeholder="–"
                    inputmode="numeric"
                    onChange=${(e) => resize(i, k, e.target.value.trim())}
                  />
                </label>
              `,
            )}
          </fieldset>
        `;
      })}
    </div>
    <div class="acts">
      <button disabled=${!left} onClick=${left || null} aria-label="Move it towards the first layer">←</button>
      <button disabled=${!right} onClick=${right || null} aria-label="Move it towards the last layer">→</button>
      <button class="remove" onClick=${remove}>Remove</button>
    </div>
  `;
}
