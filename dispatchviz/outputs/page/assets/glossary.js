// -- The glossary: the meaning of the term at the pointer or the focus --------------------------------------------------

/** The entry of a marked word. */
const termOf = (word) => D.glossary.find(([, words]) => new RegExp(`^(?:${words})$`).test(word));

/** A word with its meaning, which the pointer, the Tab key and a screen reader find. */
function drawnTerm(word, className) {
  const found = made("span", className, word), [name, , meaning] = termOf(word) ?? [word, "", ""];
  found.dataset.term = name;
  found.setAttribute("aria-description", meaning);
  return found;
}

/** Mark the first use of each term in the texts above the steps. */
function markTerms() {
  const seen = new Set();
  for (const each of document.querySelectorAll("#why [data-term]")) {
    const isFirst = !seen.has(each.dataset.term);
    each.classList.toggle("first", isFirst);
    each.tabIndex = isFirst ? 0 : -1;
    seen.add(each.dataset.term);
  }
}

function listenToTerms() {
  const meaning = element("meaning"), hide = () => (meaning.hidden = true);
  const show = ({ target }) => {
    const term = target.closest?.("[data-term]"), entry = term && termOf(term.textContent);
    if (!entry) return void (meaning.contains(target) || hide());
    meaning.replaceChildren(made("b", "", entry[0]), ` ${entry[2]}`);
    meaning.hidden = false;
    const place = term.getBoundingClientRect(), room = document.documentElement.clientWidth - meaning.offsetWidth - 8;
    meaning.style.left = `${Math.max(Math.min(place.left, room), 8)}px`;
    meaning.style.top = `${place.bottom}px`;
  };
  document.addEventListener("pointerover", show);
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || meaning.hidden) return;
    event.stopPropagation();
    hide();
  }, true);
  element("why").addEventListener("scroll", hide);
}
