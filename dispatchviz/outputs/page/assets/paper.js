// -- On paper: this step with all its panes, then the list of steps ---------------------------------------------------

const MOST_ON_PAPER = 2000;

function beforePrint() {
  const listed = rows().slice(0, MOST_ON_PAPER).map((each) => {
    const found = made("li", each.step === S.at ? "here" : "");
    found.style.setProperty("--depth", each.depth);
    found.append(...rowParts(each, ahead()).map(drawnSpan));
    return found;
  });
  element("paper").replaceChildren(...listed);
}

function listenToPrinter() {
  addEventListener("beforeprint", beforePrint);
  addEventListener("afterprint", () => element("paper").replaceChildren());
}
