// -- Played: from row to row by itself, until a question or the end ----------------------------------------------------

const P = { timer: 0, tempo: 1 };

const playingNote = () => words(`${D.said.playing.trim()} (×${P.tempo})`, "hint");

function play() {
  S.note = playingNote();
  playOn();
}

function playOn() {
  P.timer = setTimeout(playRow, (1000 * D.said.row_seconds) / P.tempo);
}

function playRow() {
  const before = S.at;
  P.timer = 0;
  act(() => {
    byRows(1);
    if (A.open) return;
    P.timer = S.at !== before;
    S.note = P.timer ? playingNote() : words(D.said.the_end.trim(), "hint");
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
