// -- Playing: from row to row until a question or the end --------------------------------------------------------------

const P = { timer: 0, tempo: 1 };

const playingNote = () => words(`${D.remarks.playing.trim()} (×${P.tempo})`, "hint");

function play() {
  S.note = playingNote();
  playOn();
}

function playOn() {
  P.timer = setTimeout(playRow, (1000 * D.remarks.row_seconds) / P.tempo);
}

function playRow() {
  const before = S.at;
  P.timer = 0;
  act(() => {
    byRows(1);
    if (A.open) return;
    P.timer = S.at !== before;
    S.note = P.timer ? playingNote() : words(D.remarks.the_end.trim(), "hint");
  });
  if (P.timer) playOn();
}

/** Change the tempo or stop playing at a key. Return whether the key does nothing else. */
function playedOn(key) {
  if (!P.timer) return false;
  clearTimeout(P.timer);
  P.timer = 0;
  const by = { "+": 1, "-": -1 }[key], tempos = D.remarks.tempos;
  if (by) {
    P.tempo = tempos[Math.max(0, Math.min(tempos.indexOf(P.tempo) + by, tempos.length - 1))];
    act(play);
    return true;
  }
  act(() => (S.note = words(D.remarks.paused.trim(), "hint")));
  return key === " " || key === "Escape";
}
