// The search of the site runs in a Worker, which browsers refuse to pages that are opened from a folder (file:).
// There a hidden frame takes its place: it runs the same script, and messages go both ways as events.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      const load = (address) => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        Object.assign(script, { src: address, async: false, onload: done, onerror: failed });
        inside.document.head.appendChild(script);
      });
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...addresses) => Promise.all(addresses.map(load));
      this.ready = load(new URL(url, location));
    }

    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
