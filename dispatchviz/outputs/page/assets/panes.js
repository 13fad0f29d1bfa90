// -- The panes: first the reader's own, then those that a step needs most ----------------------------------------------

const KEYS_PANE = 2, CALLS_PANE = 4, SOURCE_PANE = 5, GRAPH_PANE = 6;

/** The number of panes that fit. */
function room() {
  if (S.presenting || S.embedded) return 1;
  const width = innerWidth, height = innerHeight;
  if (width < 700) return 4;
  return (width < 1250 ? 1 : 2) * (height < 620 ? 1 : height < 1000 ? 2 : 3);
}

/** The panes that are open at a step, by number. */
function openPanes() {
  if (S.zoomed && S.focus > 1) return [S.focus];
  const says = (pane) => !wouldReveal(pane, ahead()) && !D.panes.get(pane).empty.at(stepOf(pane)).length && D.panes.get(pane).rows.number(stepOf(pane)) !== LEFT_OUT;
  const all = kind(S.at).panes, before = all.indexOf(SOURCE_PANE), later = Object.keys(D.remarks.ahead).map(Number).filter((pane) => stepOf(pane) !== S.at);
  const wanted = new Set([...all.slice(0, before), ...later, ...all].filter((pane) => says(pane) && !S.own.includes(pane)));
  const found = [...S.own, ...wanted].slice(0, Math.max(room(), S.own.length));
  return found.sort((a, b) => a - b);
}

/** The step that a pane shows: if it is empty here, a later one of the row, as in views/panes/ahead.py. */
function stepOf(pane) {
  const next = (number, step) => D.panes.get(number).empty.at(step).map((said) => line(said).goto)[0];
  const said = D.remarks.ahead[pane], first = said && next(pane, S.at), end = tree().end(row());
  if (!(first >= 0 && first <= end) || hides(ahead(), end)) return S.at;
  if (said.startsWith("inside")) return first;
  const run = next(ENGINE, first) ?? first;
  return run < 0 ? end : Math.min(run, end);
}

let drawnPanes = new Map();

function drawPanes(asked) {
  const open = openPanes(), panes = element("panes");
  const others = [...D.panes.keys()].filter((pane) => !open.includes(pane));
  const wanted = [...open.map((pane) => paneParts(pane).whole), drawnOthers(others, asked)];
  if (wanted.length !== panes.childElementCount || wanted.some((each, at) => panes.children[at] !== each)) panes.replaceChildren(...wanted);
  const columns = S.zoomed || open.length < 2 || innerWidth < 1250 ? 1 : 2, tall = Math.floor(open.indexOf(GRAPH_PANE) / columns);
  panes.style.setProperty("--columns", columns);
  panes.style.setProperty("--lines", Array.from({ length: Math.ceil(open.length / columns) }, (_, at) => `minmax(0, ${at === tall ? 4 : 3}fr)`).join(" "));
  for (const pane of open) drawPane(pane, asked);
}

function paneParts(pane) {
  if (drawnPanes.has(pane)) return drawnPanes.get(pane);
  const whole = made("section", "pane"), head = made("div", "head"), title = made("h2"), more = made("span", "more"), body = made("div", "body");
  title.id = `pane${pane}`;
  whole.dataset.pane = pane;
  whole.setAttribute("aria-labelledby", title.id);
  body.tabIndex = 0;
  head.append(title, more);
  whole.append(head, body);
  drawnPanes.set(pane, { whole, title, more, body, shown: "" });
  return drawnPanes.get(pane);
}

function drawPane(pane, asked) {
  const parts = paneParts(pane), { title } = D.panes.get(pane);
  parts.title.replaceChildren(made("kbd", "", paneKey(pane)), ` ${title}${stepOf(pane) > S.at ? ` ${D.remarks.ahead[pane]}` : ""}${stageTitle(pane)}${otherTitle(pane)}`);
  parts.whole.classList.toggle("chosen", S.focus === pane);
  parts.whole.classList.toggle("own", S.own.includes(pane));
  if (pane === GRAPH_PANE && drawGraph(parts, asked)) return;
  if (pane === KEYS_PANE) parts.more.replaceChildren(...stageButtons());
  if (pane === GRAPH_PANE) parts.more.replaceChildren(...graphButtons(false));
  if (pane === CALLS_PANE) parts.more.replaceChildren(paneButton("frames"));
  if (pane === ENGINE) parts.more.replaceChildren(paneButton("engine"));
  const shown = whatIsShown(pane, asked);
  if (parts.shown === shown) return;
  parts.shown = shown;
  fill(parts.body, paneRows(pane, asked), drawn);
}

/** The input of a pane's rows, which are drawn again only if it changes. */
function whatIsShown(pane, asked) {
  const { empty } = D.panes.get(pane), rows = trackOf(pane);
  const at = stepOf(pane), now = rows.number(at), before = S.came < 0 ? now : rows.number(S.came), other = S.shown.get(pane) ?? 0;
  if (asked || at > S.at || now === LEFT_OUT || S.stage >= 0 || empty.at(S.at).length) return `${S.at} ${S.stage} ${asked?.reveals} ${other}`;
  return now === before ? `rows ${now} ${other}` : `rows ${now} after ${before} ${other}`;
}

/** The rows of a pane: the usual ones, or others that the reader has chosen. */
function trackOf(pane) {
  const { rows, others } = D.panes.get(pane), other = S.shown.get(pane) ?? 0;
  return other ? others[other - 1].rows : rows;
}

