// -- Questions before answers -----------------------------------------------------------------------------------------

const NEAR = 24, FAR = 600; // the number of questions among which an open one is looked for, as in the stepper

const A = { on: false, everywhere: false, answers: new Map(), skipped: new Set(), typed: new Map(), done: new Set(), passed: new Set(), open: null, armed: false, enterIsDue: false };

/** Return whether a question is still open. */
function isOpen(asked) {
  if (A.answers.has(asked.reveals)) return false;
  return A.everywhere ? !A.done.has(asked.topic) && !A.skipped.has(asked.topic) : !A.skipped.has(asked.reveals);
}

/** The questions after a step; in a lesson only those that it asks. */
function behindStep(step) {
  const found = D.questions.asked.slice(behind(D.questions.reveals, step));
  if (A.everywhere || !D.lesson) return found;
  const asks = new Set(D.lesson.filter((place) => place.asks).map((place) => place.step));
  return found.filter((asked) => asks.has(asked.reveals));
}

/** The first question that a move would answer; null if it would answer none. */
function onTheWay(from, to) {
  if (!A.on || to <= from) return null;
  const outer = (asked) => asked.outer || asked.reveals === to || !A.everywhere;
  return behindStep(from).slice(0, FAR).find((asked) => hides(asked, to) && outer(asked) && isOpen(asked)) ?? null;
}

/** The next question. Steps from its answer on are hidden. */
function ahead() {
  if (!A.on) return null;
  const found = behindStep(S.at);
  return found.slice(0, NEAR).find(isOpen) ?? found.slice(0, FAR).find((asked) => asked.outer && isOpen(asked)) ?? null;
}

const hides = (asked, step) => asked !== null && step >= asked.hides;

function score() {
  const right = [...A.answers].filter(([step, choice]) => question(step).right === choice).length;
  const skipped = A.passed.size ? `${A.passed.size} skipped` : "";
  return [A.answers.size ? `${right} of ${A.answers.size} right` : "", skipped].filter(Boolean).join(", ");
}

/** The text after the last place of a lesson. */
const lessonEnd = () => D.remarks.lesson_end.replace("SCORE", score() && ` Your answers: ${score()}.`);

const question = (step) => D.questions.asked[behind(D.questions.reveals, step) - 1];

function predict() {
  A.on = A.everywhere = !(A.on && A.everywhere);
  if (A.on && !ahead()) S.note = words(D.questions.none, "hint");
  if (!A.on) closeQuestion();
}

function ask(asked) {
  Object.assign(A, { open: asked, armed: false });
  const title = made("h2");
  title.append(...prose(asked.question));
  title.id = "asked";
  const choices = asked.choices.map((choice, at) => {
    const found = made("button", "choice");
    found.type = "button";
    found.append(made("kbd", "", `${at + 1}`), " ", ...prose(choice));
    found.addEventListener("click", () => answer(at));
    return found;
  });
  const skip = made("button", "", D.remarks.skip[asked.choices.length ? 0 : 1]);
  skip.type = "button";
  skip.addEventListener("click", () => answer(-1));
  const answers = choices.length ? choices : [typedAnswer(asked)];
  element("question").replaceChildren(title, ...asked.known.map((each) => made("p", "r-dim", text(each))), ...answers, skip);
  element("question").hidden = false;
  element("typed")?.focus();
}

/** A text with its code, which is in backticks. */
const prose = (number) => text(number).split(/\x60([^\x60]+)\x60/).map((part, at) => drawnSpan([part, at % 2 ? "keycap" : ""]));

/** The field for an answer that the reader types. */
function typedAnswer(asked) {
  const form = made("form"), input = made("input"), send = made("button", "", "Answer");
  Object.assign(input, { id: "typed", autocomplete: "off" });
  input.setAttribute("aria-labelledby", "asked");
  form.append(input, " ", send);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const typed = input.value.trim();
    if (!typed) return;
    A.typed.set(asked.reveals, typed);
    answer(normal(typed) === asked.accepts ? 0 : 1);
    element("list").focus({ preventScroll: true });
  });
  return form;
}

/** A text without the differences that do not count, as `typed_answers.py` makes it. */
function normal(typed) {
  const plain = typed.toLowerCase().replace(/[\s\x22\x27\x60]/g, "").replaceAll("(", "[").replaceAll(")", "]")
    .replace(/^(?:torch\.size|tensor)?\[+(.*?)\]+$/, "$1").replace(/(\.\d*?)0+(?!\d)/g, "$1").replace(/\.(?!\w)/g, "");
  return { true: "yes", false: "no" }[plain] ?? plain;
}

/** The verdict on a choice; -1 is no answer. */
function verdict(asked, choice) {
  const found = line(asked.verdicts.at(choice)), typed = A.typed.get(asked.reveals);
  return typed === undefined ? found : { ...found, spans: found.spans.map(([text, role]) => [text.replace("TYPED", () => typed), role]) };
}

/** Reveal the answer at the second press of a clicker. */
function reveals() {
  if (A.armed) return answer(-1);
  A.armed = true;
  element("asked").append(` (${D.remarks.again})`);
}

/** Go to the step that reveals the answer, and show the verdict; -1 is no answer. */
function answer(choice) {
  const asked = A.open;
  closeQuestion();
  if (choice < 0) {
    A.skipped.add(asked.reveals).add(asked.topic);
    A.passed.add(asked.reveals);
  } else {
    A.answers.set(asked.reveals, choice);
    A.passed.delete(asked.reveals);
  }
  if (choice === asked.right) A.done.add(asked.topic);
  S.past.push(S.at);
  setAt(asked.reveals);
  S.note = verdict(asked, choice);
  render();
}

function closeQuestion() {
  A.open = null;
  element("question").hidden = true;
}

/** The verdict on the answer to a step, while questions are asked; null if there was none. */
function guessed() {
  return A.on && A.answers.has(S.at) ? verdict(question(S.at), A.answers.get(S.at)) : null;
}

// -- Hiding of answers ------------------------------------------------------------------------------------------------

const CELL = 3, ENGINE = 9, TABLE = 12;

/** Return whether a pane would reveal the answer to the next question. */
function wouldReveal(pane, asked) {
  if (!asked) return false;
  if (pane === ENGINE) return asked.next;
  if (pane === SOURCE_PANE) return S.at >= asked.line;
  if (pane !== CELL && pane !== TABLE) return false;
  const call = [S.at, ...around(S.at)].find((step) => kind(step).name === "Dispatched");
  return hides(asked, call + D.questions.cells.get(call)); // without a call or a cell this is NaN, which is never hidden
}

/** Return whether a row leads to a hidden step, or says that there is none. */
function rowWouldReveal(asked, row) {
  return asked !== null && (row.goto < 0 ? D.questions.none_later.some((end) => plain(row).endsWith(end)) : hides(asked, row.goto));
}

const sentenceWouldReveal = (asked) => asked !== null && ((asked.next && kind(S.at).name === "NodeQueued") || asked.telling?.includes(S.at));
