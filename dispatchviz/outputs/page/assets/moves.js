// -- The cursor and its moves -----------------------------------------------------------------------------------------

const S = {
  at: 0, came: -1, past: [], undone: [], below: [], opened: new Set(), level: 1, stage: -1,
  own: [], focus: 1, zoomed: false, query: "", hits: [], place: 0, presenting: false, embedded: false, note: null, isFirst: false,
  filter: null, filterText: "", marks: new Map(), breakpoints: [], shown: new Map(),
};

const tree = () => treeOf(S.level);

let seen = { key: null, rows: [] };

/** The current rows of the list. */
function rows() {
  const key = `${S.level} ${S.at} ${S.filterText} ${[...S.opened].join(" ")}`;
  if (seen.key !== key) seen = { key, rows: S.filter ? keptRows() : tree().rows(S.opened, S.at) };
  return seen.rows;
}

/** The steps that pass the filter, and the current step, as a flat list. */
function keptRows() {
  const found = Array.from(S.filter, (step) => ({ item: -1, step, depth: depths()[step], unfolded: false }));
  const place = behind(S.filter, S.at - 1);
  if (S.filter[place] !== S.at) found.splice(place, 0, { item: -1, step: S.at, depth: depths()[S.at], unfolded: false });
  return found;
}

let knownDepths = null;

/** The depth of each step. */
function depths() {
  if (knownDepths) return knownDepths;
  knownDepths = new Int32Array(D.count);
  D.tree.steps.parents.forEach((parent, step) => (knownDepths[step] = parent < 0 ? 0 : knownDepths[parent] + 1));
  return knownDepths;
}

/** The steps at which moves stop. */
const listed = () => S.filter ?? tree().steps;

const rowNumber = () => rows().findIndex((row) => row.step === S.at);
const row = () => rows()[rowNumber()];
const parentOf = (each) => (each.item < 0 ? tree().inside(S.at) : tree().parents[each.item]);

function setAt(step) {
  if (step !== S.at) Object.assign(S, { came: S.at, at: step, below: [] });
  S.stage = -1;
}

/** Go to a step, unless a question comes first. A move of more than one step can be undone. */
function goTo(step, isJump = true) {
  const to = Math.max(0, Math.min(step, last()));
  const asked = onTheWay(S.at, to);
  const goal = asked ? asked.hides - 1 : to;
  if (isJump && goal !== S.at) {
    S.past.push(S.at);
    S.past = S.past.slice(-200);
    S.undone = [];
  }
  setAt(goal);
  if (asked) ask(asked);
}

/** The next listed step in the direction of a move. */
function letThrough(step) {
  const steps = listed(), to = Math.max(0, Math.min(step, last()));
  if (!steps.length) return to;
  if (to >= S.at) return Math.max(steps[Math.min(behind(steps, to - 1), steps.length - 1)], S.at);
  return Math.min(steps[Math.max(behind(steps, to) - 1, 0)], S.at);
}

const toward = (step, isJump = true) => goTo(letThrough(step), isJump);

function past(item) {
  const steps = tree().steps, place = behind(steps, item.item < 0 ? D.tree.steps.ends[item.step] : tree().ends[item.item]);
  if (place < steps.length) toward(steps[place]);
}

/** Go to the last step, listed at this level or not; with a filter, to the last step that passes it. */
function toEnd() {
  if (S.filter) toward(last());
  else goTo(last());
}

const asRow = (item) => ({ item, step: tree().begins[item] });

const MOVES = {
  into() { if (!walked(1)) toward(S.at + 1, false); },
  into_back() { if (!walked(-1)) toward(S.at - 1, false); },
  over() {
    if (S.filter) toward(D.tree.steps.ends[S.at] + 1);
    else past(row());
  },
  over_back() {
    if (S.filter) return toward(beforeOnLevel());
    const item = row().item < 0 ? tree().beforeStep(S.at) : tree().before(row().item);
    if (item >= 0) toward(tree().begins[item]);
  },
  out() {
    if (S.filter) return toward(parent() < 0 ? last() : D.tree.steps.ends[parent()] + 1);
    const item = parentOf(row());
    if (item < 0) toEnd();
    else past(asRow(item));
  },
  out_back() {
    if (S.filter) return toward(parent());
    let item = parentOf(row());
    while (item >= 0 && tree().begins[item] === S.at) item = tree().parents[item];
    if (item >= 0) toward(tree().begins[item]);
  },
  resume() { if (A.open) answer(-1); else if (!along(1)) stopAt(nextStop(1), toEnd); },
  resume_back() { if (!along(-1)) stopAt(nextStop(-1), () => toward(0)); },
  unfold() {
    if (S.filter) return MOVES.into();
    const { item } = row(), inner = item < 0 ? [] : tree().within(item);
    if (!inner.length) return toward(S.at + 1, false);
    S.opened.add(tree().names[item]);
    if (!tree().isMerged(item)) toward(tree().begins[inner[0]]);
  },
  fold() {
    if (S.filter) return MOVES.out_back();
    const here = tree().at(S.at).filter((item) => S.opened.has(tree().names[item]));
    if (here.length) return S.opened.delete(tree().names[here.at(-1)]);
    const item = parentOf(row());
    if (item < 0) return;
    if (tree().isMerged(item)) S.opened.delete(tree().names[item]);
    toward(tree().begins[item]);
  },
};

