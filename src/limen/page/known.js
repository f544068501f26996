// The whole table; a cell opens its evidence in its place.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { Exact, ask, live, WAY } from "./ask.js";
import { Bars, Command, Copy, MARK, look } from "./draw.js";
import { useRoving } from "./roving.js";

// The columns one after another, once the first screen stands; a cell is drawn as soon as it is known.
// `failed` has what was said of a column that did not come; `again` asks for these once more.
export function useTable(start, ready) {
  const [table, setTable] = useState({ cells: {}, certificates: {}, failed: {} });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!ready) return;
    const left = turn ? Object.keys(table.failed) : start.columns.map((c) => c.column);
    const next = async () => {
      const column = left.shift();
      if (!column) return;
      const got = await ask("table", { columns: [column] }, { unknown: start.unknown }).catch((e) => ({
        error: String(e),
      }));
      setTable((old) =>
        got.error
          ? { ...old, failed: got.unknown ? old.failed : { ...old.failed, [column]: got.error } }
          : {
              failed: Object.fromEntries(Object.entries(old.failed).filter(([c]) => c !== column)),
              certificates: { ...old.certificates, ...got.says.certificates },
              cells: {
                ...old.cells,
                ...Object.fromEntries(
                  got.report.rows.flatMap((r) =>
                    r.cells.map((c) => [`${r.row}/${c.column}`, { ...c, ...r, cells: undefined }]),
                  ),
                ),
              },
            },
      );
      return next();
    };
    next();
  }, [ready, turn]);
  return { ...table, again: () => setTurn(turn + 1) };
}

const WAIT = html`<i class="wait"></i>`;
const COQ = "∎";
function Cell({ x, r, c, open, stop }) {
  const proved = x.mark === COQ;
  return html`
    <button
      id=${`at-${r.row}-${c.column}`}
      class=${`c-${x.verdict}${proved ? " coq" : ""}`}
      aria-label=${`${r.name}, ${c.title}: ${x.badge}${proved ? ", proved in Coq" : ""}`}
      onClick=${() => open(r.row, c.column)}
      ...${stop}
    >
      ${MARK[x.verdict]}${x.mark && !proved && html`<sup>${x.mark}</sup>`}
    </button>
  `;
}

