// -- A swipe to the left is a step, to the right the step before ------------------------------------------------------

const FAR_ENOUGH = 60;

function listenToTouch() {
  let from = null;
  addEventListener("touchstart", ({ touches, target }) => {
    from = touches.length === 1 && !target.closest(".picture, input") && !scrolls(target) ? touches[0] : null;
  }, { passive: true });
  addEventListener("touchend", ({ changedTouches }) => {
    if (!from) return;
    const right = changedTouches[0].clientX - from.clientX, down = changedTouches[0].clientY - from.clientY;
    from = null;
    if (Math.abs(right) > FAR_ENOUGH && Math.abs(right) > 2 * Math.abs(down)) act(right < 0 ? MOVES.into : MOVES.into_back);
  }, { passive: true });
}

/** Return whether a swipe there scrolls something wider than its pane. */
function scrolls(target) {
  const body = target.closest(".body");
  return body !== null && body.scrollWidth > body.clientWidth;
}
