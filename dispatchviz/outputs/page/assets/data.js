"use strict";

// -- The data, and the tables in it -----------------------------------------------------------------------------------

let D; // the recording: see player_data.py

const element = (id) => document.getElementById(id);

/** Numbers from their differences. */
function sums(differences, sum = 0) {
  return Int32Array.from(differences, (each) => (sum += each));
}

/** Numbers as written_numbers.py writes them, as text. */
function numbersOf(text) {
  const found = [];
  let value = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at), digit = code - 32 - (code > 34) - (code > 92);
    if (digit >= 64) value = 29 * value + digit - 63;
    else {
      const number = 64 * value + digit;
      found.push(number % 2 ? -(number + 1) / 2 : number / 2);
      value = 0;
    }
  }
  return Int32Array.from(found);
}

const ordered = (text) => sums(numbersOf(text));

/** Numbers from how recent each of them is. */
function recentOnes(text) {
  const found = numbersOf(text), seen = [];
  let largest = -1;
  found.forEach((place, at) => {
    let number;
    if (place >= 0) [number] = place ? seen.splice(place, 1) : [seen.shift()];
    else {
      number = largest + 1 + (place % 2 ? (-place - 1) / 2 : place / 2);
      largest = Math.max(largest, number);
      if (seen.length === 512) seen.pop();
    }
    seen.unshift(number);
    found[at] = number;
  });
  return found;
}

/** The index of the first larger number among sorted ones. */
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

/** Lists of numbers, each written as its difference from the one before it, and some written whole. */
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

/** The lines of a pane from step to step. */
class Track {
  constructor({ steps, shown, lists }) {
    this.steps = ordered(steps);
    this.shown = ordered(shown);
    this.lists = new Lists(lists);
  }

  number(step) {
    return this.shown[behind(this.steps, step) - 1] ?? LEFT_OUT;
  }

  /** The numbers of the lines of a step; null if they are not in the file. */
  at(step) {
    const number = this.number(step);
    return number === LEFT_OUT ? null : this.lists.at(number);
  }
}

/** Decode numbers that are written as differences. */
function prepare(data) {
  D = data;
  prepareLines(D.lines);
  D.why = new Track(D.why);
  D.where = new Track(D.where);
  const tracked = (each) => ({ ...each, rows: new Track(each.rows) });
  D.panes = new Map(D.panes.map((pane) => [
    pane.number, { ...tracked(pane), empty: new Track(pane.empty), others: pane.others.map(tracked) },
  ]));
  for (const name in D.texts) D.texts[name] = tracked(D.texts[name]);
  D.then.lists = D.then.lists.map((list) => new Track(list));
  D.then.places = D.then.places.map((place) => new Track(place));
  D.walk.lists = new Lists(D.walk.lists);
  D.walk.calls = new Map(D.walk.calls.map(([step, ...stages]) => [step, stages]));
  D.questions.cells = new Map(D.questions.cells);
  D.graph.begins = sums(D.graph.begins);
  for (const name in D.places) D.places[name] = ordered(D.places[name]);
  const steps = D.tree.steps;
  for (const name in steps) steps[name] = (name === "labels" ? ordered : numbersOf)(steps[name]);
  steps.texts = steps.texts.map((more, step) => steps.labels[step] + more);
  steps.parents = steps.parents.map((back, step) => step - back);
  steps.ends = steps.lengths.map((length, step) => step + length);
}

const kind = (step) => D.tree.kinds[D.tree.steps.kinds[step]];
const last = () => D.count - 1;

function* around(step) {
  for (let at = D.tree.steps.parents[step]; at >= 0; at = D.tree.steps.parents[at]) yield at;
}
