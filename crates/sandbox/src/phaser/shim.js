// What Phaser finds around it instead of a browser: as much of the document as it asks for, a clock
// that only the host advances, a seeded `Math.random`, and assets that load at once and are blank.
// It is run once, in the zygote, before Phaser itself.
//
// `host` has all there is of the outside: log(text), asset(address), webgl(), register(game),
// entered(game) and left(game). No program can reach it. A program may bend everything else that is
// here for itself: frames are counted and scenes are read by the host, without running any JavaScript.
//
// size: one closure, so that nothing but this file can hold `host`.
(host) => {
  const { log, asset, webgl, register, entered, left } = host;
  const { apply, construct } = Reflect;
  const window = globalThis;
  const nothing = () => {};

  // --- the clock
  const EPOCH = 1767225600000;
  let clock = 0;
  const RealDate = Date;
  function FixedDate(...parts) {
    if (!new.target) return new RealDate(EPOCH + clock).toString();
    return construct(RealDate, parts.length ? parts : [EPOCH + clock], new.target);
  }
  FixedDate.prototype = RealDate.prototype;
  FixedDate.UTC = RealDate.UTC;
  FixedDate.parse = RealDate.parse;
  FixedDate.now = () => Math.floor(EPOCH + clock);
  RealDate.prototype.constructor = FixedDate;
  delete RealDate.now;

  // --- randomness: a shift register of 32 bits, seeded by the host
  let state = 1;
  const random = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };

  // --- what is to be done: loads at once, timers when they are due, callbacks of this frame
  let loads = [];
  let timers = [];
  let waiting = [];
  let frame = [];
  let last = 0;
  const soon = (run) => { loads.push(run); };
  const timer = (every) => (run, delay, ...values) => {
    const wait = delay > 1 ? +delay : 1;
    const call = typeof run === "function" ? () => run(...values) : () => (0, eval)(String(run));
    timers.push({ id: ++last, at: clock + wait, every: every ? Math.max(wait, 4) : 0, call });
    return last;
  };
  const clear = (id) => { timers = timers.filter((one) => one.id !== id); };
  const due = () => {
    let first;
    for (const one of timers) if (one.at <= clock && (!first || one.at < first.at)) first = one;
    return first;
  };
  const begin = (milliseconds) => {
    clock += milliseconds;
    frame = waiting;
    waiting = [];
  };
  // One piece of work a call, so that the host runs promises in between; whether there was any.
  const turn = () => {
    if (loads.length) {
      loads.shift()();
      return true;
    }
    const one = due();
    if (one) {
      if (one.every) one.at += one.every;
      else clear(one.id);
      one.call();
      return true;
    }
    if (!frame.length) return false;
    frame.shift().run(clock);
    return true;
  };

  // --- events
  class Target {
    #listeners = new Map();
    addEventListener(type, listener, options) {
      const list = this.#listeners.get(type) ?? [];
      if (!list.some((one) => one.listener === listener)) list.push({ listener, once: !!options?.once });
      this.#listeners.set(type, list);
    }
    removeEventListener(type, listener) {
      this.#listeners.set(type, (this.#listeners.get(type) ?? []).filter((one) => one.listener !== listener));
    }
    dispatchEvent(event) {
      event.target ??= this;
      event.currentTarget = this;
      const handler = this[`on${event.type}`];
      if (typeof handler === "function") handler.call(this, event);
      for (const { listener, once } of [...(this.#listeners.get(event.type) ?? [])]) {
        if (once) this.removeEventListener(event.type, listener);
        if (typeof listener === "function") listener.call(this, event);
        else listener?.handleEvent?.(event);
      }
      return !event.defaultPrevented;
    }
  }
  class Event {
    constructor(type, values) {
      Object.assign(this, { type, target: null, defaultPrevented: false, bubbles: true, cancelable: true, timeStamp: clock }, values);
    }
    preventDefault() { this.defaultPrevented = true; }
    stopPropagation() { this.stopped = true; }
    stopImmediatePropagation() { this.stopped = true; }
  }
  class UIEvent extends Event {}
  class KeyboardEvent extends UIEvent { getModifierState() { return false; } }
  class MouseEvent extends UIEvent {}
  class PointerEvent extends MouseEvent {}
  class CustomEvent extends Event {}

  // --- elements
  const box = (width, height) => ({ x: 0, y: 0, left: 0, top: 0, right: width, bottom: height, width, height });
  class Style {
    setProperty(name, value) { this[name] = value; }
    removeProperty(name) { delete this[name]; }
    getPropertyValue(name) { return this[name] ?? ""; }
  }
  class Element extends Target {
    style = new Style();
    dataset = {};
    children = [];
    parentNode = null;
    attributes = {};
    clientWidth = 1024;
    clientHeight = 768;
    offsetWidth = 1024;
    offsetHeight = 768;
    innerHTML = "";
    textContent = "";
    value = "";
    classList = { add: nothing, remove: nothing, toggle: nothing, contains: () => false };
    constructor(name) {
      super();
      this.tagName = this.nodeName = String(name).toUpperCase();
    }
    get childNodes() { return this.children; }
    get parentElement() { return this.parentNode; }
    get firstChild() { return this.children[0] ?? null; }
    get ownerDocument() { return document; }
    appendChild(child) {
      child?.remove?.();
      if (child) child.parentNode = this;
      this.children.push(child);
      return child;
    }
    append(...children) { for (const child of children) this.appendChild(child); }
    prepend(child) { this.insertBefore(child); }
    insertBefore(child) {
      child.remove?.();
      child.parentNode = this;
      this.children.unshift(child);
      return child;
    }
    removeChild(child) {
      this.children = this.children.filter((one) => one !== child);
      if (child) child.parentNode = null;
      return child;
    }
    remove() { this.parentNode?.removeChild?.(this); }
    contains(other) { return other === this || this.children.includes(other); }
    setAttribute(name, value) { this.attributes[name] = String(value); }
    getAttribute(name) { return this.attributes[name] ?? null; }
    hasAttribute(name) { return name in this.attributes; }
    removeAttribute(name) { delete this.attributes[name]; }
    querySelector() { return new Element("div"); }
    querySelectorAll() { return []; }
    getElementsByTagName() { return []; }
    getBoundingClientRect() { return box(this.clientWidth, this.clientHeight); }
    cloneNode() { return new this.constructor(this.tagName); }
    focus() {}
    blur() {}
    click() { this.dispatchEvent(new MouseEvent("click")); }
    canPlayType() { return this.tagName === "VIDEO" ? "probably" : ""; }
    load() {}
    play() { return Promise.resolve(); }
    pause() {}
    requestFullscreen() { return Promise.resolve(); }
    requestPointerLock() {}
  }

  // --- a canvas that draws nothing
  const pixels = (width, height) => ({ width, height, data: new Uint8ClampedArray(Math.max(1, width | 0) * Math.max(1, height | 0) * 4) });
  class CanvasRenderingContext2D {
    fillStyle = "#000000";
    strokeStyle = "#000000";
    globalAlpha = 1;
    globalCompositeOperation = "source-over";
    lineWidth = 1;
    font = "10px sans-serif";
    imageSmoothingEnabled = true;
    constructor(canvas) { this.canvas = canvas; }
    measureText(text) {
      const size = parseFloat(/([\d.]+)px/.exec(this.font)?.[1] ?? "10");
      const width = String(text).length * size * 0.6;
      return {
        width, actualBoundingBoxLeft: 0, actualBoundingBoxRight: width,
        actualBoundingBoxAscent: size * 0.8, actualBoundingBoxDescent: size * 0.2,
        fontBoundingBoxAscent: size * 0.8, fontBoundingBoxDescent: size * 0.2,
      };
    }
    getImageData(_x, _y, width, height) { return pixels(width, height); }
    createImageData(width, height) { return typeof width === "object" ? pixels(width.width, width.height) : pixels(width, height); }
    createLinearGradient() { return { addColorStop: nothing }; }
    createRadialGradient() { return { addColorStop: nothing }; }
    createConicGradient() { return { addColorStop: nothing }; }
    createPattern() { return { setTransform: nothing }; }
    isPointInPath() { return false; }
    getTransform() { return { a: 1, b: 0, c: 0, d: 1, e: 0, f: 0 }; }
    getLineDash() { return []; }
  }
  for (const name of ["arc", "arcTo", "beginPath", "bezierCurveTo", "clearRect", "clip", "closePath", "drawImage", "ellipse",
    "fill", "fillRect", "fillText", "lineTo", "moveTo", "putImageData", "quadraticCurveTo", "rect", "resetTransform", "restore",
    "rotate", "roundRect", "save", "scale", "setLineDash", "setTransform", "stroke", "strokeRect", "strokeText", "transform", "translate"]) {
    CanvasRenderingContext2D.prototype[name] = nothing;
  }
  class HTMLCanvasElement extends Element {
    width = 300;
    height = 150;
    #context;
    constructor() { super("canvas"); }
    getContext(kind) {
      if (kind === "2d") return (this.#context ??= new CanvasRenderingContext2D(this));
      webgl();
      return null;
    }
    getBoundingClientRect() { return box(this.width, this.height); }
    toDataURL() { return "data:image/png;base64,"; }
    toBlob(done) { soon(() => done(new Blob([]))); }
  }

  // --- assets: each address is told to the host, and is a blank image or an empty object
  const told = (address) => {
    const text = String(address);
    if (!text.startsWith("data:") && !text.startsWith("blob:")) asset(text);
    return text;
  };
  class HTMLImageElement extends Element {
    complete = false;
    crossOrigin = null;
    onload = null;
    onerror = null;
    #source = "";
    constructor(width = 32, height = 32) {
      super("img");
      this.width = this.naturalWidth = width || 32;
      this.height = this.naturalHeight = height || 32;
    }
    get src() { return this.#source; }
    set src(address) {
      this.#source = told(address);
      soon(() => {
        this.complete = true;
        this.dispatchEvent(new Event("load", { target: this }));
      });
    }
    decode() { return Promise.resolve(); }
  }
  class Blob {
    constructor(parts, options) { Object.assign(this, { size: 0, type: options?.type ?? "" }); }
    text() { return Promise.resolve("{}"); }
    arrayBuffer() { return Promise.resolve(new ArrayBuffer(0)); }
  }
  class XMLHttpRequest extends Target {
    readyState = 0;
    status = 0;
    statusText = "";
    response = null;
    responseText = "";
    responseType = "";
    responseURL = "";
    #address = "";
    open(_method, address) { this.#address = String(address); this.readyState = 1; }
    setRequestHeader() {}
    overrideMimeType() {}
    getResponseHeader() { return null; }
    getAllResponseHeaders() { return ""; }
    abort() {}
    send() {
      this.responseURL = told(this.#address);
      soon(() => {
        const kinds = { blob: () => new Blob([]), arraybuffer: () => new ArrayBuffer(4), json: () => ({}), document: () => new XmlDocument() };
        const text = () => (this.responseText = /\.(glsl|frag|vert|txt|csv|html|css|svg)/.test(this.#address) ? "" : "{}");
        Object.assign(this, { readyState: 4, status: 200, statusText: "OK" });
        this.response = (kinds[this.responseType] ?? text)();
        const done = { target: this, currentTarget: this, loaded: 1, total: 1, lengthComputable: true };
        for (const type of ["readystatechange", "progress", "load", "loadend"]) this.dispatchEvent(new Event(type, done));
      });
    }
  }
  const fetch = (address) => {
    told(typeof address === "object" ? address?.url : address);
    const body = { json: async () => ({}), text: async () => "{}", blob: async () => new Blob([]), arrayBuffer: async () => new ArrayBuffer(0) };
    return Promise.resolve({ ok: true, status: 200, headers: new Map(), ...body });
  };

  // --- a document of XML that could be a bitmap font with the printable characters of ASCII
  class XmlNode {
    constructor(values) { this.values = values; }
    getAttribute(name) { return String(this.values[name] ?? 0); }
    getElementsByTagName() { return []; }
  }
  class XmlDocument {
    documentElement = new XmlNode({});
    getElementsByTagName(name) {
      if (name === "info") return [new XmlNode({ face: "blank", size: 16 })];
      if (name === "common") return [new XmlNode({ lineHeight: 16, scaleW: 32, scaleH: 32 })];
      if (name !== "char") return [];
      return Array.from({ length: 95 }, (_, at) => new XmlNode({ id: 32 + at, width: 8, height: 16, xadvance: 8 }));
    }
  }

  // --- window and document
  const elements = new Map();
  const make = (name) => {
    const kind = String(name).toLowerCase();
    return kind === "canvas" ? new HTMLCanvasElement() : kind === "img" ? new HTMLImageElement() : new Element(kind);
  };
  const named = (name) => {
    if (!elements.has(name)) elements.set(name, new Element("div"));
    return elements.get(name);
  };
  class Document extends Target {
    readyState = "complete";
    hidden = false;
    visibilityState = "visible";
    title = "";
    cookie = "";
    documentElement = new Element("html");
    head = new Element("head");
    body = new Element("body");
    fonts = { ready: Promise.resolve(), load: () => Promise.resolve([]), add: nothing, check: () => true, status: "loaded" };
    createElement(name) { return make(name); }
    createElementNS(_space, name) { return make(name); }
    createTextNode(text) { return Object.assign(new Element("#text"), { textContent: String(text) }); }
    createDocumentFragment() { return new Element("#fragment"); }
    createEvent() { return new Event(""); }
    getElementById(id) { return named(`#${id}`); }
    querySelector(selector) { return named(String(selector)); }
    querySelectorAll() { return []; }
    getElementsByTagName() { return []; }
    getElementsByClassName() { return []; }
    elementFromPoint() { return null; }
    exitFullscreen() { return Promise.resolve(); }
    exitPointerLock() {}
    hasFocus() { return true; }
  }
  const document = new Document();
  document.documentElement.append(document.head, document.body);
  const pageEvents = new Target();
  class Storage {
    #values = new Map();
    get length() { return this.#values.size; }
    getItem(key) { return this.#values.get(String(key)) ?? null; }
    setItem(key, value) { this.#values.set(String(key), String(value)); }
    removeItem(key) { this.#values.delete(String(key)); }
    clear() { this.#values.clear(); }
    key(at) { return [...this.#values.keys()][at] ?? null; }
  }
  const shown = (value) => {
    if (typeof value === "string") return value;
    if (typeof value !== "object" || value === null) return String(value);
    return value instanceof Error ? `${value.name}: ${value.message}` : Object.prototype.toString.call(value);
  };
  const print = (...values) => { log(values.slice(0, 8).map(shown).join(" ").slice(0, 400)); };
  const console = {};
  for (const name of ["log", "info", "debug", "warn", "error", "trace", "dir", "table"]) console[name] = print;
  for (const name of ["assert", "clear", "count", "group", "groupCollapsed", "groupEnd", "time", "timeEnd", "timeLog"]) console[name] = nothing;

  const place = { href: "http://localhost/", protocol: "http:", host: "localhost", hostname: "localhost", pathname: "/", search: "", hash: "", origin: "http://localhost", reload: nothing };
  const screen = { width: 1024, height: 768, availWidth: 1024, availHeight: 768, orientation: { type: "landscape-primary", addEventListener: nothing }, lockOrientation: nothing };
  const agent = "Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0.0.0 Safari/537.36";
  const navigator = { userAgent: agent, appVersion: agent, platform: "Linux x86_64", language: "en", languages: ["en"], maxTouchPoints: 0, onLine: true, vibrate: () => false, getGamepads: () => [] };
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const atob = (text) => {
    let [bits, held, out] = [0, 0, ""];
    for (const letter of String(text).replace(/[=\s]/g, "")) {
      held = (held << 6) | alphabet.indexOf(letter);
      bits += 6;
      if (bits >= 8) {
        bits -= 8;
        out += String.fromCharCode((held >> bits) & 255);
        held &= (1 << bits) - 1;
      }
    }
    return out;
  };
  const btoa = (text) => {
    let out = "";
    for (let at = 0; at < text.length; at += 3) {
      const [a, b, c] = [0, 1, 2].map((n) => text.charCodeAt(at + n));
      const group = (a << 16) | ((b || 0) << 8) | (c || 0);
      out += [18, 12, 6, 0].map((shift, n) => (at + n - 1 >= text.length ? "=" : alphabet[(group >> shift) & 63])).join("");
    }
    return out;
  };
  const animate = (run) => {
    waiting.push({ id: ++last, run });
    return last;
  };
  const stopAnimating = (id) => {
    waiting = waiting.filter((one) => one.id !== id);
    frame = frame.filter((one) => one.id !== id);
  };
  const global = {
    window, self: window, top: window, parent: window, document, navigator, location: place, screen, console, Date: FixedDate,
    performance: { now: () => clock, mark: nothing, measure: nothing, timeOrigin: EPOCH },
    setTimeout: timer(false), setInterval: timer(true), clearTimeout: clear, clearInterval: clear,
    setImmediate: (run) => timer(false)(run, 0), requestIdleCallback: (run) => timer(false)(run, 1),
    requestAnimationFrame: animate, cancelAnimationFrame: stopAnimating,
    queueMicrotask: (run) => { Promise.resolve().then(run); },
    addEventListener: pageEvents.addEventListener.bind(pageEvents),
    removeEventListener: pageEvents.removeEventListener.bind(pageEvents),
    dispatchEvent: pageEvents.dispatchEvent.bind(pageEvents),
    innerWidth: 1024, innerHeight: 768, outerWidth: 1024, outerHeight: 768, devicePixelRatio: 1, pageXOffset: 0, pageYOffset: 0, scrollX: 0, scrollY: 0,
    focus: nothing, blur: nothing, alert: nothing, confirm: () => false, prompt: () => null, open: () => null, scrollTo: nothing,
    getComputedStyle: (element) => element?.style ?? new Style(), matchMedia: () => ({ matches: false, addListener: nothing, addEventListener: nothing }),
    localStorage: new Storage(), sessionStorage: new Storage(), atob, btoa, fetch, Blob, XMLHttpRequest, Storage,
    URL: Object.assign(class { constructor(href) { this.href = String(href); } toString() { return this.href; } }, { createObjectURL: () => "blob:blank", revokeObjectURL: nothing }),
    URLSearchParams: class { get() { return null; } has() { return false; } },
    Image: HTMLImageElement, HTMLImageElement, HTMLCanvasElement, HTMLElement: Element, Element, Node: Element, EventTarget: Target, CanvasRenderingContext2D,
    HTMLVideoElement: class extends Element {}, HTMLAudioElement: class extends Element {}, Audio: class extends Element { constructor() { super("audio"); } },
    Event, UIEvent, KeyboardEvent, MouseEvent, PointerEvent, CustomEvent,
    DOMParser: class { parseFromString() { return new XmlDocument(); } }, FileReader: class extends Target {}, ResizeObserver: class { observe() {} disconnect() {} },
    history: { pushState: nothing, replaceState: nothing, back: nothing },
  };
  for (const name of Object.keys(global)) {
    Object.defineProperty(window, name, { value: global[name], writable: true, configurable: true, enumerable: true });
  }
  Math.random = random;

  // --- events that the host scripts
  let canvas = document.body;
  const bubble = (event, targets) => { for (const one of targets) if (!event.stopped) one.dispatchEvent(event); };
  const plain = { altKey: false, ctrlKey: false, shiftKey: false, metaKey: false };
  const key = (keyCode, key, code, down) => {
    const event = new KeyboardEvent(down ? "keydown" : "keyup", { keyCode, which: keyCode, key, code, location: 0, repeat: false, ...plain });
    bubble(event, [document, pageEvents]);
  };
  let pressed = false;
  const pointer = (x, y, down) => {
    if (typeof down === "boolean") pressed = down;
    const kind = down === undefined ? "move" : down ? "down" : "up";
    const types = [`pointer${kind}`, `mouse${kind}`];
    if (kind === "up") types.push("click");
    const values = { pageX: x, pageY: y, clientX: x, clientY: y, offsetX: x, offsetY: y, screenX: x, screenY: y, movementX: 0, movementY: 0 };
    for (const type of types) {
      const event = new PointerEvent(type, { ...values, button: 0, buttons: pressed ? 1 : 0, pointerId: 1, pointerType: "mouse", isPrimary: true, ...plain });
      event.target = canvas;
      bubble(event, [canvas, document, pageEvents]);
    }
  };
  const loaded = () => {
    document.dispatchEvent(new Event("DOMContentLoaded"));
    const event = new Event("load", { target: document });
    if (typeof window.onload === "function") window.onload(event);
    pageEvents.dispatchEvent(event);
  };

  // --- Phaser itself: headless, without sound, and known to the host
  const adopt = () => {
    const { Phaser } = window;
    const Original = Phaser.Game;
    const { HEADLESS } = Phaser;
    const Game = function Game(config) {
      const headless = { type: HEADLESS, audio: { noAudio: true }, banner: false };
      const game = construct(Original, [Object.assign({}, config, headless)], new.target ?? Game);
      canvas = game.canvas ?? canvas;
      return game;
    };
    Game.prototype = Original.prototype;
    Original.prototype.constructor = Game;
    Phaser.Game = Game;
    // What programs ask a renderer for; it draws nothing.
    const renderer = (game) => ({
      type: Phaser.CANVAS, width: game.config.width, height: game.config.height, config: game.config, game,
      gameCanvas: game.canvas, gameContext: game.canvas?.getContext?.("2d"), currentContext: game.canvas?.getContext?.("2d"), gl: null, blendModes: new Array(40).fill("source-over"), drawCount: 0, antialias: true,
      ...Object.fromEntries(["on", "once", "off", "addListener", "removeListener", "removeAllListeners", "emit", "resize", "preRender", "render", "postRender",
        "resetTransform", "setBlendMode", "setContext", "setAlpha", "snapshot", "snapshotArea", "snapshotPixel", "snapshotCanvas", "batchSprite", "destroy"].map((name) => [name, nothing])),
    });
    // A game is known from its first act on: its constructor may never come to an end.
    const { boot, start, headlessStep } = Game.prototype;
    Game.prototype.boot = function () {
      register(this);
      apply(boot, this, []);
      canvas = this.canvas ?? canvas;
      this.renderer ??= renderer(this);
    };
    // A game with a renderer would draw with it.
    Game.prototype.start = function () {
      const drawing = this.renderer;
      this.renderer = null;
      apply(start, this, []);
      this.renderer = drawing;
    };
    // Cameras follow and scroll while they are drawn, which a headless game never does.
    const look = (game) => {
      const { scenes } = game.scene;
      for (let at = 0; at < scenes.length; at++) {
        const { sys } = scenes[at];
        const cameras = sys.settings.status === 5 ? sys.cameras?.cameras : undefined;
        if (cameras) for (let camera = 0; camera < cameras.length; camera++) cameras[camera].preRender();
      }
    };
    Game.prototype.headlessStep = function (time, delta) {
      entered(this);
      apply(headlessStep, this, [time, delta]);
      if (this.scene?.scenes) look(this);
      left(this);
    };
    // A blank atlas has every frame that is asked for.
    const blank = new WeakSet();
    const { add } = Phaser.Textures.Texture.prototype;
    const provide = (texture, name) => {
      const made = blank.has(texture) && typeof name === "string" && name && !(name in texture.frames);
      if (!made) return;
      // Adding asks whether it is there.
      blank.delete(texture);
      apply(add, texture, [name, 0, 0, 0, 32, 32]);
      blank.add(texture);
    };
    for (const name of ["get", "has"]) {
      const original = Phaser.Textures.Texture.prototype[name];
      Phaser.Textures.Texture.prototype[name] = function (...values) {
        provide(this, values[0]);
        return apply(original, this, values);
      };
    }
    for (const name of ["addAtlas", "addAtlasXML", "addUnityAtlas", "addAtlasJSONHash", "addAtlasJSONArray"]) {
      const original = Phaser.Textures.TextureManager.prototype[name];
      if (original) Phaser.Textures.TextureManager.prototype[name] = function (key, source, ...rest) {
        const texture = apply(original, this, [key, source, ...rest]);
        if (texture && source instanceof HTMLImageElement) {
          blank.add(texture);
          for (let at = 0; at < 8; at++) provide(texture, `frame${at}`);
        }
        return texture;
      };
    }
    // A blank sheet has room for 64 frames of whatever size they are.
    const { addSpriteSheet } = Phaser.Textures.TextureManager.prototype;
    Phaser.Textures.TextureManager.prototype.addSpriteSheet = function (name, source, config, ...rest) {
      if (source instanceof HTMLImageElement && config) {
        source.width = source.naturalWidth = Math.max(source.width, 8 * (config.frameWidth || 32));
        source.height = source.naturalHeight = Math.max(source.height, 8 * (config.frameHeight || config.frameWidth || 32));
      }
      return apply(addSpriteSheet, this, [name, source, config, ...rest]);
    };
  };
  const seed = (number) => { state = number | 0 || 1; };
  return { adopt, begin, turn, key, pointer, loaded, seed };
}
