// -- The backward graph: laid out once, with boxes that show the Nodes as of the step ----------------------------------

const G = { layouts: new Map(), asRows: false, shown: null, view: null, box: null, pointers: new Map(), moved: false };

const sceneNumber = () => behind(D.graph.begins, stepOf(GRAPH_PANE)) - 1;

/** Draw the picture into the pane. Return whether there is one. */
function drawGraph(parts, asked) {
  const scene = D.graph.scenes[sceneNumber()];
  if (!scene || G.asRows || D.panes.get(GRAPH_PANE).empty.at(stepOf(GRAPH_PANE)).length) return false;
  const picture = pictureOf(scene);
  parts.shown = "";
  parts.more.replaceChildren(...graphButtons(true, scene));
  if (parts.body.firstChild !== picture.box) parts.body.replaceChildren(picture.box);
  if (G.shown !== picture) {
    markModules(picture);
    show(picture);
  }
  update(scene, picture, asked !== null);
  return true;
}

/** Make the pictures of the neighboring graphs in idle time, so that a step there shows them at once. */
function prepareNeighbors() {
  const number = sceneNumber(), near = [D.graph.scenes[number + 1], D.graph.scenes[number - 1]];
  const scene = near.find((each) => each && !layoutOf(each).picture);
  if (scene) soon(() => pictureOf(scene) && prepareNeighbors());
}

const soon = globalThis.requestIdleCallback ?? setTimeout;

const layoutOf = (scene) => scene.layouts[G.layouts.get(scene) ?? 0];

function pictureOf(scene) {
  const layout = layoutOf(scene);
  layout.picture ??= parsed(layout);
  return layout.picture;
}

/** The picture as elements of the page. Only its shapes and texts are kept. */
function parsed({ svg, boxes }) {
  const found = document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
  for (const each of found.querySelectorAll("script, style, foreignObject, title, a")) each.replaceWith(...(each.localName === "a" ? each.childNodes : []));
  for (const each of found.querySelectorAll(".node > g, .edge > g")) each.replaceWith(...each.childNodes); // groups that were links
  found.setAttribute("role", "img");
  found.setAttribute("aria-label", "backward graph");
  const box = made("div", "picture"), [, , width, height] = found.getAttribute("viewBox").split(" ").map(Number);
  box.append(found);
  resized.observe(box);
  const nodes = [...found.querySelectorAll("g.node")].map((group) => drawnNode(group, boxes)).filter(Boolean);
  const edges = [...found.querySelectorAll("g.edge")].map((group) => [group, /^n(\d+)e/.exec(group.id)?.[1]]);
  return { box, svg: found, width, height, nodes, edges };
}

/** Fit a picture again when its pane changes its size. The browser reports this after a layout that it does anyway. */
const resized = new ResizeObserver(() => {
  if (!G.shown?.box.isConnected) return;
  G.box = null;
  if (G.view.fitted) show(G.shown);
});

/** Frames that can be folded. */
function markModules({ svg }) {
  const there = modules(!isWhole(layoutName()));
  for (const frame of svg.querySelectorAll("g.cluster")) frame.classList.toggle("module", frame.querySelector("text").textContent in there);
}

/** A box of the picture, its Nodes, its texts. */
function drawnNode(group, boxes) {
  const number = /\bn(\d+)\b/.exec(group.getAttribute("class"))?.[1];
  if (number === undefined) return null;
  const folded = boxes?.[`n${number}`];
  const members = folded?.nodes ?? [+number];
  if (folded && members.length > 1) group.classList.add("folded");
  return { group, number, members, folded, texts: group.id === `n${number}` ? [...group.querySelectorAll("text")] : [] };
}

// -- At a step --------------------------------------------------------------------------------------------------------

