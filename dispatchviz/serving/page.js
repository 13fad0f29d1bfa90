// The websocket is beside this page, under any name that the browser uses for the server. textual.js reads it on load.
const terminal = document.getElementById("terminal");
terminal.dataset.sessionWebsocketUrl = new URL("ws", location.href).href.replace(/^http/, "ws");
// Keys go to the terminal from the start, without a click. textual.js creates it when the page has loaded.
window.addEventListener("load", () => document.querySelector(".xterm-helper-textarea")?.focus());