const parent = () => D.tree.steps.parents[S.at];

function beforeOnLevel() {
  let before = S.at - 1;
  while (before > 0 && depths()[before] > depths()[S.at]) before = D.tree.steps.parents[before];
  return before;
}

let stops = null; // valid until marks or breakpoints change

/** The nearest error, mark, and line of the program, or breakpoint instead of lines, on one side; -1 if none. */
function nextStop(by) {
  const lines = S.breakpoints.length ? S.breakpoints.flatMap(({ steps }) => [...steps]) : D.tree.rows.map((each) => each[1]);
  stops ??= Int32Array.from(new Set([...lines, ...errors(), ...S.marks.keys()])).sort();
  return neighbor(stops, by);
}

function neighbor(steps, by) {
  const place = by > 0 ? behind(steps, S.at) : behind(steps, S.at - 1) - 1;
  return steps[place] ?? -1;
}

function* errors() {
  for (let step = 0; step < D.count; step++) if (kind(step)?.error) yield step;
}

function stopAt(step, end) {
  const isLine = step >= 0 && kind(step).name === "SourceLine" && !S.breakpoints.length && !S.marks.has(step);
  if (step < 0) end();
  else if (isLine) toward(step);
  else goTo(step);
}

/** Go on by a sub-step of a key set while its pane is chosen. Return whether there is one. */
function walked(by) {
  if (S.focus !== 2 || S.stage + by < -1) return false;
  const stages = D.walk.calls.get(S.at) ?? [];
  if (by < 0 && S.stage < 0) return walkedIn();
  if (S.stage + by >= stages.length) return false;
  S.stage += by;
  return true;
}

/** Go back to the last sub-step of the step before. */
function walkedIn() {
  toward(S.at - 1, false);
  S.stage = (D.walk.calls.get(S.at) ?? []).length - 1;
  return true;
}

/** Go on by a place of the lesson. Return whether there is a lesson. */
function along(by) {
  if (!D.lesson) return false;
  const place = Math.max(0, Math.min(S.place + by, D.lesson.length - 1));
  if (place === S.place && by > 0) {
    S.note = words(lessonEnd(), "good");
    S.note.spans.push(...D.remarks.links);
  }
  S.place = place;
  goTo(D.lesson[place].step);
  return true;
}

const JUMPS = {
  first() { toward(0); },
  last: toEnd,
  caller() {
    const from = S.at, frames = [...around(S.at)].filter((step) => kind(step).frame);
    if (!frames.length) return;
    const below = [...S.below, from];
    goTo(frames[0]);
    S.below = below;
  },
  callee() {
    const below = [...S.below], back = below.pop();
    if (back !== undefined) {
      goTo(back);
      S.below = below;
      return;
    }
    for (let step = S.at + 1; step <= D.tree.steps.ends[S.at]; step++) if (kind(step).frame) return goTo(step);
  },
  undo() { visit(S.past, S.undone); },
  redo() { visit(S.undone, S.past); },
};

function visit(from, to) {
  if (!from.length) return;
  to.push(S.at);
  setAt(from.pop());
}

/** Go to a place where the reader has been. The other places stay in the history. */
function revisit(number) {
  while (S.past.length > number) JUMPS.undo();
  while (S.past.length < number && S.undone.length) JUMPS.redo();
}

/** Go from backward to the Node's forward call, or from a call to its Node's run. */
function cross() {
  const said = textAt("cross");
  if (said[0].goto >= 0) goTo(said[0].goto);
  if (said[0].goto < 0 || S.at === said[0].goto) S.note = said[0];
}

function byRows(by) {
  toward(rows()[Math.max(0, Math.min(rowNumber() + by, rows().length - 1))].step);
}

function detail(by) {
  const level = Math.max(0, Math.min(S.level + by, D.tree.levels.length - 1));
  S.level = level;
  S.note = words(D.tree.levels[level].help, "hint");
}

function target(name, forward) {
  const step = neighbor(D.places[name], forward ? 1 : -1);
  if (step >= 0) goTo(step);
  else S.note = words(`No ${name} ${forward ? "follows" : "comes before"}`, "hint");
}
