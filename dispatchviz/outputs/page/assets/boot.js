"use strict";

// Unpacks the page: its style sheet, its script, and the recording, which the script finds as `recorded`.

let recorded;

// Bytes from base 85: five characters for four bytes.
function unpacked(text) {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%.()*+-;/=,?@^_]:|[~";
  const values = new Uint8Array(128), whole = Math.ceil(text.length / 5), view = new DataView(new ArrayBuffer(4 * whole));
  for (let at = 0; at < 85; at++) values[digits.charCodeAt(at)] = at;
  for (let group = 0; group < whole; group++) {
    let value = 0;
    for (let at = 5 * group; at < 5 * group + 5; at++) value = 85 * value + (at < text.length ? values[text.charCodeAt(at)] : 84);
    view.setUint32(4 * group, value);
  }
  return view.buffer.slice(0, Math.floor(text.length * 4 / 5));
}

async function boot() {
  const packed = unpacked(document.getElementById("packed").textContent.trim());
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const page = await new Response(stream).json();
  recorded = page.recorded;
  for (const tag of ["style", "script"]) {
    const part = document.createElement(tag);
    part.textContent = page[tag];
    document.head.append(part);
  }
}

boot();
