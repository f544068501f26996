// Where a construction looks on an input that is typed; the picture and the words are Python's.
import { html, useState } from "./vendor/htm-preact.js";
import { useAnswer } from "./ask.js";
import { Answered, Command, Lines, Picture } from "./draw.js";

export function Attention({ start }) {
  const [asked, setAsked] = useState(start.look);
  const answer = useAnswer("look", asked, start.unknown);
  const r = answer.report;
  const send = (e) => {
    e.preventDefault();
    const f = new FormData(e.target);
    const body = { task: f.get("task").trim() };
    const tokens = f.get("tokens").trim();
    if (tokens && body.task === asked.task) body.tokens = tokens; // of another task the first input is drawn
    setAsked(body);
  };
  const typed = r && !answer.pending ? r.tokens.join(" ") : (asked.tokens ?? "");
  return html`
    <div>
      <form class="form" onSubmit=${send}>
        <label class="wide">
          task
          <input name="task" class="mono" defaultValue=${asked.task} spellcheck="false" />
        </label>
        <label class="wide">
          input, as token ids
          <input
            name="tokens"
            key=${typed}
            class="mono"
            defaultValue=${typed}
            spellcheck="false"
            inputmode="numeric"
          />
        </label>
        <button class="go">Look</button>
      </form>
      <p class="lead">${start.says.attention}</p>
      <${Answered} answer=${answer} says=${start.says.before}>
        <${Picture} answer=${answer} says=${answer.lines?.join(". ")} />
        <${Lines} answer=${answer} />
        <${Command} text=${answer.command} />
      <//>
    </div>
  `;
}
