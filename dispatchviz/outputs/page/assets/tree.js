// -- The overview as a tree: lines of the program, iterations, calls, events of a level ------------------------------------

const STATEMENT = 0, ITERATION = 1, CALL = 2, EVENT = 3, RUN = 4;

/** The tree of one level. An item is its number; items are in the order in which they begin, outermost first. */
class Tree {
  constructor(level) {
    this.level = level;
    this.kinds = []; this.begins = []; this.ends = []; this.parents = []; this.children = []; this.source = []; this.names = [];
    this.roots = [];
    this.open = [];
    this.fill(level);
    this.steps = Int32Array.from(new Set(this.begins));
  }

  fill(level) {
    const { rows, runs, steps } = D.tree;
    const several = [...runs[level]].reverse();
    let next = 0;
    for (let step = 0; step < D.count; step++) {
      let isLine = false;
      for (; rows[next]?.[1] === step; next++) {
        this.add(rows[next][0], step, step + rows[next][2], rows[next], `row ${next}`);
        isLine = true;
      }
      if (several.length && several.at(-1)[0] === step) {
        const run = several.pop();
        this.add(RUN, step, step + run[1], run, `run ${step}`);
      }
      if (!isLine && steps.levels[step] <= level) this.add(EVENT, step, steps.ends[step], null, `${step}`);
    }
  }

  add(kind, begin, end, source, name) {
    while (this.open.length && this.ends[this.open.at(-1)] < begin) this.open.pop();
    const item = this.kinds.length, parent = this.open.length ? this.open.at(-1) : -1;
    this.kinds.push(kind); this.begins.push(begin); this.ends.push(end); this.parents.push(parent);
    this.children.push(null); this.source.push(source); this.names.push(name);
    if (parent < 0) this.roots.push(item);
    else (this.children[parent] ??= []).push(item);
    this.open.push(item);
  }

  within(item) {
    return item < 0 ? this.roots : this.children[item] ?? [];
  }

  isMerged(item) {
    return this.kinds[item] !== STATEMENT && this.kinds[item] !== EVENT;
  }

  /** The items that begin at a step, outermost first. */
  at(step) {
    let item = behind(this.begins, step) - 1;
    const found = [];
    for (; item >= 0 && this.begins[item] === step; item--) found.unshift(item);
    return found;
  }

  /** The innermost item around a step that begins before it; -1 if there is none. */
  inside(step) {
    let item = behind(this.begins, step - 1) - 1;
    while (item >= 0 && this.ends[item] < step) item = this.parents[item];
    return item;
  }

  /** The item before one on its level; for the first one, the item around it; -1 if there is none. */
  before(item) {
    let parent = this.parents[item];
    while (parent >= 0 && this.begins[parent] === this.begins[item]) [item, parent] = [parent, this.parents[parent]];
    const place = this.within(parent).indexOf(item);
    return place > 0 ? this.within(parent)[place - 1] : parent;
  }

  /** The item before a step without an item, on its level; if there is none, the item around it. */
  beforeStep(step) {
    const around = this.inside(step);
    return this.within(around).findLast((item) => this.begins[item] < step) ?? around;
  }

  /** The visible rows: the item (-1 for a step without one), its step, its depth, whether it is unfolded. */
  rows(opened, at) {
    const rows = [], path = new Set();
    for (let item = this.inside(at); item >= 0; item = this.parents[item]) path.add(item);
    const stray = has(this.steps, at) ? -2 : this.inside(at);
    const walk = (item, depth) => {
      let open = item === stray;
      for (const child of this.within(item)) {
        if (open && this.begins[child] > at) {
          rows.push({ item: -1, step: at, depth, unfolded: false });
          open = false;
        }
        const inner = this.within(child).length > 0 || child === stray;
        const unfolded = inner && (path.has(child) || opened.has(this.names[child]));
        const merged = unfolded && this.isMerged(child);
        if (!merged) rows.push({ item: child, step: this.begins[child], depth, unfolded });
        if (unfolded) walk(child, merged ? depth : depth + 1);
      }
      if (open) rows.push({ item: -1, step: at, depth, unfolded: false });
    };
    walk(-1, 0);
    return rows;
  }

  /** The last step of a row. */
  end(row) {
    return row.item < 0 ? D.tree.steps.ends[row.step] : this.ends[row.item];
  }
}

const trees = new Map();

function treeOf(level) {
  if (!trees.has(level)) trees.set(level, new Tree(level));
  return trees.get(level);
}
