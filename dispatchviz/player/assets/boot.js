"use strict";

// Unpacks the page: its style sheet, its script, and what was recorded, which the script finds as `recorded`.

let recorded;

async function boot() {
  const packed = atob(document.getElementById("packed").textContent.trim());
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const page = await new Response(stream).json();
  recorded = page.recorded;
  for (const tag of ["style", "script"]) {
    const part = document.createElement(tag);
    part.textContent = page[tag];
    document.head.append(part);
  }
}

boot();