export function Known({ start, table, s, set, task }) {
  const whole = s.whole ?? false;
  const cells = Object.values(table.cells);
  const count = (v) => cells.filter((c) => c.verdict === v && !start.marks[c.mark]).length;
  const marked = (m) => cells.filter((c) => c.mark === m).length;
  const columns = start.columns.filter((c) => WAY === "serve" || cells.some((x) => x.column === c.column));
  const rows = start.rows.filter((r) => WAY === "serve" || cells.some((x) => x.row === r.row));
  const shown = columns.some((c) => c.column === task.id) ? task.id : columns[0]?.column;
  const missing = cells.length < rows.length * columns.length;
  const open = (row, column) => set({ cell: `${row}/${column}` });
  const known = (row, column) => table.cells[`${row}/${column}`];
  const over = (all) => rows.flatMap((r) => all.filter((c) => known(r.row, c)).map((c) => [r.row, c]));
  const stack = rows.find((r) => r.architecture === s.a) ?? rows[0];
  const left = s.left?.split("/"); // the cell whose evidence was closed
  const grid = useRoving(over(columns.map((c) => c.column)), left ?? [stack?.row, shown]);
  const list = useRoving(over([shown]), left ?? [stack?.row, shown]);
  return html`
    <section class="card known" aria-label="What is known">
      <div class="head">
        <h2>What is known</h2>
        <small>
          ${rows.length} stacks × ${columns.length} tasks${missing ? `, ${cells.length} cells so far` : ""}
        </small>
        <button class="quiet narrow" aria-pressed=${whole} onClick=${() => set({ whole: !whole })}>
          ${whole ? "One task" : "Whole table"}
        </button>
      </div>
      ${Object.keys(table.failed).length > 0 &&
      html`
        <p class="failed" role="status">
          ${start.columns
            .filter((c) => table.failed[c.column])
            .map((c) => `${c.title}: ${table.failed[c.column]}. `)}
          <button class="quiet" onClick=${table.again}>Ask again</button>
        </p>
      `}
      <div class=${"scroll" + (whole ? " whole" : "")}>
        <table role="grid" aria-label="Stacks by tasks" ...${grid.on}>
          <thead>
            <tr>
              <th scope="col"><span class="vh">Stack</span></th>
              ${columns.map(
                (c) => html`
                  <th scope="col" class=${c.column === task.id ? "on" : ""} title=${c.asks}>
                    <span>${c.title}</span>
                  </th>
                `,
              )}
            </tr>
          </thead>
          <tbody>
            ${rows.map(
              (r) => html`
                <tr>
                  <th
                    scope="row"
                    title=${r.architecture}
                    class=${r.architecture === s.a || r.architecture === s.b ? "on" : ""}
                  >
                    ${r.name}
                  </th>
                  ${columns.map((c) => {
                    const x = known(r.row, c.column);
                    const stop = grid.stop(r.row, c.column);
                    return html`<td>
                      ${x ? html`<${Cell} x=${x} r=${r} c=${c} open=${open} stop=${stop} />` : WAIT}
                    </td>`;
                  })}
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
      <div class=${"list" + (whole ? " whole" : "")}>
        <p class="which">${columns.find((c) => c.column === shown)?.asks}</p>
        <div role="grid" aria-label="Stacks on one task" ...${list.on}>
          ${rows.map((r) => {
            const x = known(r.row, shown);
            return html`
              <div role="row">
                <div role="gridcell">
                  ${
                    x
                      ? html`
                          <button
                            id=${"in-" + r.row + "-" + shown}
                            onClick=${() => open(r.row, shown)}
                            ...${list.stop(r.row, shown)}
                          >
                            <em class=${"c-" + x.verdict}>${MARK[x.verdict]}</em>
                            <span>${r.name}</span>
                            <small>${x.badge}</small>
                          </button>
                        `
                      : html`<span class="wait"></span>`
                  }
                </div>
              </div>
            `;
          })}
        </div>
      </div>
      <div class="legend">
        <span>
          <em class="c-can">${MARK.can}</em>
          ${missing ? "" : count("can")} can
        </span>
        <span>
          <em class="c-cannot">${MARK.cannot}</em>
          ${missing ? "" : count("cannot")} cannot
        </span>
        <span>
          <em class="c-cannot coq">${MARK.cannot}</em>
          proved in Coq
        </span>
        <span>
          <em class="c-open">${MARK.open}</em>
          ${missing ? "" : count("open")} open
        </span>
        ${Object.keys(start.marks).map(
          (m) =>
            marked(m) > 0 &&
            html`
              <span>
                <b>${m}</b>
                ${marked(m)} ${start.marks[m]}
              </span>
            `,
        )}
      </div>
    </section>
  `;
}

export function Twin({ pair }) {
  const ends = pair.players.reduce((all, p) => [...all, (all.at(-1) ?? 0) + p], []);
  const row = (x, other, answer) => html`
    <div>
      ${x.map(
        (t, i) => html`
          <s class=${t !== other[i] ? "d" : ""}>${t}</s>
          ${
            ends.includes(i + 1) &&
            i + 1 < x.length &&
            html`<s class="bar">|</s>`
          }
        `,
      )}
      <em>
        right: <b>${answer}</b>
      </em>
    </div>
  `;
  return html`
    <div class="twin" tabindex="0" role="group" aria-label="Two inputs">
      ${row(pair.left, pair.right, pair.answers[0])}${row(pair.right, pair.left, pair.answers[1])}
      <p>${pair.says}</p>
    </div>
  `;
}

export function Evidence({ start, table, s, set }) {
  const [row, column] = s.cell.split("/");
  const x = table.cells[s.cell];
  const col = start.columns.find((c) => c.column === column);
  const ref = useRef();
  const shut = () => {
    set({ cell: null, left: s.cell });
    requestAnimationFrame(() => {
      for (const at of ["in", "at"]) document.getElementById(`${at}-${row}-${column}`)?.focus();
    });
  };
  useEffect(() => {
    ref.current?.focus({ preventScroll: true });
  }, [s.cell]);
  if (!x)
    return html`
      <section class="card ev">
        <button class="close" ref=${ref} aria-label="Back to the table" onClick=${shut}>×</button>
        <p>${table.failed[column] ?? "…"}</p>
      </section>
    `;
  const asked = start.tasks.some((t) => t.id === column) ? column : s.task;
  const pairs = x.evidence.filter((e) => e.pair);
  return html`
    <section
      class="card ev"
      role="dialog"
      aria-label=${`Evidence: ${x.name}, ${col.title}`}
      onKeyDown=${(e) => e.key === "Escape" && shut()}
    >
      <button class="close" ref=${ref} aria-label="Back to the table" onClick=${shut}>×</button>
      <span class=${"badge c-" + x.verdict}>${x.badge}</span>
      <h2>${x.name} × ${col.title}</h2>
      <p class="sub">
        ${col.asks} <code>${x.task}</code>
        , ${x.tokens}
      </p>
      ${x.statement && html`<blockquote>${x.statement}</blockquote>`}${x.why && html`<p class="why">${x.why}</p>`}
      ${
        x.needs != null &&
        x.has != null &&
        html`<div class=${look(x.verdict)}><${Bars} needs=${x.needs} has=${x.has} /></div>`
      }
      ${
        pairs.length > 0 &&
        html`<h3>Two inputs that a small model of this kind, with random weights, cannot tell apart</h3>`
      }${pairs.map((e) => html`<${Twin} pair=${e.pair} />`)}
      <dl class="facts">
        ${x.lines.map(
          ([word, says]) => html`
            <dt class=${word.startsWith("Measured") ? "measured" : ""}>${word}</dt>
            <dd>${says}</dd>
          `,
        )}
      </dl>
      <h3>${x.evidence.length} ${x.evidence.length === 1 ? "certificate" : "certificates"}</h3>
      <ul class="certs">
        ${x.evidence.map(
          (e) => html`<${Certificate} e=${e} text=${table.certificates[e.file]} start=${start} />`,
        )}
      </ul>
      <div class="go">
        <button onClick=${() => set({ a: x.architecture, cell: null, task: asked })}>Ask it of this stack</button>
        <${Copy} text=${x.command} />
      </div>
      <${Command} text=${x.command} />
    </section>
  `;
}

function Certificate({ e, text, start }) {
  const [said, setSaid] = useState(null);
  const check = () => {
    setSaid({ lines: ["…"] });
    ask("check", { certificate: new Exact(text) }, { unknown: start.unknown }).then(setSaid);
  };
  const save = () => {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    a.download = e.file.replaceAll("/", "-");
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  };
  return html`
    <li>
      <span>
        <b>${e.kind}</b> ${e.says}${
          said &&
          html`<output class=${said.error ? "failed" : "held"}>${said.error ?? said.lines.join(" ")}</output>`
        }
      </span>
      <span class="acts">
        ${
          e.kernel &&
          live &&
          html`<button class="quiet" onClick=${check}>Check again</button>`
        }
        <button class="quiet" onClick=${save}>Save</button>
        <${Copy} text=${e.command} label="Copy" />
      </span>
    </li>
  `;
}
