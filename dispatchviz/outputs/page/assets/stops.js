// -- Stops of moves: marks, breakpoints, a filter; and the reader's history -------------------------------------------

/** Set a mark here, which may have a name, or remove it. */
function toggleMark() {
  stops = null;
  if (S.marks.delete(S.at)) return void (S.note = words(D.remarks.unmarked.trim(), "hint"));
  const at = S.at;
  setMark(at, "");
  prompted("Name of this mark (optional): ", "", (name) => {
    setMark(at, name.trim());
    S.note = words(D.remarks.marked.trim(), "hint");
  });
}

function setMark(step, name) {
  S.marks = new Map([...S.marks, [step, name]].sort(([one], [other]) => one - other));
}

function listMarks() {
  if (!S.marks.size) return void (S.note = words(D.remarks.no_marks.trim(), "hint"));
  listChoices("Marks", [...S.marks].map(([step, name]) => [[[`${step} `, "dim"], [name && `${name}  `, "bold"], stepText(step)], () => goTo(step)]));
}

const stepText = (step) => (hides(ahead(), step) ? ["?", "hint"] : span(D.tree.steps.labels[step]));

/** List the places where the reader has been, the first one first. */
function listPlaces() {
  const places = [...S.past, S.at, ...[...S.undone].reverse()];
  if (places.length === 1) return void (S.note = words(D.remarks.no_jump.trim(), "hint"));
  const spans = (step, at) => [[at === S.past.length ? "● " : "  ", "focus"], [`${step}  `, "dim"], stepText(step)];
  listChoices("Places you have been to (● is here)", places.map((step, at) => [spans(step, at), () => revisit(at)]));
}

const askBreakpoint = () => prompted("Stop at a line (6) or at steps with some words (empty: remove all breakpoints): ", "", (text) => {
  const place = text.trim(), there = S.breakpoints.find((each) => each.place === place);
  stops = null;
  if (!place) S.breakpoints = [];
  else if (there) S.breakpoints = S.breakpoints.filter((each) => each !== there);
  S.note = words((place ? D.remarks.no_breakpoint.replace("PLACE", () => place) : D.remarks.none).trim(), "hint");
  if (place && !there) setBreakpoint(place);
});

function setBreakpoint(place) {
  const steps = stepsOf(place), seen = visible(steps), count = `${seen.length} ${seen.length === 1 ? "stop" : "stops"}`;
  if (!steps.length) return void (S.note = words(`No step has ${place}`, "warning"));
  S.breakpoints.push({ place, steps });
  const said = { PLACE: place, STOPS: count, FIRST: seen[0] ?? "" };
  S.note = words(D.remarks.breakpoint.trim().replace(/PLACE|STOPS|FIRST/g, (name) => said[name]), "hint");
}

/** The steps at which a breakpoint stops: those of a line of the program, one step, or those with some words. */
function stepsOf(place) {
  const line = /^line (\d+)$/.exec(place);
  if (line) return D.tree.rows.filter((each) => each[0] === STATEMENT && each[5] === +line[1]).map((each) => each[1]);
  return /^\d+$/.test(place) ? [+place].filter((step) => step <= last()) : found(place, D.count);
}

function listBreakpoints() {
  if (!S.breakpoints.length) return void (S.note = words(D.remarks.no_breakpoints.trim(), "hint"));
  listChoices("Breakpoints", S.breakpoints.map(({ place, steps }) => {
    const seen = visible(steps), behindUs = behind(seen, S.at - 1), ahead = seen.length - behind(seen, S.at);
    const text = `${seen.length} ${seen.length === 1 ? "stop" : "stops"}: ${behindUs} behind, ${ahead} ahead`;
    return [[[`${place}  `, "bold"], [text, "dim"]], () => goTo(neighbor(steps, 1) < 0 ? steps[0] : neighbor(steps, 1))];
  }));
}

const askFilter = () => prompted("Show only steps with these words (empty: all): ", S.filterText, (text) => {
  const query = text.trim(), steps = found(query, firstHidden());
  if (query && !steps.length) return void (S.note = words(`${noStepHas(query)}: ${D.remarks.stay}`, "warning"));
  S.filterText = query;
  S.filter = query ? Int32Array.from(steps) : null;
  S.note = words((query ? D.remarks.kept.replace("SOME", withCommas(steps.length)).replace("COUNT", withCommas(last() + 1)).replace("QUERY", () => query) : D.remarks.all).trim(), "hint");
  if (query) goTo(S.filter[Math.min(behind(S.filter, S.at - 1), S.filter.length - 1)]);
});