function update(scene, picture, hidesUnmade) {
  const now = new Map(Object.entries(scene.nodes).map(([number, life]) => [+number, lookOf(life)]));
  const here = aboutNode();
  for (const node of picture.nodes) {
    const states = node.members.map((member) => now.get(member)?.state ?? "unmade");
    const state = stateOf(states);
    if (node.group.dataset.state !== state) node.group.dataset.state = state;
    node.group.classList.toggle("about", node.members.includes(here));
    node.group.classList.toggle("gone", hidesUnmade && state === "unmade");
    if (node.texts.length) setTexts(node, textsOf(node, states, now));
  }
  for (const [group, tail] of picture.edges) {
    const unmade = tail !== undefined && now.has(+tail) && now.get(+tail) === null;
    if (group.dataset.state !== (unmade ? "unmade" : "")) group.dataset.state = unmade ? "unmade" : "";
    group.classList.toggle("gone", hidesUnmade && unmade);
  }
  follow(picture);
}

/** The look of a Node at this step; null before it is made. */
function lookOf(life) {
  life.all ??= sums(life.steps);
  const place = behind(life.all, stepOf(GRAPH_PANE)) - 1;
  return place < 0 ? null : { state: life.states[place], texts: life.texts[place], isLast: place === life.all.length - 1 };
}

const NOT_MADE = "not made yet";
const URGENT = ["failed", "running", "queued"]; // a box of several Nodes shows the first of these states that one of them has

function stateOf(states) {
  return URGENT.find((state) => states.includes(state)) ?? states.toSorted((a, b) => count(states, b) - count(states, a))[0];
}

const count = (states, state) => states.filter((each) => each === state).length;

/** The texts of a box now: title, state, lines. A box of several Nodes counts their states. */
function textsOf(node, states, now) {
  if (!node.folded) return now.get(node.members[0])?.texts.map(text) ?? null;
  if (states.every((state) => state === "unmade")) return null;
  const over = node.members.every((member) => now.get(member)?.isLast);
  const [title, , ...facts] = (over ? node.folded.after : node.folded.before).map(text);
  const lone = node.members.length === 1 ? now.get(node.members[0])?.texts[1] : undefined;
  return [title, lone === undefined ? counted(states) : text(lone), ...facts];
}

function counted(found) {
  const states = found.every((each) => each === "released") ? found : found.map((each) => (each === "released" ? "done" : each));
  const state = stateOf(states), word = D.graph.states[state] ?? NOT_MADE, alike = count(states, state);
  if (alike === states.length) return state === "created" ? "" : word;
  return `${alike}/${states.length} ${word}`;
}

/** Write texts into a box that was laid out with other texts. */
function setTexts(node, texts) {
  node.original ??= node.texts.map((each) => each.textContent);
  const shown = texts ?? [node.original[0], NOT_MADE];
  const facts = (node.folded ? node.folded.after : null)?.length ?? lastTexts(node).length;
  const hasState = lastState(node) !== "";
  node.texts.forEach((each, at) => {
    const part = hasState ? at : at && at + 1;
    setText(each, part < facts ? shown[part] ?? "" : node.original[at], node.original[at]);
  });
}

const lifeOf = (node) => D.graph.scenes[sceneNumber()].nodes[node.number];
const lastTexts = (node) => lifeOf(node).texts.at(-1);
const lastState = (node) => text((node.folded ? node.folded.after : lastTexts(node))[1]);

function setText(element, text, original) {
  if (element.textContent === text) return;
  const room = widthOf(element, original) + 12;
  element.textContent = text;
  element.removeAttribute("textLength");
  if (text !== original && widthOf(element, text) > room) {
    element.setAttribute("textLength", room);
    element.setAttribute("lengthAdjust", "spacingAndGlyphs");
  }
}

const ruler = document.createElement("canvas").getContext("2d");

/** The width of a text, measured without a layout of the page. */
function widthOf(element, text) {
  ruler.font = `${element.getAttribute("font-size")}px ${element.getAttribute("font-family")}`;
  return ruler.measureText(text).width;
}

/** The Node of the step, read from the rows of the pane. */
function aboutNode() {
  const here = rowsAt(GRAPH_PANE, stepOf(GRAPH_PANE))?.find((each) => each.flags & HERE);
  return here ? +(/^node (\d+)/.exec(here.key)?.[1] ?? -1) : -1;
}

// -- Zoom, pan, fold --------------------------------------------------------------------------------------------------

const SMALLEST = 0.6, LARGEST = 1.25, CLOSEST = 6;

