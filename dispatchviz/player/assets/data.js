"use strict";

// -- The data, and the tables in it -----------------------------------------------------------------------------------

let D; // all that was recorded: see player_data.py

const element = (id) => document.getElementById(id);

/** Numbers from their differences. */
function sums(differences, sum = 0) {
  return Int32Array.from(differences, (each) => (sum += each));
}

/** The place of the first of some sorted numbers that is larger. */
function behind(numbers, number) {
  let low = 0;
  for (let high = numbers.length; low < high; ) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= number) low = middle + 1;
    else high = middle;
  }
  return low;
}

const has = (numbers, number) => numbers[behind(numbers, number) - 1] === number;

/** Lists of numbers, each written as what differs from the one before it, now and then whole. */
class Lists {
  constructor(written) {
    this.written = written;
    this.known = new Map();
  }

  at(number) {
    if (this.known.has(number)) return this.known.get(number);
    const [begin, ...rest] = this.written[number];
    const list = begin < 0 ? [...sums(rest)] : this.changed(this.at(number - 1), begin, rest);
    if (this.known.size > 5000) this.known.clear();
    this.known.set(number, list);
    return list;
  }

  changed(before, begin, [end, ...differences]) {
    return [...before.slice(0, begin), ...sums(differences, before[begin] ?? 0), ...before.slice(before.length - end)];
  }
}

const LEFT_OUT = -1;

/** What is shown from step to step. */
class Track {
  constructor({ steps, shown, lists }) {
    this.steps = sums(steps);
    this.shown = sums(shown);
    this.lists = new Lists(lists);
  }

  number(step) {
    return this.shown[behind(this.steps, step) - 1];
  }

  /** The numbers of the lines of a step; null if they are not in the file. */
  at(step) {
    const number = this.number(step);
    return number === LEFT_OUT ? null : this.lists.at(number);
  }
}

/** Decodes what is written as differences. */
function prepare(data) {
  D = data;
  prepareLines(D.lines);
  D.why = new Track(D.why);
  D.where = new Track(D.where);
  D.panes = new Map(D.panes.map((pane) => [pane.number, { ...pane, rows: new Track(pane.rows), empty: new Track(pane.empty) }]));
  D.walk.lists = new Lists(D.walk.lists);
  D.walk.calls = new Map(D.walk.calls.map(([step, ...stages]) => [step, stages]));
  D.questions.cells = new Map(D.questions.cells);
  D.graph.begins = sums(D.graph.begins);
  for (const name in D.places) D.places[name] = sums(D.places[name]);
  const steps = D.tree.steps;
  for (const name of ["labels", "facts"]) steps[name] = sums(steps[name]);
  steps.texts = steps.texts.map((more, step) => steps.labels[step] + more);
  steps.parents = steps.parents.map((back, step) => step - back);
  steps.ends = steps.lengths.map((length, step) => step + length);
}

const kind = (step) => D.tree.kinds[D.tree.steps.kinds[step]];
const last = () => D.count - 1;

function* around(step) {
  for (let at = D.tree.steps.parents[step]; at >= 0; at = D.tree.steps.parents[at]) yield at;
}
