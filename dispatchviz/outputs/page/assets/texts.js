// -- Texts and lists over the page ------------------------------------------------------------------------------------

/** The lines of a text at this step. */
function textAt(name) {
  const asked = ahead(), rows = D.texts[name].rows.at(S.at)?.map(line) ?? [leftOut()];
  return rows.map((each) => (hides(asked, each.goto) ? line(D.questions.hidden) : each));
}

/** What is asked of the step: what is in it, its traceback, its operator's history. */
function showText(name) {
  const rows = textAt(name), { title, none } = D.texts[name];
  if (!rows.length) return void (S.note = words(none.trim(), "hint"));
  openRows(title, rows);
}

function openRows(title, rows, ...more) {
  const found = made("div", "text");
  found.append(closing(), made("h2", "", title), ...more, ...rows.map(drawn));
  opened(found);
}

/** A list to choose from; each is its spans and what is done. */
function listChoices(title, choices) {
  const found = made("div", "text");
  found.append(closing(), made("h2", "", title));
  for (const [spans, done] of choices) {
    const row = made("button", "row");
    row.type = "button";
    row.append(...spans.map(drawnSpan));
    row.addEventListener("click", () => {
      element("dialog").close();
      act(done);
    });
    found.append(row);
  }
  opened(found);
}

/** What many have read of this step, and what is so; why it is so. */
function thenAndNow(which) {
  const rows = D.then.lists[which].at(S.at).flatMap((each) => (each < 0 ? [words(text(-each), "title")] : entryRows(each)));
  const others = D.then.titles.map((title, at) => {
    const found = made("button", "", title);
    found.type = "button";
    found.setAttribute("aria-pressed", at === which);
    found.addEventListener("click", () => thenAndNow(at));
    return found;
  });
  const sources = which ? [] : D.then.from.map((each) => words(each, "dim"));
  openRows(D.then.titles[which], [...rows, ...sources], ...others);
}

/** An entry; where a step shows it, it leads there, else its last row says what does. */
function entryRows(entry) {
  const [first, ...rest] = D.then.entries[entry].map(line), [step] = D.then.places[entry].at(S.at);
  if (step === undefined) return [first, ...rest];
  if (hides(ahead(), step)) return [line(D.questions.hidden)];
  return [{ ...first, goto: step, spans: [...first.spans, [`  step ${step}`, "dim"]] }, ...rest.slice(0, -1)];
}

function listenToDialog() {
  const dialog = element("dialog");
  dialog.addEventListener("click", ({ target }) => {
    const place = target.closest("[data-goto]");
    if (!place) return;
    dialog.close();
    act(() => goTo(+place.dataset.goto));
  });
  dialog.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || event.target.matches("input")) return;
    const rows = [...dialog.querySelectorAll("button")], here = rows.indexOf(document.activeElement);
    rows[(here + by + rows.length) % rows.length]?.focus();
    event.preventDefault();
  });
}
