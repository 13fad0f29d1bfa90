// A page that is opened as a file may start no worker. The search of the site is one: here a hidden frame does its work.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html><title>search</title>";
      this.frame.addEventListener("load", () => this.start(url), { once: true });
      document.body.append(this.frame);
    }

    start(url) {
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = url;
      script.addEventListener("load", () => {
        this.postMessage = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
        this.waiting.forEach(this.postMessage);
      });
      inside.document.head.append(script);
    }

    postMessage(data) {
      this.waiting.push(data);
    }
  };
}