/** Show a new picture: all of it, or the readable part of a large one. */
function show(picture) {
  G.shown = picture;
  fit(picture);
  const scale = G.box.clientWidth / G.view.width;
  if (scale < SMALLEST) zoom(picture, SMALLEST / scale, picture.width / 2, 0);
}

/** Show the whole picture, no larger than is readable. */
function fit(picture) {
  const { clientWidth, clientHeight } = G.box ?? picture.box;
  G.box = { clientWidth, clientHeight };
  const scale = Math.min(LARGEST, (clientWidth || 600) / picture.width, (clientHeight || 400) / picture.height);
  const width = (clientWidth || 600) / scale, height = (clientHeight || 400) / scale;
  G.view = { x: (picture.width - width) / 2, y: 0, width, height, fitted: true };
  look(picture);
}

function look(picture) {
  const { x, y, width, height } = G.view;
  picture.svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
}

/** Zoom around a point of the picture, by default its middle. */
function zoom(picture, by, x = G.view.x + G.view.width / 2, y = G.view.y + G.view.height / 2) {
  const scale = Math.max(picture.box.clientWidth / G.view.width * by, 0.05) > CLOSEST ? 1 : by;
  G.view = { x: x + (G.view.x - x) / scale, y: y + (G.view.y - y) / scale, width: G.view.width / scale, height: G.view.height / scale, fitted: false };
  look(picture);
}

function pan(picture, right, down) {
  const scale = G.view.width / picture.box.clientWidth;
  G.view = { ...G.view, x: G.view.x - right * scale, y: G.view.y - down * scale, fitted: false };
  look(picture);
}

/** Scroll to the box of the step, if only a part of the picture is visible. */
function follow(picture) {
  if (G.view.fitted) return;
  const about = picture.nodes.find((node) => node.group.classList.contains("about"));
  if (!about) return;
  const [x, y] = (about.middle ??= middleOf(picture, about.group)), view = G.view;
  if (x >= view.x && x <= view.x + view.width && y >= view.y && y <= view.y + view.height) return;
  G.view = { ...view, x: x - view.width / 2, y: y - view.height / 2 };
  look(picture);
}

/** The middle of a box, in the picture's own units. */
function middleOf(picture, group) {
  const shape = group.querySelector("polygon, path"), moved = numbersIn(/translate\(([^)]*)/.exec(picture.svg.querySelector("g").getAttribute("transform"))[1]);
  const places = numbersIn(shape.getAttribute("points") ?? shape.getAttribute("d"));
  const middle = (which) => { const found = places.filter((_, at) => at % 2 === which); return (Math.min(...found) + Math.max(...found)) / 2 + moved[which]; };
  return [middle(0), middle(1)];
}

const numbersIn = (text) => text.match(/-?[\d.]+/g).map(Number);

function graphButtons(isPicture, scene) {
  if (!D.graph.scenes[sceneNumber()]) return [];
  const buttons = isPicture ? [["in", "+", "zoom in"], ["out", "−", "zoom out"], ["fit", "fit", "fit the whole graph"]] : [];
  const { name } = isPicture ? layoutOf(scene) : {}, there = (other) => isPicture && scene.layouts.some((each) => each.name === other);
  if (there("folded")) buttons.push(["fold", isWhole(name) ? "fold" : "unfold", "fold or unfold repeats"]);
  if (there("modules") || there("folded modules")) buttons.push(["modules", ["modules", "module frames", "module boxes"][modulesIn(name)], "show modules as frames, as boxes, or not at all"]);
  buttons.push(["rows", isPicture ? "rows" : "picture", "show rows or a picture"]);
  return buttons.map(([name, text, title]) => {
    const found = made("button", "", text);
    found.type = "button";
    found.title = title;
    found.dataset.action = `graph('${name}')`;
    return found;
  });
}

// The name of a layout says which parts are folded: "", "folded", "folded modules" with frames, "folded boxes", "boxes net.up" with that module unfolded, "n12".
const isWhole = (layout) => !/^(folded|n\d+$)/.test(layout);
const modulesIn = (layout) => (/^(?:folded )?boxes\b/.test(layout) ? 2 : layout.endsWith("modules") ? 1 : 0);
const named = (isFolded, ...others) => [isFolded && "folded", ...others].filter(Boolean).join(" ");
const layoutName = () => layoutOf(D.graph.scenes[sceneNumber()]).name;

