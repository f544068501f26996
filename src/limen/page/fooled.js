// An input that fools a model: its tokens, the answers, and which of them matter. The words are Python's.
import { html } from "./vendor/htm-preact.js";
import { useAnswer } from "./ask.js";
import { Answered, Command, Lines } from "./draw.js";

const most = (values) => Math.max(...values.map(Math.abs)) || 1;
const share = (value, all) => (100 * Math.abs(value)) / most(all) + "%";

// Rows over the same places: the inputs, the pulls, and what a head takes. Each place is a column.
export function Input({ seen, says }) {
  const { inputs, pulls, looks } = seen;
  const [one, other] = inputs;
  const differs = (i) => other && one.tokens[i] !== other.tokens[i];
  const places = { "--places": one.tokens.length };
  return html`
    <p class="now short">${says.first}</p>
    <div class="fooled scroll" tabindex="0" role="region" aria-label="The input, place by place">
      <div class="places" style=${places}>
        ${inputs.map(
          (input, row) => html`
            <b class=${input.right === input.given ? "held" : "failed"}>${says.names[row]}</b>
            ${input.tokens.map((t, i) => html`<i class=${differs(i) ? "token differs" : "token"}>${t}</i>`)}
            <em class=${input.right === input.given ? "held" : "failed"}>${says.ends[row]}</em>
          `,
        )}
        ${pulls.length > 0 && html`<${Row} word=${says.rows.pulls} values=${pulls} places=${one.tokens} bars />`}
        ${looks.map(
          ({ mixer, layer, head, weights }) => html`
            <${Row} word=${`${mixer} ${layer + 1}.${head + 1}`} values=${weights} places=${one.tokens} />
          `,
        )}
        <small>${says.rows.place}</small>
        ${one.tokens.map((_, i) => html`<small class="place">${i}</small>`)}
        <span></span>
      </div>
    </div>
    ${[says.pulls, says.looks].filter(Boolean).map((line) => html`<p class="lead">${line}</p>`)}
  `;
}

// A bar or a shade a place: red pulls to the wrong answer, or is taken against what stands there.
function Row({ word, values, places, bars }) {
  return html`
    <small>${word}</small>
    ${places.map((_, i) => {
      const value = values[i] ?? 0;
      const against = bars ? value > 0 : value < 0;
      const size = bars ? { height: share(value, values) } : { opacity: Math.abs(value) / most(values) };
      return html`
        <span class=${bars ? "pull" : "taken"} title=${`${word}, ${i}: ${value.toPrecision(3)}`}>
          <i class=${against ? "against" : "for"} style=${size}></i>
        </span>
      `;
    })}
    <span></span>
  `;
}

export function Fooled({ start, s, set }) {
  const chosen = start.fooled.find((one) => one.model === s.model) ?? start.fooled[0];
  const { asks, ...body } = chosen;
  const answer = useAnswer("fool", body, start.unknown);
  return html`
    <div>
      <div class="form">
        <label class="wide">
          trained model
          <select onChange=${(e) => set({ model: e.target.value })}>
            ${start.fooled.map(
              (one) => html`<option value=${one.model} selected=${one === chosen}>${one.model}: ${one.asks}</option>`,
            )}
          </select>
        </label>
      </div>
      <p class="lead">${start.says.fooled}</p>
      <${Answered} answer=${answer} says=${start.says.before}>
        ${answer.report && html`<${Input} seen=${answer.report} says=${answer.says} />`}
        ${answer.says && html`<p class="lead">${answer.says.random} ${answer.report.means}</p>`}
        <details>
          <summary>In words</summary>
          <${Lines} answer=${answer} />
        </details>
        <${Command} text=${answer.command} />
      <//>
    </div>
  `;
}
