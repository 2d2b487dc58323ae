// What a JavaScript program finds around it: the part of Node that programs which read, compute and
// write use. It is run once, in the zygote, before any program.
//
// `host` has all there is of the outside: write(stream, text) to standard output (0) or error (1),
// input() for the bytes of standard input, decode(bytes), encode(text), and exit(). No program can
// reach it. The rest is ordinary JavaScript, which a program may bend for itself as it likes: nothing
// here decides anything.
//
// Time is not waited for: timers run at once, in the order of their times, for as long as somebody
// waits for an answer; who that is, the engine decides. Printed values look as
// Node prints them, but for the columns into which it puts long arrays.
//
// size: one closure, so that nothing but this file can hold `host`.
(host) => {
  const { write, input, decode, encode, exit } = host;

  // --- the loop: one turn a call, from outside, until there is nothing left
  const timers = [];
  let clock = 0;

  class Timer {
    constructor(run, delay, repeat) {
      const wait = delay >= 1 && delay < 2 ** 31 ? Math.trunc(delay) : repeat === undefined ? 0 : 1;
      Object.assign(this, { run, at: clock + wait, every: repeat ? wait : undefined, live: true });
      let place = timers.length;
      while (place > 0 && timers[place - 1].at > this.at) place--;
      timers.splice(place, 0, this);
    }
    ref() { return this; }
    unref() { return this; }
    hasRef() { return true; }
    close() { this.live = false; return this; }
    [Symbol.toPrimitive]() { return this.at; }
  }

  const turn = () => {
    const timer = timers.shift();
    if (!timer) return false;
    if (!timer.live) return true;
    clock = timer.at;
    if (timer.every !== undefined) {
      const again = new Timer(timer.run, timer.every, true);
      timers.splice(timers.indexOf(again), 1, timer);
      timer.at = again.at;
    }
    timer.run();
    return true;
  };
  const soon = (run) => new Timer(run, 0);
  const clear = (timer) => { if (timer instanceof Timer) timer.live = false; };
  const callable = (f) => {
    if (typeof f !== "function") throw new TypeError('The "callback" argument must be a function');
    return f;
  };

  // --- values as text
  const quote = (text) => {
    const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes("`") ? "`" : "'";
    const escapes = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v", "\\": "\\\\" };
    const inside = text.replace(/[\n\t\r\b\f\v\\]/g, (c) => escapes[c]);
    return mark + (mark === "'" ? inside.replace(/'/g, "\\'") : inside) + mark;
  };
  const primitive = (value) => {
    if (typeof value === "string") return quote(value);
    if (typeof value === "bigint") return `${value}n`;
    return Object.is(value, -0) ? "-0" : String(value);
  };
  const named = (f) => {
    if (/^class\b/.test(Function.prototype.toString.call(f))) return `[class ${f.name || "(anonymous)"}]`;
    return f.name ? `[Function: ${f.name}]` : "[Function (anonymous)]";
  };
  const className = (object) => {
    const prototype = Object.getPrototypeOf(object);
    if (prototype === null) return "[Object: null prototype]";
    return prototype.constructor?.name ?? "Object";
  };
  const inspect = (value, options, depth = 0, above = []) => {
    if (typeof value === "function") return named(value);
    if (typeof value !== "object" || value === null) return primitive(value);
    if (above.includes(value)) return "[Circular *1]";
    if (value instanceof Error) return value.stack ? `${value}\n${value.stack}`.trimEnd() : `[${value}]`;
    if (value instanceof Date) return isNaN(value) ? "Invalid Date" : value.toISOString();
    if (value instanceof RegExp) return String(value);
    for (const box of [Number, String, Boolean]) {
      if (value instanceof box) return `[${box.name}: ${primitive(value.valueOf())}]`;
    }
    const name = className(value);
    const list = Array.isArray(value) || ArrayBuffer.isView(value);
    const sized = list || value instanceof Map || value instanceof Set;
    const size = list ? value.length : value.size;
    const usual = list ? name === "Array" : name === "Object";
    const head = usual ? "" : sized ? `${name}(${size}) ` : `${name} `;
    const inner = (item) => inspect(item, options, depth + 1, [...above, value]);
    const [open, close] = list ? ["[", "]"] : ["{", "}"];
    const deep = depth > (options?.depth ?? 2);
    if (deep && (size || Object.keys(value).length)) return list ? "[Array]" : `[${name}]`;
    const parts = [];
    if (list) {
      for (let at = 0; at < Math.min(size, 100); at++) {
        let holes = 0;
        while (at + holes < size && !(at + holes in value)) holes++;
        parts.push(holes ? `<${holes} empty item${holes > 1 ? "s" : ""}>` : inner(value[at]));
        if (holes) at += holes - 1;
      }
      if (size > 100) parts.push(`... ${size - 100} more item${size > 101 ? "s" : ""}`);
    } else if (value instanceof Map) {
      for (const [key, item] of value) parts.push(`${inner(key)} => ${inner(item)}`);
    } else if (value instanceof Set) {
      for (const item of value) parts.push(inner(item));
    } else if (value instanceof Promise) {
      parts.push("<pending>");
    }
    const keys = Object.keys(value).filter((key) => !list || !/^\d+$/.test(key));
    for (const key of keys) {
      const { get, set, value: item } = Object.getOwnPropertyDescriptor(value, key);
      const shown = get ? (set ? "[Getter/Setter]" : "[Getter]") : set ? "[Setter]" : inner(item);
      parts.push(`${/^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key)}: ${shown}`);
    }
    if (parts.length === 0) return `${head}${open}${close}`;
    const line = `${head}${open} ${parts.join(", ")} ${close}`;
    if (line.length <= 72 && !line.includes("\n")) return line;
    const indent = "  ".repeat(depth + 1);
    return `${head}${open}\n${indent}${parts.join(`,\n${indent}`)}\n${"  ".repeat(depth)}${close}`;
  };
  const show = (value) => (typeof value === "string" ? value : inspect(value));
  const format = (...values) => {
    const words = [];
    if (typeof values[0] === "string" && values.length > 1 && values[0].includes("%")) {
      words.push(values.shift().replace(/%[sdifjoOc%]/g, (mark) => {
        if (mark === "%%") return "%";
        if (values.length === 0) return mark;
        const value = values.shift();
        switch (mark) {
          case "%s": return typeof value === "object" && value !== null ? inspect(value, { depth: 0 }) : show(value);
          case "%d": return typeof value === "bigint" ? `${value}n` : primitive(Number(value));
          case "%i": return primitive(parseInt(value));
          case "%f": return primitive(parseFloat(value));
          case "%j": return JSON.stringify(value);
          case "%c": return "";
          default: return inspect(value, { depth: 4 });
        }
      }));
    }
    return [...words, ...values.map(show)].join(" ");
  };

  // --- console
  let groups = "";
  const printer = (stream) => (...values) => {
    const text = values.length === 1 && typeof values[0] === "string" ? values[0] : format(...values);
    write(stream, (groups ? groups + text.replace(/\n/g, `\n${groups}`) : text) + "\n");
  };
  const [out, err] = [printer(0), printer(1)];
  const nothing = () => {};
  const console = {
    log: out, info: out, debug: out, dir: (value) => out(value), table: out,
    error: err, warn: err, trace: err,
    assert: (truth, ...values) => { if (!truth) err("Assertion failed", ...values); },
    group: (...values) => { if (values.length) out(...values); groups += "  "; },
    groupEnd: () => { groups = groups.slice(2); },
    time: nothing, timeEnd: nothing, timeLog: nothing, count: nothing, clear: nothing,
  };

  // --- bytes
  class Buffer extends Uint8Array {
    static from(value, ...rest) {
      return typeof value === "string" ? new Buffer(encode(value).buffer) : super.from(value, ...rest);
    }
    static alloc(size, fill = 0) { return new Buffer(size).fill(fill); }
    static allocUnsafe(size) { return new Buffer(size); }
    static isBuffer(value) { return value instanceof Buffer; }
    static byteLength(text) { return encode(text).length; }
    static concat(parts) { return Buffer.from(parts.flatMap((part) => [...part])); }
    toString(_encoding, start = 0, end = this.length) { return decode(new Uint8Array(this.subarray(start, end))); }
  }
  let taken = 0;
  let bytes;
  const stdinBytes = () => (bytes ??= new Buffer(input().buffer));

  // --- events and streams
  class EventEmitter {
    #listeners = new Map();
    on(event, listener) {
      callable(listener);
      this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
      return this;
    }
    once(event, listener) {
      const first = (...values) => { this.off(event, first); listener.apply(this, values); };
      first.listener = listener;
      return this.on(event, first);
    }
    off(event, listener) {
      const others = (this.#listeners.get(event) ?? []).filter((one) => one !== listener && one.listener !== listener);
      this.#listeners.set(event, others);
      return this;
    }
    emit(event, ...values) {
      const listeners = this.#listeners.get(event) ?? [];
      if (event === "error" && listeners.length === 0) throw values[0];
      for (const listener of listeners) listener.apply(this, values);
      return listeners.length > 0;
    }
    listenerCount(event) { return (this.#listeners.get(event) ?? []).length; }
    removeAllListeners(event) { event === undefined ? this.#listeners.clear() : this.#listeners.delete(event); return this; }
    setMaxListeners() { return this; }
    addListener(event, listener) { return this.on(event, listener); }
    removeListener(event, listener) { return this.off(event, listener); }
  }

  class Input extends EventEmitter {
    fd = 0;
    isTTY = false;
    #text = false;
    #flowing = false;
    setEncoding() { this.#text = true; return this; }
    on(event, listener) {
      super.on(event, listener);
      if (event === "data" || event === "readable") this.resume(event);
      return this;
    }
    resume(event = "data") {
      if (!this.#flowing) soon(() => this.#flow(event));
      this.#flowing = true;
      return this;
    }
    #flow(event) {
      if (event === "readable") this.emit("readable");
      else if (taken < stdinBytes().length) this.emit("data", this.read());
      this.emit("end");
      this.emit("close");
    }
    read() {
      const chunk = stdinBytes().subarray(taken);
      taken = stdinBytes().length;
      return chunk.length === 0 ? null : this.#text ? chunk.toString() : chunk;
    }
    async *[Symbol.asyncIterator]() {
      const chunk = this.read();
      if (chunk !== null) yield chunk;
    }
    pipe(to) { const chunk = this.read(); if (chunk !== null) to.write(chunk); return to; }
    pause() { return this; }
    ref() { return this; }
    unref() { return this; }
    destroy() { return this; }
  }

  class Output extends EventEmitter {
    isTTY = false;
    #stream;
    constructor(fd) { super(); this.fd = fd; this.#stream = fd - 1; }
    write(chunk, ...rest) {
      if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) {
        throw new TypeError('The "chunk" argument must be of type string or an instance of Buffer');
      }
      write(this.#stream, typeof chunk === "string" ? chunk : decode(chunk));
      const done = rest.find((value) => typeof value === "function");
      if (done) soon(done);
      return true;
    }
    end(chunk) { if (typeof chunk === "string" || chunk instanceof Uint8Array) this.write(chunk); return this; }
  }

  // --- modules
  const failed = (code, message) => Object.assign(new Error(message), { code });
  const isInput = (path) => path === 0 || path === "/dev/stdin";
  const encoding = (options) => (typeof options === "string" ? options : options?.encoding);
  const fs = {
    readFileSync(path, options) {
      if (!isInput(path)) throw failed("ENOENT", `ENOENT: no such file or directory, open '${path}'`);
      const chunk = stdinBytes().subarray(taken);
      taken = stdinBytes().length;
      return encoding(options) ? chunk.toString() : chunk;
    },
    readSync(fd, into, offset = 0, length = into.length - offset) {
      if (fd !== 0) throw failed("EBADF", "EBADF: bad file descriptor, read");
      const chunk = stdinBytes().subarray(taken, taken + length);
      into.set(chunk, offset);
      taken += chunk.length;
      return chunk.length;
    },
    writeSync(fd, chunk) {
      if (fd !== 1 && fd !== 2) throw failed("EBADF", "EBADF: bad file descriptor, write");
      (fd === 1 ? process.stdout : process.stderr).write(typeof chunk === "number" ? String(chunk) : chunk);
      return chunk.length;
    },
    writeFileSync(path, chunk) {
      const streams = { 1: 1, 2: 2, "/dev/stdout": 1, "/dev/stderr": 2 };
      if (!Object.hasOwn(streams, path)) throw failed("EACCES", `EACCES: permission denied, open '${path}'`);
      fs.writeSync(streams[path], chunk);
    },
    readFile(path, ...rest) {
      const done = rest.pop();
      soon(() => {
        let read;
        try { read = fs.readFileSync(path, rest[0]); } catch (error) { return done(error); }
        done(null, read);
      });
    },
    existsSync: isInput,
    promises: { readFile: async (path, options) => fs.readFileSync(path, options) },
  };

  class Interface extends EventEmitter {
    #lines;
    #next = 0;
    #question;
    #output;
    #waiting = false;
    closed = false;
    constructor({ output } = {}) {
      super();
      this.#output = output;
      soon(() => this.#flow());
    }
    #left() {
      if (!this.#lines) {
        this.#lines = fs.readFileSync(0, "utf8").split(/\r\n|\n|\r/);
        if (this.#lines.at(-1) === "") this.#lines.pop();
      }
      return this.#next < this.#lines.length;
    }
    // One line a turn, so that what a line sets off has happened before the next.
    #flow() {
      if (this.closed) return;
      if (!this.#left()) return this.close();
      if (this.#question) {
        const answered = this.#question;
        this.#question = undefined;
        answered(this.#lines[this.#next++]);
      } else if (this.listenerCount("line") > 0) {
        this.emit("line", this.#lines[this.#next++]);
      } else {
        this.#waiting = true;
        return;
      }
      soon(() => this.#flow());
    }
    #wake() {
      if (this.#waiting) soon(() => this.#flow());
      this.#waiting = false;
    }
    on(event, listener) {
      super.on(event, listener);
      if (event === "line") this.#wake();
      return this;
    }
    question(query, ...rest) {
      this.#output?.write(String(query));
      this.#question = callable(rest.pop());
      this.#wake();
    }
    close() {
      if (this.closed) return;
      this.closed = true;
      this.emit("close");
    }
    async *[Symbol.asyncIterator]() {
      while (!this.closed && this.#left()) yield this.#lines[this.#next++];
      this.close();
    }
    setPrompt(prompt) { this.prompt_ = prompt; }
    prompt() { this.#output?.write(this.prompt_ ?? "> "); }
    pause() { return this; }
    resume() { return this; }
  }

  const same = (a, b, strict) => {
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
      return strict ? Object.is(a, b) : a == b || (a !== a && b !== b);
    }
    if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
    if (a instanceof Map || a instanceof Set) {
      return a.size === b.size && same([...a], [...b], strict);
    }
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length
      && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key], strict));
  };
  class AssertionError extends Error {
    constructor(message) { super(message); this.name = "AssertionError"; this.code = "ERR_ASSERTION"; }
  }
  const must = (truth, message) => {
    if (truth) return;
    throw message instanceof Error ? message : new AssertionError(message ?? "the assertion failed");
  };
  const assert = Object.assign((truth, message) => must(truth, message), {
    AssertionError,
    ok: must,
    equal: (a, b, message) => must(a == b, message),
    notEqual: (a, b, message) => must(a != b, message),
    strictEqual: (a, b, message) => must(Object.is(a, b), message),
    notStrictEqual: (a, b, message) => must(!Object.is(a, b), message),
    deepEqual: (a, b, message) => must(same(a, b, false), message),
    deepStrictEqual: (a, b, message) => must(same(a, b, true), message),
    throws: (f, ...rest) => {
      try { f(); } catch { return; }
      must(false, rest.pop());
    },
    fail: (message) => must(false, message),
  });
  assert.strict = assert;

  const promisify = (f) => (...values) => new Promise((resolve, reject) => {
    f(...values, (error, value) => (error ? reject(error) : resolve(value)));
  });
  const modules = {
    fs, assert,
    "fs/promises": fs.promises,
    "assert/strict": assert,
    readline: { createInterface: (options) => new Interface(options) },
    events: Object.assign(EventEmitter, { EventEmitter }),
    os: { EOL: "\n" },
    util: { inspect, format, promisify, isDeepStrictEqual: (a, b) => same(a, b, true) },
    buffer: { Buffer },
    perf_hooks: { performance },
  };
  const require = (name) => {
    const found = String(name).replace(/^node:/, "");
    if (Object.hasOwn(modules, found)) return modules[found];
    throw failed("MODULE_NOT_FOUND", `Cannot find module '${name}'`);
  };

  // --- process: what a program may ask for and is refused is not there at all
  const process = Object.assign(new EventEmitter(), {
    argv: ["node", "/tmp/solution.js"],
    env: {},
    platform: "linux",
    version: "v20.0.0",
    versions: { node: "20.0.0" },
    exitCode: undefined,
    stdin: new Input(),
    stdout: new Output(1),
    stderr: new Output(2),
    exit,
    cwd: () => "/tmp",
    uptime: () => performance.now() / 1e3,
    hrtime: Object.assign(() => { const now = performance.now(); return [Math.trunc(now / 1e3), Math.trunc((now % 1e3) * 1e6)]; }, {
      bigint: () => BigInt(Math.trunc(performance.now() * 1e6)),
    }),
    memoryUsage: () => ({ heapUsed: 0, heapTotal: 0, rss: 0, external: 0 }),
    nextTick: (f, ...values) => queueMicrotask(() => callable(f)(...values)),
  });
  modules.process = process;

  // --- globals
  const copy = (value, seen = new Map()) => {
    if (typeof value === "function" || typeof value === "symbol") throw new TypeError(`${String(value)} could not be cloned.`);
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    if (value instanceof Date) return new Date(value);
    const made = Array.isArray(value) ? [] : value instanceof Map ? new Map() : value instanceof Set ? new Set() : {};
    seen.set(value, made);
    if (value instanceof Map) for (const [key, item] of value) made.set(copy(key, seen), copy(item, seen));
    else if (value instanceof Set) for (const item of value) made.add(copy(item, seen));
    else for (const key of Object.keys(value)) made[key] = copy(value[key], seen);
    return made;
  };
  // The same numbers in every run: the first children of two zygotes must not differ.
  let state = 1;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const module = { exports: {} };
  const then = Promise.prototype.then;
  const resolved = Promise.resolve();
  const globals = {
    console, process, require, module, exports: module.exports, Buffer,
    global: globalThis,
    __filename: "/tmp/solution.js",
    __dirname: "/tmp",
    setTimeout: (f, delay, ...values) => { callable(f); return new Timer(() => f(...values), delay, false); },
    setInterval: (f, delay, ...values) => { callable(f); return new Timer(() => f(...values), delay, true); },
    setImmediate: (f, ...values) => { callable(f); return new Timer(() => f(...values), 0); },
    clearTimeout: clear, clearInterval: clear, clearImmediate: clear,
    // Through a promise, so that what it throws is noticed.
    queueMicrotask: (f) => { callable(f); then.call(resolved, () => { f(); }); },
    structuredClone: (value) => copy(value),
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }

  // Built-in functions are made when they are first looked at: once, here, and not in every child.
  for (const name of Reflect.ownKeys(globalThis)) {
    for (const object of [globalThis[name], globalThis[name]?.prototype]) {
      if (object !== null && (typeof object === "object" || typeof object === "function")) {
        for (const key of Reflect.ownKeys(object)) Reflect.getOwnPropertyDescriptor(object, key);
      }
    }
  }
  format("%s %d", { warm: [1, "2", new Map([[3, 4]])] }, 5);

  return { turn, asMain: () => { require.main = module; } };
}