const GRAPH = {
  in: (picture) => zoom(picture, 1.3),
  out: (picture) => zoom(picture, 1 / 1.3),
  fit,
  fold() {
    const name = layoutName(), folds = isWhole(name);
    changeLayout(named(folds, ["", "modules", "boxes"][modulesIn(name)]), named(folds));
  },
  modules() {
    const name = layoutName(), isFolded = !isWhole(name);
    [() => changeLayout(named(isFolded, "modules")), () => boxed(isFolded, ""), () => changeLayout(named(isFolded))][modulesIn(name)]();
  },
  rows: () => (G.asRows = !G.asRows),
};

function graph(what) {
  const scene = D.graph.scenes[sceneNumber()];
  S.focus = GRAPH_PANE;
  if (scene) GRAPH[what](pictureOf(scene));
}

/** Show another picture of the same graph: the first of these names that exists. */
function changeLayout(...names) {
  const scene = D.graph.scenes[sceneNumber()], there = scene.layouts.map(({ name }) => name);
  const name = names.find((each) => there.includes(each));
  if (name !== undefined) G.layouts.set(scene, there.indexOf(name));
}

/** Show modules as boxes, but unfold one of them and those around it. */
function boxed(isFolded, opened) {
  changeLayout(named(isFolded, "boxes", opened), named(false, "boxes", opened), ...(opened ? [named(isFolded, "modules")] : [named(isFolded)]));
}

/** Unfold a box that was clicked, or fold a module whose title was clicked. */
function clicked(target) {
  const group = target.closest?.(".picture g.node.folded"), frame = target.closest?.(".picture g.cluster.module text");
  if (!group && !frame) return;
  const isFolded = !isWhole(layoutName()), { number, folded } = G.shown.nodes.find((node) => node.group === group) ?? {};
  if (frame) boxed(isFolded, modules(isFolded)[frame.textContent]);
  else if (folded.module) boxed(isFolded, folded.module);
  else changeLayout(`n${number}`, "");
  render();
}

/** Modules that can be boxes, each with the module around it. */
function modules(isFolded) {
  const { layouts } = D.graph.scenes[sceneNumber()];
  return [named(isFolded, "boxes"), "boxes"].map((each) => layouts.find(({ name }) => name === each)?.parents).find(Boolean) ?? {};
}

function listenToGraph() {
  const panes = element("panes"), inPicture = (event) => event.target.closest?.(".picture") && G.shown;
  panes.addEventListener("wheel", (event) => {
    const picture = inPicture(event);
    if (!picture) return;
    event.preventDefault();
    zoom(picture, event.deltaY < 0 ? 1.15 : 1 / 1.15, ...point(picture, event));
  }, { passive: false });
  panes.addEventListener("pointerdown", (event) => {
    if (!inPicture(event)) return;
    G.pointers.set(event.pointerId, event);
    G.moved = false;
  });
  addEventListener("pointermove", drag);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, ({ pointerId }) => G.pointers.delete(pointerId));
  panes.addEventListener("click", ({ target }) => G.moved || clicked(target));
}

const point = (picture, { clientX, clientY }) => {
  const frame = picture.box.getBoundingClientRect(), scale = G.view.width / frame.width;
  return [G.view.x + (clientX - frame.left) * scale, G.view.y + (clientY - frame.top) * scale];
};

/** One pointer moves the picture, two of them zoom. */
function drag(event) {
  const before = G.pointers.get(event.pointerId);
  if (!before || !G.shown) return;
  const right = event.clientX - before.clientX, down = event.clientY - before.clientY;
  if (Math.abs(right) + Math.abs(down) > 3) G.moved = true;
  const other = [...G.pointers.entries()].find(([id]) => id !== event.pointerId)?.[1];
  const distance = (a) => Math.hypot(a.clientX - other.clientX, a.clientY - other.clientY);
  if (other) zoom(G.shown, distance(event) / Math.max(distance(before), 1), ...point(G.shown, other));
  else pan(G.shown, right, down);
  G.pointers.set(event.pointerId, event);
}
