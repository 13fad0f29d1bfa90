// -- The page ---------------------------------------------------------------------------------------------------------

/** Show the state. The time that this took is kept for measurements. */
function render() {
  const begin = performance.now(), asked = ahead();
  if (S.query) searchAgain();
  document.body.classList.toggle("presenting", S.presenting);
  document.body.classList.toggle("zoomed", S.zoomed);
  drawBars(asked);
  drawLevels();
  drawPanes(asked);
  drawList(asked);
  writeLinkSoon();
  prepareNeighbors();
  element("page").dataset.took = (performance.now() - begin).toFixed(2);
}

function drawBars(asked) {
  const asking = A.on ? [["predict", score()].filter(Boolean).join(": ")] : [], playing = P.timer ? [`playing ×${P.tempo}`] : [];
  element("position").textContent = placeOf(S.at);
  element("where").replaceChildren(...D.where.at(S.at).flatMap((number) => line(number).spans.map(drawnSpan)), made("span", "r-good", [...asking, ...playing].map((each) => `  ${each}`).join("")));
  element("slider").value = S.at;
  element("whole").href = `${location.pathname}#step=${S.at}`;
  element("slider").setAttribute("aria-valuetext", placeOf(S.at));
  element("steps-title").textContent = `Steps${hitText()}`;
  for (const [name, on] of [["predict", A.on], ["present", S.presenting]])
    document.querySelector(`#bar [data-action=${name}]`).setAttribute("aria-pressed", on);
  drawWhy(asked);
}

/** `step 2 of 326`; the last one is marked. */
function placeOf(step) {
  const place = D.remarks.place.replace("STEP", step).replace("COUNT", withCommas(last() + 1));
  return step === last() ? place + D.remarks.last : place;
}

/** A number of steps, with commas: 627,032. */
const withCommas = (count) => count.toLocaleString("en");

function drawWhy(asked) {
  const place = D.lesson?.[S.place], said = place && place.step === S.at ? place : null;
  const [sentence, ...rule] = D.why.at(S.at).map(line), stage = S.stage < 0 ? null : stages()[S.stage];
  const note = S.note ?? (said?.alone ? null : guessed()), notes = S.isFirst ? D.first_notes.map(line) : note ? [note] : [];
  drawLesson(said);
  element("note").replaceChildren(...notes.map(drawn));
  const shown = stage ? words(text(stage[2]), "bold") : sentenceWouldReveal(asked) ? line(D.questions.hidden) : sentence;
  if (element("sentence").textContent !== plain(shown)) element("sentence").replaceChildren(drawn(shown));
  element("rule").replaceChildren(...rule.map(drawn));
  for (const id of ["sentence", "rule"]) element(id).hidden = said?.alone === true;
  if (S.isFirst && D.first_notes[1] >= 0) element("sentence").hidden = true;
  markTerms();
}

/** Show a passage. The words on how the lesson continues are a button, because a phone has no keys. */
function drawLesson(said) {
  element("lesson").replaceChildren(...(said?.rows ?? D.elsewhere).map(line).map(drawn));
  const words = element("lesson").querySelector(".row > :last-child");
  if (!words || (said && said === D.lesson.at(-1))) return;
  const button = made("button", "", words.textContent.trim());
  button.type = "button";
  button.dataset.action = "move('resume')";
  words.replaceWith(" ", button);
}

/** Choose the first step: that of the link or of the first question before it, of the lesson, or the first one where
 * something happens. */
function begin() {
  S.at = D.lesson?.[0].step ?? D.first;
  S.level = D.level;
  A.on = D.lesson?.some((place) => place.asks) ?? false;
  S.marks = linkedMarks();
  if (linkedStep() >= 0) goTo(linkedStep(), false);
  else S.isFirst = !D.lesson;
  S.came = -1;
  S.presenting = location.search.includes("present");
  S.embedded = document.body.classList.toggle("embedded", location.search.includes("embed"));
}

function open() {
  prepare(recorded);
  D.questions.reveals = D.questions.asked.map((asked) => (asked.hides ??= asked.reveals, asked.reveals));
  prepareKeys();
  element("program").textContent = D.program;
  element("engine").replaceChildren(...line(D.engine).spans.map(drawnSpan), ...D.notices.map((notice) => made("span", "r-warning", ` ! ${notice}`)));
  element("slider").max = last();
  begin();
  element("page").hidden = false;
  element("opening").remove();
  for (const listen of [listenToSteps, listenToPanes, listenToGraph, listenToKeys, listenToTouch, listenToPrinter, listenToDialog, listenToTerms]) listen();
  render();
  if (!S.embedded) (element("typed") ?? element("list")).focus({ preventScroll: true });
  document.documentElement.dataset.opened = performance.now().toFixed(1);
}

open();
