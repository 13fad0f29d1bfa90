// -- Questions before answers -----------------------------------------------------------------------------------------

const NEAR = 24, FAR = 600; // so many questions are looked through for one that is open, as in the stepper

const A = { on: false, everywhere: false, said: new Map(), skipped: new Set(), done: new Set(), passed: new Set(), open: null, enterIsDue: false };

/** Whether a question is still to be asked. */
function isOpen(asked) {
  if (A.said.has(asked.reveals)) return false;
  return A.everywhere ? !A.done.has(asked.topic) && !A.skipped.has(asked.topic) : !A.skipped.has(asked.reveals);
}

/** The questions behind a step: of a lesson those that it asks. */
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
  return behindStep(from).slice(0, FAR).find((asked) => asked.reveals <= to && outer(asked) && isOpen(asked)) ?? null;
}

/** The question that comes next: what happens from its answer on is hidden. */
function ahead() {
  if (!A.on) return null;
  const found = behindStep(S.at);
  return found.slice(0, NEAR).find(isOpen) ?? found.slice(0, FAR).find((asked) => asked.outer && isOpen(asked)) ?? null;
}

const hides = (asked, step) => asked !== null && step >= asked.reveals;

function score() {
  const right = [...A.said].filter(([step, choice]) => question(step).right === choice).length;
  const skipped = A.passed.size ? `${A.passed.size} skipped` : "";
  return [A.said.size ? `${right} of ${A.said.size} right` : "", skipped].filter(Boolean).join(", ");
}

/** What is said behind the last place of a lesson. */
const lessonEnd = () => D.said.lesson_end.replace("SCORE", score() && ` Your answers: ${score()}.`);

const question = (step) => D.questions.asked[behind(D.questions.reveals, step) - 1];

function predict() {
  A.on = A.everywhere = !(A.on && A.everywhere);
  if (A.on && !ahead()) S.note = words(D.questions.none, "hint");
  if (!A.on) closeQuestion();
}

function ask(asked) {
  A.open = asked;
  const title = made("h2", "", text(asked.question));
  title.id = "asked";
  const choices = asked.choices.map((choice, at) => {
    const found = made("button", "choice");
    found.type = "button";
    found.append(made("kbd", "", `${at + 1}`), ` ${text(choice)}`);
    found.addEventListener("click", () => answer(at));
    return found;
  });
  const skip = made("button", "", D.said.skip);
  skip.type = "button";
  skip.addEventListener("click", () => answer(-1));
  element("question").replaceChildren(title, ...asked.known.map((each) => made("p", "r-dim", text(each))), ...choices, skip);
  element("question").hidden = false;
}

/** Goes to the step that tells the answer, and says what was right; -1 is no answer. */
function answer(choice) {
  const asked = A.open;
  closeQuestion();
  if (choice < 0) {
    A.skipped.add(asked.reveals).add(asked.topic);
    A.passed.add(asked.reveals);
  } else {
    A.said.set(asked.reveals, choice);
    A.passed.delete(asked.reveals);
  }
  if (choice === asked.right) A.done.add(asked.topic);
  S.past.push(S.at);
  setAt(asked.reveals);
  S.note = line(asked.verdicts.at(choice));
  render();
}

function closeQuestion() {
  A.open = null;
  element("question").hidden = true;
}

/** What was said at a step, while questions are asked; null if nothing was. */
function guessed() {
  return A.on && A.said.has(S.at) ? line(question(S.at).verdicts[A.said.get(S.at)]) : null;
}

// -- What would tell the answer ---------------------------------------------------------------------------------------

const CELL = 3, ENGINE = 9, TABLE = 12;

/** Whether a pane would tell what is asked next. */
function tells(pane, asked) {
  if (!asked) return false;
  if (pane === ENGINE) return asked.next;
  if (pane !== CELL && pane !== TABLE) return false;
  const call = [S.at, ...around(S.at)].find((step) => kind(step).name === "Dispatched");
  const later = D.questions.cells.get(call);
  return later !== undefined && call + later >= asked.reveals;
}

const sentenceTells = (asked) => asked !== null && asked.next && kind(S.at).name === "NodeQueued";
