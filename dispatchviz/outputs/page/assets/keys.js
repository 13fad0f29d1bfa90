// -- Actions: one table for keys and buttons --------------------------------------------------------------------------

const ACTIONS = {
  ask_step: askStep,
  ask_search: askSearch,
  ask_filter: askFilter,
  toggle_mark: toggleMark,
  marks: listMarks,
  ask_breakpoint: askBreakpoint,
  breakpoints: listBreakpoints,
  places: listPlaces,
  cross,
  then_and_now: () => thenAndNow(0),
  frames: () => showOther(CALLS_PANE, D.remarks.stacks),
  engine: () => showOther(ENGINE, D.remarks.engines),
  help,
  predict,
  copy_link: copyLink,
  print: () => setTimeout(print),
  zoom: () => (S.zoomed = !S.zoomed && S.focus > 1),
  "zoom(False)": escape,
  present: () => (S.presenting = !S.presenting),
  theme: changeTheme,
  "search(True)": () => nextHit(1),
  "search(False)": () => nextHit(-1),
  "app.row(1)": () => byRows(1),
  "app.row(-1)": () => byRows(-1),
  "app.page(1)": () => page(1),
  "app.page(-1)": () => page(-1),
  "app.enter": () => (S.focus === 1 ? MOVES.unfold() : ACTIONS.zoom()),
  "app.autoplay": play,
};

for (const name of ["app.ask_thing", "traceback", "registration"]) ACTIONS[name] = () => showText(name);

/** The function of an action. Its name contains the arguments. */
function actionOf(name) {
  if (name in ACTIONS) return ACTIONS[name];
  const [, what, argument, forward] = /^(\w+)\('?([^',]*)'?(?:,\s(\w+))?\)$/.exec(name);
  return {
    move: MOVES[argument],
    jump: JUMPS[argument],
    detail: () => detail(+argument),
    pane: () => choosePane(+argument),
    target: () => target(argument, forward === "True"),
    graph: () => graph(argument),
  }[what];
}

/** Run an action and show its result. */
function act(what) {
  Object.assign(S, { note: null, isFirst: false });
  what();
  render();
}

function page(by) {
  if (S.presenting) return by > 0 ? (D.lesson ? along(1) : MOVES.into()) : D.lesson ? along(-1) : MOVES.into_back();
  if (S.focus > 1) return void (drawnPanes.get(S.focus).body.scrollTop += by * drawnPanes.get(S.focus).body.clientHeight);
  byRows(by * Math.max(1, Math.floor(L.height / rowHeight()) - 1));
}

function escape() {
  if (A.open) answer(-1);
  else if (S.zoomed) S.zoomed = false;
  else if (S.presenting) S.presenting = false;
  else S.focus = 1;
}

function changeTheme() {
  const root = document.documentElement, isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = (root.dataset.theme ?? (isDark ? "dark" : "light")) === "dark" ? "light" : "dark";
}

let keyTable, prefix = "";

function prepareKeys() {
  keyTable = new Map(D.keys.filter(({ action }) => !action.startsWith("graph(")).flatMap(({ action, keys }) => keys.map((key) => [key, action])));
}

/** The keys of the picture while its pane is chosen. */
const GRAPH_KEYS = {
  "+": () => graph("in"),
  "-": () => graph("out"),
  0: () => graph("fit"),
  Enter: () => graph("fold"),
  "*": () => graph("modules"),
  ArrowLeft: () => pan(G.shown, 60, 0),
  ArrowRight: () => pan(G.shown, -60, 0),
  ArrowUp: () => pan(G.shown, 0, 60),
  ArrowDown: () => pan(G.shown, 0, -60),
};

function pressed(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || element("dialog").open) return;
  const due = A.enterIsDue;
  A.enterIsDue = false;
  if ((due && key === "Enter") || playedOn(key)) return event.preventDefault();
  if (target.id === "slider" && key.startsWith("Arrow")) return;
  if (target.id === "typed" && key !== "Escape") return;
  if (target.matches("button") && (key === "Enter" || key === " ")) return;
  const what = keyed(key);
  if (!what) return;
  event.preventDefault();
  act(what);
}

function keyed(key) {
  if (A.open) return questionKey(key);
  if (S.focus === GRAPH_PANE && G.shown?.box.isConnected && key in GRAPH_KEYS) return GRAPH_KEYS[key];
  const typed = prefix + key, action = keyTable.get(typed);
  prefix = !prefix && (key === "]" || key === "[") ? key : "";
  return action && actionOf(action);
}

function questionKey(key) {
  const choices = A.open.choices.length;
  if (key >= "1" && key <= `${choices}`) return () => {
    answer(key - 1);
    A.enterIsDue = true;
  };
  if (key === "Escape" || key === D.remarks.goes_on) return () => answer(-1);
  if (key === "p") return predict;
  if (key === "PageDown") return reveals;
  if (key === "PageUp") return () => {
    closeQuestion();
    along(-1);
  };
  const buttons = [...document.querySelectorAll("#question button")], here = buttons.indexOf(document.activeElement);
  const by = { ArrowDown: 1, n: 1, ArrowUp: -1, N: -1 }[key];
  return by && (() => buttons[(here + by + buttons.length) % buttons.length].focus());
}

function listenToKeys() {
  addEventListener("keydown", pressed);
  addEventListener("click", ({ target }) => {
    const action = target.closest?.("[data-action]")?.dataset.action;
    if (!action) return;
    const played = P.timer;
    playedOn("");
    if (played && action === "app.autoplay") return;
    if (element("dialog").open) element("dialog").close();
    act(actionOf(action));
  });
  element("slider").addEventListener("input", ({ target }) => act(() => goTo(+target.value, false)));
  addEventListener("hashchange", () => linkedStep() >= 0 && linkedStep() !== S.at && act(() => goTo(linkedStep())));
  addEventListener("resize", () => render());
}
