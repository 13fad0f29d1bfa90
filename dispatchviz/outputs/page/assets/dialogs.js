// -- Prompts and the help ---------------------------------------------------------------------------------------------

function closing() {
  const close = made("button", "close", "Close (Esc)");
  close.type = "button";
  close.addEventListener("click", () => element("dialog").close());
  return close;
}

/** Prompt for a text, and pass it to `done`. */
function prompted(title, value, done) {
  const form = made("form"), label = made("label", "", title), input = made("input");
  form.method = "dialog";
  input.value = value;
  input.autocomplete = "off";
  label.append(input);
  form.append(label, made("button", "", "Enter"));
  form.addEventListener("submit", () => act(() => done(input.value)));
  opened(form);
  input.select();
}

function opened(...content) {
  const dialog = element("dialog");
  dialog.replaceChildren(...content);
  if (!dialog.open) dialog.showModal();
}

const askSearch = () => prompted("Search the steps: ", S.query, (text) => {
  search(text);
  if (S.hits.length && !S.hits.includes(S.at)) nextHit(1);
});

const askStep = () => prompted(`Step 0 to ${last()}: `, "", (text) => {
  const step = stepTyped(text);
  if (Number.isNaN(step)) S.note = words(`${text} is not a step: write 37, +10, -10 or 50%`, "warning");
  else goTo(step);
});

/** Show the help: the chosen pane, the signs, all keys. */
function help() {
  const found = made("div", "help"), about = D.about[S.focus];
  const signs = Object.entries(D.tree.signs).map(([name, sign]) => `${sign} ${name}`).join("   ");
  found.append(closing(), made("h2", "", "Help"), made("p", "", text(about)), made("p", "", D.legend), made("p", "", signs));
  let table = null, group = "";
  for (const key of D.keys) {
    if (key.group !== group) {
      group = key.group;
      table = made("table");
      found.append(made("h3", "", group), table);
    }
    const row = made("tr"), keys = made("td"), action = made("td"), does = made("button", "does", key.help);
    does.type = "button";
    if (key.action !== "graph('move')") does.dataset.action = key.action;
    keys.append(made("kbd", "", key.shown));
    action.append(does);
    row.append(keys, action);
    table.append(row);
  }
  opened(found);
}

// -- A link to this step ----------------------------------------------------------------------------------------------

// A page in a notebook's output has no address of its own, so only the number of the step can be copied.
const hasAddress = () => location.protocol !== "about:";

async function copyLink() {
  writeLink();
  const link = hasAddress() ? location.href : `step ${S.at}`;
  try {
    await navigator.clipboard.writeText(link);
    S.note = words(`Copied: ${link}`, "hint");
  } catch {
    S.note = words(hasAddress() ? `The link to this step: ${link}` : `This is ${link}. A page in a notebook has no links`, "hint");
  }
  render();
}

const writeLink = () => !hasAddress() || history.replaceState(null, "", `#step=${S.at}${marksInLink()}`);

/** The marks and their names for the link, so that its readers have them. */
function marksInLink() {
  const found = [...S.marks].map(([step, name]) => (name ? `${step}:${encodeURIComponent(name)}` : step));
  return found.length ? `&marks=${found.join(",")}` : "";
}

function linkedMarks() {
  const written = /&marks=([^&]*)/.exec(location.hash)?.[1].split(",") ?? [];
  const found = written.map((each) => /^(\d+)(?::(.*))?$/.exec(each)).filter((each) => each && +each[1] <= last());
  return new Map(found.map(([, step, name]) => [+step, nameIn(name ?? "")]));
}

function nameIn(written) {
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}

let linkTimer = 0;

/** Update the link, less often than a browser allows. */
function writeLinkSoon() {
  clearTimeout(linkTimer);
  linkTimer = setTimeout(writeLink, 300);
}

function linkedStep() {
  const found = /#step=(\d+)/.exec(location.hash);
  return found ? Math.min(+found[1], last()) : -1;
}
