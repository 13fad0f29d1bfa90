// -- Search over the labels and the sentences of all steps ------------------------------------------------------------

/** The steps whose label has all words of a query; if there are none, those whose sentence has them. */
function found(query, end) {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = wanted.length ? hitsIn(labelOf, wanted, end) : [];
  return wanted.length && !hits.length ? hitsIn(sentenceOf, wanted, end) : hits;
}

/** The first step that is hidden until a question is answered; after the last step if none is. */
const firstHidden = () => ahead()?.hides ?? D.count;

function search(query) {
  S.query = query.trim();
  S.searched = -1;
  searchAgain();
  if (S.query && !S.hits.length) S.note = words(noStepHas(S.query), "warning");
}

/** Update the hits, which are before the next question. */
function searchAgain() {
  const end = firstHidden();
  if (S.searched === end) return;
  S.searched = end;
  S.hits = found(S.query, end);
}

const noStepHas = (query) => `No step ${ahead() ? "before the next question " : ""}has ${query}`;

/** The steps that are not hidden until a question is answered. */
const visible = (steps) => steps.filter((step) => step < firstHidden());

const labelOf = (step) => D.tree.steps.labels[step];
const sentenceOf = (step) => D.why.number(step);
const TEXTS = new Map([
  [labelOf, (number) => withoutFile(...span(number))],
  [sentenceOf, (number) => plain(line(D.why.lists.at(number)[0]))],
]);

/** A line's label without the name of its file. Otherwise a word in that name would match each line of the file. */
function withoutFile(label, role) {
  return role === "program" && !label.startsWith("printed ") ? label.replace(/^\S.*?,\s(?=line \d)/, "") : label;
}

function hitsIn(of, wanted, end) {
  const known = new Map(), hits = [];
  const fits = (number) => {
    const text = TEXTS.get(of)(number).toLowerCase();
    return wanted.every((word) => text.includes(word));
  };
  for (let step = 0; step < end; step++) {
    const number = of(step);
    if (!known.has(number)) known.set(number, fits(number));
    if (known.get(number)) hits.push(step);
  }
  return hits;
}

function nextHit(by) {
  if (!S.hits.length) return;
  const step = neighbor(S.hits, by);
  goTo(step >= 0 ? step : by > 0 ? S.hits[0] : S.hits.at(-1));
}

function hitText() {
  if (!S.query) return "";
  const place = S.hits.indexOf(S.at);
  return ` · /${S.query}: ${place < 0 ? `${S.hits.length} ${S.hits.length === 1 ? "hit" : "hits"}` : `hit ${place + 1}/${S.hits.length}`}`;
}

// -- A step by its number ---------------------------------------------------------------------------------------------

/** `37`, `+10`, `-10`, `50%`; NaN for anything else. */
function stepTyped(text) {
  const typed = /^\s*([+-]?)(\d+)(%?)\s*$/.exec(text);
  if (!typed) return NaN;
  const number = typed[3] ? Math.floor((typed[2] * last()) / 100) : +typed[2];
  return typed[1] ? S.at + number * (typed[1] === "-" ? -1 : 1) : number;
}
