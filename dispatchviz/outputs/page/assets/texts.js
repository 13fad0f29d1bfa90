// -- Texts and lists over the page ------------------------------------------------------------------------------------

/** The lines of a text at this step. */
function textAt(name) {
  const asked = ahead(), rows = D.texts[name].rows.at(S.at)?.map(line) ?? [leftOut()];
  if (asked && name === "traceback" && kind(S.at).name !== "ErrorRaised") return [line(D.questions.hidden)];
  return rows.map((each) => (hides(asked, each.goto) ? line(D.questions.hidden) : each));
}

/** Show a text about the step: its tensors and Nodes, its traceback, its operator's history. */
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

/** Show a list of choices, each with its spans and its action. */
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

/** Show what older articles say about this step and what is true today, or the reasons. */
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

/** The rows of an entry. It leads to the step that shows it; if there is none, its last row names one elsewhere. */
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
