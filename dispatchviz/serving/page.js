// Keys go to the terminal from the beginning, without a click; textual.js makes it when the page has loaded.
window.addEventListener("load", () => document.querySelector(".xterm-helper-textarea")?.focus());
