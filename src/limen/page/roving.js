// Many buttons as one stop of Tab: the arrow keys, Home and End go between them, as in a grid.
import { useRef, useState } from "./vendor/htm-preact.js";

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const same = ([r, c], [row, column]) => r === row && c === column;

// Where a key leads; places that hold nothing are passed over. `cells` are [row, column], row by row.
// Home and End: of the row, or of all where Ctrl is held or the row has no other.
function led(cells, [row, column], { key, ctrlKey }) {
  if (key === "Home" || key === "End") {
    const own = cells.filter(([r]) => r === row);
    return (ctrlKey || own.length === 1 ? cells : own).at(key === "Home" ? 0 : -1);
  }
  const step = STEPS[key];
  if (!step) return null;
  const line = cells.filter(([r, c]) => (step[0] ? c === column : r === row));
  return line[line.findIndex((cell) => same(cell, [row, column])) + step[0] + step[1]];
}

// `on` belongs to the element around them; `stop(row, column)` to the button there.
// `wanted` is where Tab leads first, if it is there.
export function useRoving(cells, wanted) {
  const box = useRef();
  const [at, setAt] = useState(null);
  const now = cells.find((cell) => same(cell, at ?? wanted)) ?? cells[0];
  const place = (e) => e.target.closest("[data-cell]")?.dataset.cell;
  const cell = (e) => !e.target.closest(".pop") && cells.find((one) => one.join("/") === place(e));
  return {
    on: {
      ref: box,
      onFocusCapture: (e) => cell(e) && setAt(cell(e)),
      onKeyDown: (e) => {
        const from = cell(e);
        const to = from && !e.defaultPrevented && !e.shiftKey && !e.altKey && !e.metaKey && led(cells, from, e);
        if (!to) return;
        e.preventDefault();
        box.current.querySelector(`[data-cell="${to.join("/")}"]`)?.focus();
      },
    },
    stop: (row, column) => ({
      "data-cell": `${row}/${column}`,
      tabindex: now && same(now, [row, column]) ? 0 : -1,
    }),
  };
}