const otherTitle = (pane) => (S.shown.get(pane) ? `  ${D.panes.get(pane).others[S.shown.get(pane) - 1].title}` : "");

/** Show more of a pane, then the usual rows again, with a note about it. */
function showOther(pane, said) {
  const other = ((S.shown.get(pane) ?? 0) + 1) % (D.panes.get(pane).others.length + 1);
  S.shown.set(pane, other);
  S.note = words(said[other].trim(), "hint");
}

function paneButton(action) {
  const found = made("button", "", keyOf(action).shown);
  found.type = "button";
  found.title = keyOf(action).help;
  found.dataset.action = action;
  return found;
}

const keyOf = (action) => D.keys.find((key) => key.action === action);
const paneKey = (pane) => keyOf(`pane(${pane})`).shown;

/** The lines of a pane as the stepper shows them at this step. */
function paneRows(pane, asked) {
  if (wouldReveal(pane, asked)) return [line(D.questions.hidden)];
  const at = stepOf(pane), now = rowsAt(pane, at);
  if (now === null) return [leftOut()];
  if (at > S.at) return marked(now, now).map((each) => ({ ...each, flags: each.flags & CUT, spans: each.spans.map(([text, role]) => [text.replace("▶", " "), role]) }));
  const before = S.came < 0 ? now : rowsAt(pane, S.came) ?? now;
  return marked(now, before).map((each) => (rowWouldReveal(asked, each) ? line(D.questions.hidden) : each));
}

function rowsAt(pane, step) {
  const { empty } = D.panes.get(pane), rows = trackOf(pane), said = empty.at(step);
  if (said.length) return said.map(line);
  const stages = pane === KEYS_PANE && step === S.at && S.stage >= 0 ? D.walk.calls.get(step) : null;
  if (stages) return D.walk.lists.at(stages[S.stage][0]).map(line);
  return rows.at(step)?.map(line) ?? null;
}

function leftOut() {
  const found = line(D.left_out);
  return { ...found, spans: found.spans.map(([text, role]) => [text.replace("STEP", S.at), role]) };
}

/** Return a function that scrolls to the row that must be visible; null if it is. It only reads, so that one layout suffices. */
function revealHere(pane) {
  const { body } = drawnPanes.get(pane), here = body.querySelector(".here");
  if (!here) return;
  const top = here.offsetTop, isSeen = top >= body.scrollTop && top + here.offsetHeight <= body.scrollTop + body.clientHeight;
  return isSeen ? null : () => (body.scrollTop = top - body.clientHeight / 3);
}

// -- The sub-steps of a key set ---------------------------------------------------------------------------------------

const stages = () => D.walk.calls.get(S.at) ?? [];

function stageTitle(pane) {
  return pane === KEYS_PANE && S.stage >= 0 ? ` - ${text(stages()[S.stage][1])}` : "";
}

function stageButtons() {
  return stages().map(([, title], stage) => {
    const found = made("button", "", `${stage + 1}`);
    found.type = "button";
    found.title = text(title);
    found.setAttribute("aria-pressed", stage === S.stage);
    found.addEventListener("click", () => {
      S.stage = stage === S.stage ? -1 : stage;
      S.focus = KEYS_PANE;
      render();
    });
    return found;
  });
}

// -- The panes that are not open --------------------------------------------------------------------------------------

function drawnOthers(others, asked) {
  const found = drawnPanes.get(0)?.whole ?? made("nav", "others");
  drawnPanes.set(0, { whole: found });
  found.setAttribute("aria-label", "More panes");
  fill(found, others.map((pane) => [pane, emptyText(pane, asked)]), otherPane);
  return found;
}

/** The text of a pane that has nothing to show. */
function emptyText(pane, asked) {
  const said = D.panes.get(pane).empty.at(S.at).map(line);
  return said.map((each) => (rowWouldReveal(asked, each) ? each.spans[0][0].split(",")[0] : plain(each))).join(" ");
}

/** A pane as its title, with its text if it has nothing to show. */
function otherPane([pane, empty]) {
  const found = made("button");
  found.type = "button";
  found.dataset.action = `pane(${pane})`;
  found.append(made("kbd", "", paneKey(pane)), ` ${D.panes.get(pane).title}`, made("span", "r-dim", empty && `  ${empty}`));
  return found;
}

/** Choose a pane, which stays open, or give it up again. */
function choosePane(pane) {
  if (pane === 1) S.own = [];
  else if (S.own.includes(pane) && S.focus === pane) S.own = S.own.filter((each) => each !== pane);
  else if (!S.own.includes(pane)) S.own.push(pane);
  S.focus = S.own.includes(pane) ? pane : 1;
  S.zoomed = S.zoomed && S.focus > 1;
}

function listenToPanes() {
  addEventListener("focusin", ({ target }) => {
    const pane = target.closest("[data-pane]");
    if (pane) S.focus = +pane.dataset.pane;
    else if (target.id === "list") S.focus = 1;
    for (const [number, { whole }] of drawnPanes) whole.classList.toggle("chosen", number > 0 && number === S.focus);
  });
  element("panes").addEventListener("click", ({ target }) => {
    const place = target.closest("[data-goto]"), pane = target.closest("[data-pane]");
    if (pane) S.focus = +pane.dataset.pane;
    if (place) act(() => goTo(+place.dataset.goto));
    else if (pane) render();
  });
}
