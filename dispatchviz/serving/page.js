// The websocket is beside this page, whatever name the browser has for the server. textual.js reads it on load.
const terminal = document.getElementById("terminal");
terminal.dataset.sessionWebsocketUrl = new URL("ws", location.href).href.replace(/^http/, "ws");
// Keys go to the terminal from the beginning, without a click; textual.js makes it when the page has loaded.
window.addEventListener("load", () => document.querySelector(".xterm-helper-textarea")?.focus());
