// -- The list of steps: only the visible rows are made ----------------------------------------------------------------

function drawList(asked) {
  const height = rowHeight();
  element("rows").style.height = `${rows().length * height}px`;
  reveal(rowNumber() * height, height);
  drawRows(asked);
  wrapFree();
  for (const scroll of openPanes().map(revealHere)) scroll?.();
}

/** While the list has free rows, let rows take several lines, first the current one. */
function wrapFree() {
  const list = element("list"), isFree = rows().length * rowHeight() < L.height;
  list.classList.toggle("free", isFree);
  const drawn = [...element("rows").children].sort((a, b) => b.matches(".here") - a.matches(".here"));
  for (const each of drawn) each.classList.remove("whole");
  for (const each of isFree ? drawn : []) {
    each.classList.add("whole");
    if (list.scrollHeight > L.height) each.classList.remove("whole");
  }
}

const L = { top: 0, height: 0 }; // the visible part of the list, as the browser reported it: reading it would lay out the page

const rowHeight = () => (S.presenting ? 27 : 20); // as in the style sheet

function reveal(top, height) {
  let wanted = L.top;
  if (top < L.top + height) wanted = Math.max(0, top - 2 * height);
  else if (top + 2 * height > L.top + L.height) wanted = top - L.height + 3 * height;
  if (wanted === L.top) return;
  element("list").scrollTop = wanted;
  L.top = element("list").scrollTop;
}

/** Draw the visible rows, and some above and below. */
function drawRows(asked = ahead()) {
  const list = element("list"), all = rows(), height = rowHeight();
  const first = Math.max(0, Math.floor(L.top / height) - 5);
  const end = Math.min(all.length, first + Math.ceil(L.height / height) + 10);
  fill(element("rows"), all.slice(first, end).map((each, at) => rowValue(each, first + at, asked, height)), drawnRow);
  list.setAttribute("aria-activedescendant", `row${rowNumber()}`);
}

/** The contents of a row. */
function rowValue(each, number, asked, height) {
  const { step, depth, unfolded } = each, isHere = step === S.at;
  const shown = S.level === 3 ? [[`${step} `.padStart(`${last()}`.length + 1), "dim"]] : [];
  const spans = [[isHere ? "▶" : " ", "focus"], [sign(each), "hit"], ...shown, ...rowParts(each, asked)];
  return { number, step, depth, unfolded, isHere, top: number * height, isFolded: isFolded(each), spans };
}

function drawnRow({ number, step, depth, unfolded, isHere, top, isFolded, spans }) {
  const found = made("div", isHere ? "step here" : "step");
  found.id = `row${number}`;
  found.style.top = `${top}px`;
  found.dataset.step = step;
  found.dataset.row = number;
  found.setAttribute("role", "treeitem");
  found.setAttribute("aria-level", depth + 1);
  found.setAttribute("aria-selected", isHere);
  if (unfolded || isFolded) found.setAttribute("aria-expanded", unfolded);
  found.style.setProperty("--depth", depth);
  found.append(...spans.map(drawnSpan));
  return found;
}

const isFolded = (each) => each.item >= 0 && !each.unfolded && tree().within(each.item).length > 0;

/** A row of the tree as spans: the sign of a fold, iterations that begin here, its text, its facts. */
function rowParts(each, asked) {
  const isEvent = each.item < 0 || tree().kinds[each.item] === EVENT;
  if (hides(asked, each.step) && isEvent) return [["?", "hint"]];
  const fold = each.unfolded ? "▾ " : isFolded(each) ? "▸ " : "  ";
  const facts = hides(asked, tree().end(each)) ? [["   ?", "hint"]] : factsOf(each);
  return [["", "indent"], [fold, "dim"], ...headings(each), ...rowText(each, isEvent), ...facts];
}

/** The iterations and calls that are unfolded and whose first row this is. */
function headings(each) {
  if (each.item < 0) return [];
  const same = tree().at(each.step);
  return same.slice(0, same.indexOf(each.item)).map((item) => [`${span(tree().source[item].at(textPlace(item)))[0]} · `, "dim"]);
}

/** The index of an item's text in its data. */
const textPlace = (item) => (tree().kinds[item] === RUN ? 2 : 3);

function rowText(each, isEvent) {
  const weight = (role) => (each.step === S.at ? "bold" : { program: "bold", error: "error" }[role] ?? "");
  if (isEvent) {
    const [text, role] = span(D.tree.steps.texts[each.step]);
    return [[`${D.tree.signs[kind(each.step)?.group] ?? "?"} `, role], [text, weight(role)]];
  }
  const source = tree().source[each.item], [text, role] = span(source[textPlace(each.item)]);
  const number = tree().kinds[each.item] === STATEMENT ? [[`${source[5]}`.padStart(2) + "  ", "dim"]] : [];
  return [...number, [text, weight(role)]];
}

function factsOf(each) {
  const isEvent = each.item < 0 || tree().kinds[each.item] === EVENT;
  const number = isEvent ? D.tree.steps.facts[each.step] : tree().source[each.item][textPlace(each.item) + 1];
  return number ? [["   ", ""], ...line(number).spans] : [];
}

/** The sign of a row with a mark, a stop of a breakpoint or a hit of the search. */
function sign(each) {
  const end = each.unfolded ? each.step : tree().end(each), seen = Math.min(end, firstHidden() - 1);
  const has = (steps) => (steps[behind(steps, each.step - 1)] ?? Infinity) <= seen;
  if ([...S.marks.keys()].some((step) => step >= each.step && step <= end)) return "●";
  if (S.breakpoints.some(({ steps }) => has(steps))) return "◉";
  return has(S.hits) ? "*" : " ";
}

function drawLevels() {
  fill(element("levels"), D.tree.levels.map(({ name, help }, level) => ({ name, help, level, pressed: level === S.level })), ({ name, help, level, pressed }) => {
    const found = made("button", "", name);
    found.type = "button";
    found.title = help;
    found.dataset.level = level;
    found.setAttribute("aria-pressed", pressed);
    return found;
  });
}

function listenToSteps() {
  const list = element("list");
  L.height = list.clientHeight;
  new ResizeObserver(() => {
    const grown = list.clientHeight - L.height, below = (rowNumber() + 1) * rowHeight() - L.top;
    L.height = list.clientHeight;
    wrapFree();
    if (grown > 5 * rowHeight() || below > L.height) drawList(ahead());
  }).observe(list);
  list.addEventListener("scroll", () => requestAnimationFrame(() => {
    if (L.top === list.scrollTop) return;
    L.top = list.scrollTop;
    drawRows();
  }), { passive: true });
  element("rows").addEventListener("click", ({ target }) => {
    const found = target.closest(".step");
    if (!found) return;
    S.focus = 1;
    S.note = null;
    const each = rows()[found.dataset.row];
    if (each.step !== S.at || each.item < 0) toward(each.step);
    else if (each.unfolded || isFolded(each)) toggle(each);
    render();
  });
  element("levels").addEventListener("click", ({ target }) => {
    if (target.dataset.level) detail(target.dataset.level - S.level);
    render();
  });
}

function toggle(each) {
  const name = tree().names[each.item];
  if (S.opened.has(name)) S.opened.delete(name);
  else S.opened.add(name);
}
