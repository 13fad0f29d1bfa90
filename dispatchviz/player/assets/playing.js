// -- Played: step after step by itself, each as long as one reads it --------------------------------------------------

const P = { timer: 0, tempo: 1 };

function play() {
  S.note = words(D.said.playing.trim(), "hint");
  playOn();
}

function playOn() {
  const [words, shortest, longest] = D.said.reading, read = element("sentence").textContent.split(/\s+/).length / words;
  P.timer = setTimeout(playStep, (1000 * Math.max(shortest, Math.min(read, longest))) / P.tempo);
}

function playStep() {
  const before = S.at;
  P.timer = 0;
  act(() => {
    MOVES.into();
    if (S.at !== before && !A.open) P.timer = 1;
    else if (!A.open) S.note = words(D.said.the_end.trim(), "hint");
  });
  if (P.timer) playOn();
}

/** What a key does while it is played: another tempo, or it stops; whether it does no more. */
function playedOn(key) {
  if (!P.timer) return false;
  clearTimeout(P.timer);
  P.timer = 0;
  const by = { "+": 1, "-": -1 }[key], tempos = D.said.tempos;
  if (by) {
    P.tempo = tempos[Math.max(0, Math.min(tempos.indexOf(P.tempo) + by, tempos.length - 1))];
    act(play);
    return true;
  }
  act(() => (S.note = words(D.said.paused.trim(), "hint")));
  return key === " " || key === "Escape";
}
