// -- Lines: spans of text with the names of their roles ---------------------------------------------------------------

const HERE = 1, CUT = 2, SHADED = 4;

function prepareLines(lines) {
  const ways = [
    [numbersOf, "numbers", "span_roles", "rows", "values", "gotos", "indents", "flags"],
    [ordered, "span_texts", "keys"],
    [recentOnes, "texts", "row_spans", "lines"],
  ];
  for (const [read, ...names] of ways) for (const name of names) lines[name] = read(lines[name]);
  const ends = (counts) => {
    let end = 0;
    return Int32Array.from(counts, (count) => (end += count));
  };
  lines.ends = ends(lines.rows);
  lines.pieces = lines.templates.map((template) => template.split("\0"));
  lines.holes = ends(Array.from(lines.texts, (template) => lines.pieces[template].length - 1));
  prepareNumbers(lines);
}

/** The numbers of each text, from their differences to the last text of the same template. */
function prepareNumbers({ texts, pieces, numbers }) {
  const last = pieces.map((each) => new Array(each.length - 1).fill(0));
  let at = 0;
  for (const template of texts)
    for (let hole = 0; hole < last[template].length; hole++, at++) numbers[at] = last[template][hole] += numbers[at];
}

/** A text by its number: a template and the numbers in it. */
function text(number) {
  const pieces = D.lines.pieces[D.lines.texts[number]], first = D.lines.holes[number] - pieces.length + 1;
  return pieces.reduce((before, piece, at) => before + D.lines.numbers[first + at - 1] + piece);
}

/** A text and its role. */
const span = (number) => [text(D.lines.span_texts[number]), D.lines.roles[D.lines.span_roles[number]]];

/** A line as a value, as the stepper's panes have it. */
function line(number) {
  const L = D.lines, row = L.lines[number], goto = L.gotos[number] - 1;
  return {
    spans: [...L.row_spans.subarray(L.ends[row] - L.rows[row], L.ends[row])].map(span),
    key: text(L.keys[number]).replace("\x01", goto),
    value: text(L.values[number]),
    goto,
    indent: L.indents[number],
    flags: L.flags[number],
  };
}

const words = (text, role = "") => ({ spans: [[text, role]], key: "", value: "", goto: -1, indent: 0, flags: 0 });
const plain = (row) => row.spans.map(([text]) => text).join("");

function made(tag, className = "", text = "") {
  const found = document.createElement(tag);
  if (className) found.className = className;
  if (text) found.textContent = text;
  return found;
}

const drawnFrom = new WeakMap(); // the value of each element that `fill` made

/** Show an element for each value. Unchanged elements stay, so the browser lays out only new ones. */
function fill(parent, values, make) {
  const signs = values.map((value) => JSON.stringify(value)), old = [...parent.children];
  const isKept = (at, place) => drawnFrom.get(old[at]) === signs[place];
  const drawn = (place) => {
    const found = make(values[place]);
    drawnFrom.set(found, signs[place]);
    return found;
  };
  if (old.length === signs.length) return old.forEach((each, at) => isKept(at, at) || each.replaceWith(drawn(at)));
  const most = Math.min(old.length, signs.length);
  let begin = 0, end = 0;
  while (begin < most && isKept(begin, begin)) begin++;
  while (end < most - begin && isKept(old.length - 1 - end, signs.length - 1 - end)) end++;
  for (const each of old.slice(begin, old.length - end)) each.remove();
  const made = Array.from({ length: signs.length - end - begin }, (_, at) => drawn(begin + at));
  if (end) old.at(-end).before(...made);
  else parent.append(...made);
}

function drawnSpan([text, role, address]) {
  const loud = role.startsWith("new:");
  const name = (loud ? role.slice(4) : role).replace(".", "-");
  const looks = `${name && `r-${name}`}${loud ? " loud" : ""}`;
  if (address) return Object.assign(made("a", looks, text), { href: address });
  return name.startsWith("term") ? drawnTerm(text, looks) : made("span", looks, text);
}

/** A line as an element; one that leads to a step is a button. */
function drawn(row) {
  const found = made(row.goto >= 0 ? "button" : "div", "row");
  if (row.goto >= 0) {
    found.type = "button";
    found.dataset.goto = row.goto;
    found.title = `step ${row.goto}`;
  }
  if (row.flags & CUT) {
    found.classList.add("cut");
    found.title = [plain(row).trim(), found.title].filter(Boolean).join("\n");
  }
  if (row.flags & SHADED) found.classList.add("shaded");
  if (row.flags & HERE) found.classList.add("here");
  if (row.indent) found.style.setProperty("--indent", `${row.indent}ch`);
  found.append(...row.spans.map(drawnSpan));
  if (!plain(row)) found.textContent = "\u00a0";
  return found;
}

/** Rows with signs for differences from those before: `+` for a new row, `~` and the former value for a changed one. */
function marked(now, before) {
  const old = new Map(before.filter((row) => row.key).map((row) => [row.key, row]));
  const all = !now.some((row) => old.has(row.key));
  return now.map((row) => markedRow(row, all ? row : old.get(row.key)));
}

/** The text of a row apart from its sign and from the widths of its columns. */
const unmarked = (row) => plain(row).replace(/[▶\s]+/g, " ");

function markedRow(row, was) {
  let spans = [["  ", ""], ...row.spans];
  if (row.key && !was) spans = [["+ ", "new"], ...loud(row, "")];
  else if (row.key && unmarked(was) !== unmarked(row))
    spans = [["~ ", "new"], ...loud(row, row.value && was.value !== row.value ? ` (was ${was.value})` : "")];
  return { ...row, spans, indent: row.indent + 2 };
}

function loud(row, former) {
  const spans = row.spans.map(([text, role]) => [text, `new:${role}`]);
  const place = row.spans.findIndex(([text]) => text === row.value);
  spans.splice(place < 0 ? spans.length : place + 1, 0, ...(former ? [[former, "was"]] : []));
  return spans;
}
