// -- Where moves stop: marks, breakpoints, a filter; where the reader has been ----------------------------------------

/** Sets a mark here, which may be named, or removes it. */
function toggleMark() {
  stops = null;
  if (S.marks.delete(S.at)) return void (S.note = words(D.said.unmarked.trim(), "hint"));
  const at = S.at;
  setMark(at, "");
  prompted("Name of this mark, or just Enter: ", "", (name) => {
    setMark(at, name.trim());
    S.note = words(D.said.marked.trim(), "hint");
  });
}

function setMark(step, name) {
  S.marks = new Map([...S.marks, [step, name]].sort(([one], [other]) => one - other));
}

function listMarks() {
  if (!S.marks.size) return void (S.note = words(D.said.no_marks.trim(), "hint"));
  listChoices("Marks", [...S.marks].map(([step, name]) => [[[`${step} `, "dim"], [name && `${name}  `, "bold"], stepText(step)], () => goTo(step)]));
}

const stepText = (step) => (hides(ahead(), step) ? ["?", "hint"] : span(D.tree.steps.labels[step]));

/** The places that the reader has been to, the first one first. */
function listPlaces() {
  const places = [...S.past, S.at, ...[...S.undone].reverse()];
  if (places.length === 1) return void (S.note = words(D.said.no_jump.trim(), "hint"));
  const spans = (step, at) => [[at === S.past.length ? "● " : "  ", "focus"], [`${step}  `, "dim"], stepText(step)];
  listChoices("Places you have been to, ● is here", places.map((step, at) => [spans(step, at), () => revisit(at)]));
}

const askBreakpoint = () => prompted("Stop at (line 6, or words of a step; nothing: no breakpoints): ", "", (text) => {
  const place = text.trim(), there = S.breakpoints.find((each) => each.place === place);
  stops = null;
  if (!place) S.breakpoints = [];
  else if (there) S.breakpoints = S.breakpoints.filter((each) => each !== there);
  S.note = words((place ? D.said.no_breakpoint.replace("PLACE", () => place) : D.said.none).trim(), "hint");
  if (place && !there) setBreakpoint(place);
});

function setBreakpoint(place) {
  const steps = stepsOf(place), count = `${steps.length} ${steps.length === 1 ? "stop" : "stops"}`;
  if (!steps.length) return void (S.note = words(`No step has ${place}`, "warning"));
  S.breakpoints.push({ place, steps });
  const said = { PLACE: place, STOPS: count, FIRST: steps[0] };
  S.note = words(D.said.breakpoint.trim().replace(/PLACE|STOPS|FIRST/g, (name) => said[name]), "hint");
}

/** The steps at which a breakpoint stops: those of a line of the program, a step, those that have some words. */
function stepsOf(place) {
  const line = /^line (\d+)$/.exec(place);
  if (line) return D.tree.rows.filter((each) => each[0] === STATEMENT && each[5] === +line[1]).map((each) => each[1]);
  return /^\d+$/.test(place) ? [+place].filter((step) => step <= last()) : found(place);
}

function listBreakpoints() {
  if (!S.breakpoints.length) return void (S.note = words(D.said.no_breakpoints.trim(), "hint"));
  listChoices("Breakpoints", S.breakpoints.map(({ place, steps }) => {
    const behindUs = behind(steps, S.at - 1), ahead = steps.length - behind(steps, S.at);
    const text = `${steps.length} ${steps.length === 1 ? "stop" : "stops"}: ${behindUs} behind, ${ahead} ahead`;
    return [[[`${place}  `, "bold"], [text, "dim"]], () => goTo(neighbor(steps, 1) < 0 ? steps[0] : neighbor(steps, 1))];
  }));
}

const askFilter = () => prompted("Show only (words; nothing: all): ", S.filterText, (text) => {
  const query = text.trim(), steps = found(query);
  if (query && !steps.length) return void (S.note = words(`No step has ${query}: ${D.said.stay}`, "warning"));
  S.filterText = query;
  S.filter = query ? Int32Array.from(steps) : null;
  S.note = words((query ? D.said.kept.replace("SOME", withCommas(steps.length)).replace("COUNT", withCommas(last() + 1)).replace("QUERY", () => query) : D.said.all).trim(), "hint");
  if (query) goTo(S.filter[Math.min(behind(S.filter, S.at - 1), S.filter.length - 1)]);
});
