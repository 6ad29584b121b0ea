/**
 * streamparse in the browser: reads the field events of one reply and keeps what they add up to.
 *
 *     import { connect } from "./client.js";
 *
 *     const reply = connect("/triage?ticket=1182");
 *     reply.on("status_summary", (field) => { summary.textContent = field.text; });
 *     reply.on("next_steps[*].text", (field, change) => { slot(field.path).append(change.delta ?? ""); });
 *     await reply.finished;
 *     console.log(reply.tree, reply.complete);
 *
 * Three layers, each usable alone: `FrameDecoder` (server-sent events -> frames), `Reply` (frames -> fields and tree,
 * no I/O), `Stream` (a `Reply` over fetch that comes back after a lost connection). What a model wrote is only ever data
 * here: nothing is evaluated, no markup is made, and a key named `__proto__` is a key like any other.
 */

/** The source of the answer's own fields; another one is the id of a tool call. */
const CONTENT = "content";

/** Statuses that may pass by themselves, beside all of 500 and above. */
const PASSING = new Set([408, 425, 429]);

const LONGEST_WAIT = 30_000;

// ---- paths

const WORD = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const PATTERN_PART =
  /(\.)?([^\s.[\]"*]+)|\[(\d{1,18}|\*)\]|\[("(?:[^"\\]|\\.)*")\]|(\.)?(\*\*|\*)/uy;
const ANY_INDEX = Symbol("[*]");
const ANY_KEY = Symbol("*");
const DEEP = Symbol("**");

/** Write `parts` as a path: `tips[0].text`. A key that is no plain word is quoted: `["a.b"]`. */
export function formatPath(parts) {
  return parts.reduce((path, part) => path + step(part, path === ""), "");
}

function step(part, first) {
  if (typeof part === "number") return `[${part}]`;
  return WORD.test(part) ? (first ? part : `.${part}`) : `[${JSON.stringify(part)}]`;
}

/**
 * The path of the container that holds `path`, whose last part is `part`; null where it is not in dot style. It is cut
 * off the server's own spelling, for which keys need quotes differs between versions of Unicode.
 */
function parentPath(path, part) {
  const end = typeof part === "number" ? `[${part}]` : `.${part}`;
  if (path.endsWith(end)) return path.slice(0, -end.length);
  if (path === part) return "";
  if (typeof part === "number" || !path.endsWith('"]')) return null;
  for (let at = path.lastIndexOf('["'); at >= 0; at = at === 0 ? -1 : path.lastIndexOf('["', at - 1)) {
    try {
      if (JSON.parse(path.slice(at + 1, -1)) === part) return path.slice(0, at);
    } catch {
      // `["` within the key: it begins further to the left
    }
  }
  return null;
}

function parsePattern(text) {
  const parts = [];
  PATTERN_PART.lastIndex = 0;
  while (PATTERN_PART.lastIndex < text.length) {
    const at = PATTERN_PART.lastIndex;
    const match = PATTERN_PART.exec(text);
    const dotted = match !== null && (match[1] ?? match[5]) !== undefined;
    if (match === null || (dotted && at === 0) || ((match[2] ?? match[6]) !== undefined && !dotted && at > 0)) {
      throw new SyntaxError(`${JSON.stringify(text)} is no path: cannot read it from character ${at}`);
    }
    if (match[2] !== undefined) parts.push(match[2]);
    else if (match[3] !== undefined) parts.push(match[3] === "*" ? ANY_INDEX : Number(match[3]));
    else if (match[4] !== undefined) parts.push(JSON.parse(match[4]));
    else parts.push(match[6] === "**" ? DEEP : ANY_KEY);
  }
  return parts;
}

/** Whether the whole of `parts` fits `pattern`; on a mismatch the last `**` takes one part more. */
function fits(pattern, parts) {
  let at = 0;
  let index = 0;
  let back = -1;
  let mark = 0;
  while (index < parts.length) {
    if (at < pattern.length && pattern[at] === DEEP) {
      back = at++;
      mark = index;
    } else if (at < pattern.length && fitsPart(pattern[at], parts[index])) {
      at++;
      index++;
    } else if (back >= 0) {
      at = back + 1;
      index = ++mark;
    } else {
      return false;
    }
  }
  return pattern.slice(at).every((part) => part === DEEP);
}

function fitsPart(pattern, part) {
  if (pattern === ANY_INDEX) return typeof part === "number";
  if (pattern === ANY_KEY) return typeof part === "string";
  return pattern === part;
}

// ---- server-sent events

/** Turns the text of an event stream, in pieces of any size, into frames `{id, event, data}`. */
export class FrameDecoder {
  #rest = "";
  #afterCR = false;
  #begun = false;
  #id = "";
  #event = "";
  #data = [];

  /** Milliseconds to wait before coming back, if the server has said so. */
  retry = null;

  /** The frames that `text` completes. Throws `SyntaxError` where the data of one is no JSON. */
  feed(text) {
    if (!this.#begun && text !== "") {
      this.#begun = true;
      if (text.startsWith("\uFEFF")) text = text.slice(1);
    }
    if (this.#afterCR && text.startsWith("\n")) text = text.slice(1);
    if (text !== "") this.#afterCR = text.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop();
    const frames = [];
    for (const line of lines) {
      if (line !== "") this.#line(line);
      else if (this.#data.length > 0) frames.push(this.#take());
      else this.#event = "";
    }
    return frames;
  }

  #line(line) {
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment: the server's heartbeat
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
  }

  #take() {
    const frame = { id: Number(this.#id) || 0, event: this.#event || "message", data: JSON.parse(this.#data.join("\n")) };
    this.#event = "";
    this.#data = [];
    return frame;
  }
}

// ---- fields and tree

/** The fields of one document: of the answer, or of the arguments of one tool call. */
class Fields {
  /** Path -> field, each container before what is in it. */
  map = new Map();
  #root = null;

  get tree() {
    return this.#root?.field.value;
  }

  /** The node at `parts`, made together with the containers above it; those that are new are added to `made`. */
  node(parts, path, kind, made) {
    let node = this.#root;
    let depth = 0;
    if (node !== null) {
      while (depth < parts.length) {
        const next = node.children.get(parts[depth]);
        if (next === undefined) break;
        node = next;
        depth++;
      }
      if (depth === parts.length) return node;
    }
    if (node === null) {
      node = this.#root = this.#make(null, [], "", parts.length > 0 ? container(parts[0]) : kind);
      made.push(node);
    }
    const paths = pathsBelow(node.field.path, parts, depth, path);
    for (const at of paths) {
      if (node.field.kind !== container(parts[depth])) become(node, container(parts[depth]));
      depth++;
      node = this.#make(node, parts.slice(0, depth), at, depth < parts.length ? container(parts[depth]) : kind);
      made.push(node);
    }
    return node;
  }

  find(parts) {
    let node = this.#root;
    for (const part of parts) node = node?.children.get(part) ?? null;
    return node;
  }

  #make(parent, parts, path, kind) {
    const field = {
      path,
      parts,
      parent: parent && parent.field,
      kind: undefined,
      state: "growing",
      text: "",
      value: undefined,
      errors: [],
      version: 0,
    };
    const node = { field, parent, children: new Map(), listeners: null, stamp: -1 };
    become(node, kind);
    parent?.children.set(parts[parts.length - 1], node);
    this.map.set(path, field);
    return node;
  }

  /** Forget `node` and all below it; gives the nodes that are gone, containers first. */
  remove(node) {
    const gone = [node];
    for (const one of gone) gone.push(...one.children.values()); // grows while it is walked
    for (const one of gone) this.map.delete(one.field.path);
    const { parent, field } = node;
    if (parent === null) {
      this.#root = null;
    } else {
      const part = field.parts[field.parts.length - 1];
      parent.children.delete(part);
      if (!Array.isArray(parent.field.value)) delete parent.field.value[part];
      else if (part === parent.field.value.length - 1) parent.field.value.length = part;
      else delete parent.field.value[part];
    }
    return gone;
  }
}

function container(part) {
  return typeof part === "number" ? "array" : "object";
}

function become(node, kind) {
  node.field.kind = kind;
  if (kind === "array") set(node, []);
  else if (kind === "object") set(node, {});
  else if (kind === "string") set(node, node.field.text);
}

/** Give `node` its value, in the tree too. */
function set({ field, parent }, value) {
  field.value = value;
  if (parent === null) return;
  const part = field.parts[field.parts.length - 1];
  const holder = parent.field.value;
  // Assigned, `__proto__` would change the prototype instead of making a key.
  if (part === "__proto__") {
    Object.defineProperty(holder, part, { value, writable: true, enumerable: true, configurable: true });
  } else {
    holder[part] = value;
  }
}

/** The paths of `parts` and of the containers above it that stand below `base`, which is `depth` parts long. */
function pathsBelow(base, parts, depth, path) {
  const paths = [];
  let at = path;
  for (let index = parts.length - 1; index >= depth && at !== null; index--) {
    paths.unshift(at);
    at = parentPath(at, parts[index]);
  }
  if (at === base) return paths;
  return parts.slice(depth).map((_, index) => formatPath(parts.slice(0, depth + index + 1))); // not in dot style
}

/**
 * What the frames of one reply add up to.
 *
 * `fields` (path -> `{path, parts, parent, kind, state, text, value, errors, version}`) and `tree` are alive: read
 * them, do not change them. `done` turns true with the last frame, `complete` says whether the document was whole by then.
 */
export class Reply {
  #documents = new Map([[CONTENT, new Fields()]]);
  #patterns = [];
  #stamp = 0;
  #listeners = new Map();
  #subscribers = new Set();
  #restoring = false;
  #changes = 0;

  lastEventId = 0;
  reasoning = "";
  reasoningDone = false;
  diagnostics = [];
  invalid = [];
  status = null;
  meta = null;
  toolCalls = [];
  /** What ended the run, if it failed: `{code, message}`. */
  error = null;
  /** The data of the last frame: `{complete, incomplete, end_state, finish_reason}`. */
  end = null;
  /** Grows with each frame that counted. */
  version = 0;

  get fields() {
    return this.#documents.get(CONTENT).map;
  }

  get tree() {
    return this.#documents.get(CONTENT).tree;
  }

  get done() {
    return this.end !== null;
  }

  get complete() {
    return this.end?.complete === true;
  }

  /** The ids of the tool calls whose arguments have come so far. */
  get sources() {
    return [...this.#documents.keys()].filter((source) => source !== CONTENT);
  }

  /** The arguments of a tool call, as far as they have come: `{fields, tree}`, or undefined. */
  arguments(source) {
    const document = this.#documents.get(source);
    return document && { fields: document.map, tree: document.tree };
  }

  /**
   * Call back for the fields at `path`, which may have wildcards: `tips[*].text`, `user.*`, `**.text`, `**`.
   *
   * `callback(field, change)`, `change` is `{type, delta?, source}` with a `type` of start (of a container: its first
   * value came), delta, done, reset, cut or invalid. `source` is the id of a tool call, or `"*"` for the answer and all calls. Gives a function that ends it.
   */
  on(path, callback, { source = CONTENT } = {}) {
    const entry = { pattern: parsePattern(path), callback, source };
    this.#patterns = [...this.#patterns, entry];
    this.#stamp++;
    return () => {
      this.#patterns = this.#patterns.filter((one) => one !== entry);
      this.#stamp++;
    };
  }

  /** Call back with the data of each frame of this event; `"*"`: of any, as `(data, event)`. Gives its ending. */
  onEvent(event, callback) {
    const callbacks = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, callbacks.add(callback));
    return () => callbacks.delete(callback);
  }

  /** Call back after every batch of frames: for views that read `fields` and `tree` anew. Gives its ending. */
  subscribe(callback) {
    this.#subscribers.add(callback);
    return () => this.#subscribers.delete(callback);
  }

  /**
   * Take in frames, in order. Those whose id was seen before are dropped: after a reconnect some may come again. Where
   * frames are missing between two ids it throws a `RangeError`, having taken in those before.
   *
   * A server that no longer keeps the frames that are asked for sends a `snapshot` and what all of them add up to: frames
   * with the id 0, but for the last.
   */
  apply(frames) {
    const before = this.version;
    try {
      for (const { id, event, data } of frames) {
        if (id !== 0) {
          if (id <= this.lastEventId) continue;
          if (id > this.lastEventId + 1 && !this.#restoring) {
            throw new RangeError(`frame ${id} came after frame ${this.lastEventId}`);
          }
          this.lastEventId = id;
          this.#restoring = false;
        }
        this.version++;
        this.#take(event, data);
        this.emit(event, data);
      }
    } finally {
      if (this.version > before) for (const callback of [...this.#subscribers]) call(callback, this);
    }
  }

  /** Tell those who listen to `event`. */
  emit(event, data) {
    for (const callback of [...(this.#listeners.get(event) ?? [])]) call(callback, data, event);
    for (const callback of [...(this.#listeners.get("*") ?? [])]) call(callback, data, event);
  }

  #take(event, data) {
    if (event === "field") this.#field(data);
    else if (event === "reasoning_delta") this.reasoning += data.text;
    else if (event === "reasoning_done") this.reasoningDone = true;
    else if (event === "invalid") this.#invalid(data);
    else if (event === "diagnostic") this.diagnostics.push(data);
    else if (event === "status") this.#status(data);
    else if (event === "meta") this.meta = data;
    else if (event === "tool_calls") this.toolCalls.push(data);
    else if (event === "error") this.error = data;
    else if (event === "snapshot") this.#forget();
    else if (event === "end") this.#end(data);
  }

  #field(data) {
    const source = data.source ?? CONTENT;
    let document = this.#documents.get(source);
    if (document === undefined) this.#documents.set(source, (document = new Fields()));
    if (data.type === "reset") {
      const node = document.find(data.parts);
      if (node !== null) for (const gone of document.remove(node)) this.#tell(gone, { type: "reset", source });
      return;
    }
    const made = [];
    const node = document.node(data.parts, data.path, data.kind, made);
    for (const one of made) if (one !== node) this.#tell(one, { type: "start", source });
    const { field } = node;
    if (field.kind !== data.kind) become(node, data.kind);
    const change = { type: data.type, source };
    if (data.delta !== undefined && data.delta !== null) {
      change.delta = data.delta;
      field.text += data.delta;
      if (field.kind === "string") set(node, field.text);
    }
    // What is cut off has no value, and no place in the tree: as in what the server makes of it.
    if (data.type === "done" && data.value !== undefined) set(node, data.value);
    if (field.state !== "invalid") field.state = data.type === "done" || data.type === "cut" ? data.type : "growing";
    this.#tell(node, change);
  }

  #invalid(data) {
    this.invalid.push(data);
    const source = data.source ?? CONTENT;
    const node = this.#documents.get(source)?.find(data.parts);
    if (!node) return; // a value that is missing has no field
    node.field.state = "invalid";
    node.field.errors.push(...data.errors.map((error) => error.msg));
    this.#tell(node, { type: "invalid", source });
  }

  #status(data) {
    this.status = data;
    if (data.state !== "retrying") return;
    this.#forgetAttempt(); // the model is asked again; resets of the fields follow
  }

  #forgetAttempt() {
    this.reasoning = "";
    this.reasoningDone = false;
    this.invalid = [];
    this.diagnostics = [];
    this.toolCalls = [];
    this.meta = null;
  }

  /** All that was held is about to come anew. */
  #forget() {
    this.#restoring = true;
    this.#forgetAttempt();
    this.status = this.error = null;
    for (const [source, document] of this.#documents) {
      const root = document.find([]);
      if (root !== null) for (const gone of document.remove(root)) this.#tell(gone, { type: "reset", source });
    }
  }

  #end(data) {
    this.end = data;
    // Several documents in one reply have no event for the list that holds them.
    this.settle(data.complete ? "done" : "cut");
  }

  /** Nothing more will come: what still grows is `state`, innermost first. */
  settle(state) {
    for (const [source, document] of this.#documents) {
      for (const field of [...document.map.values()].reverse()) {
        if (field.state !== "growing") continue;
        field.state = state;
        this.#tell(document.find(field.parts), { type: state, source });
      }
    }
  }

  #tell(node, change) {
    const { field } = node;
    field.version = ++this.#changes;
    if (node.stamp !== this.#stamp) {
      node.stamp = this.#stamp;
      node.listeners = this.#patterns.filter(({ pattern }) => fits(pattern, field.parts));
    }
    for (const { callback, source } of node.listeners) {
      if (source === "*" || source === change.source) call(callback, field, change);
    }
  }
}

/** A callback that throws must not stop the stream for the others. */
function call(callback, ...values) {
  try {
    callback(...values);
  } catch (error) {
    (globalThis.reportError ?? console.error)(error);
  }
}

// ---- the connection

/** A connection that will not come back by itself. `status` is that of the answer, if there was one. */
export class StreamFailure extends Error {
  constructor(message, { status, cause } = {}) {
    super(message, { cause });
    this.name = "StreamFailure";
    this.status = status;
  }
}

/**
 * Read the reply at `url`. Starts at once.
 *
 * A lost connection comes back by itself with `Last-Event-ID`, after a time that grows, at most `retries` times in a row
 * without a frame in between. A GET is repeated; another method is not, for it might start a second run, unless it was
 * answered with 303 See Other: then the address that it led to is the one to come back to.
 *
 * Options: `init` (of fetch: method, headers, body, credentials), `signal`, `retries` (10), `backoff` (milliseconds
 * before the first retry, 500), `timeout` (milliseconds without any byte after which a connection counts as lost, 45
 * seconds: three heartbeats), `fetch`.
 */
export function connect(url, options = {}) {
  return new Stream(url, options);
}

/** A `Reply` over fetch; made by `connect`. */
export class Stream extends Reply {
  #options;
  #init;
  #controller = null;
  #wake = null;
  #hurry = false;
  #closed = false;

  /** Where the reply is read: after a redirect the address that it led to. */
  url;
  /** connecting, open, waiting (before a retry) or closed. */
  connection = "connecting";
  /** Why the connection is closed for good before the end, if it is. */
  failure = null;
  /** Settles once: with this when the last frame has come; rejects with `failure`, or an `AbortError` after `close()`. */
  finished;

  constructor(url, { init = {}, signal, retries = 10, backoff = 500, timeout = 45_000, fetch = globalThis.fetch } = {}) {
    super();
    this.url = String(url);
    this.#init = init;
    this.#options = { retries, backoff, timeout, fetch };
    this.finished = this.#run();
    this.finished.catch(() => {}); // whoever does not ask is not bothered
    if (signal?.aborted) this.close();
    else signal?.addEventListener("abort", () => this.close(), { once: true });
  }

  /** Stop reading. What has come stays readable. */
  close() {
    this.#closed = true;
    this.#interrupt();
  }

  /** Drop the connection, if there is one, and come back at once: after the network has changed, say. */
  reconnect() {
    this.#hurry = true;
    this.#interrupt();
  }

  #interrupt() {
    this.#controller?.abort();
    this.#wake?.();
  }

  async #run() {
    let attempt = 0;
    try {
      while (!this.done && !this.#closed) {
        const before = this.lastEventId;
        let lost;
        try {
          await this.#read();
        } catch (error) {
          if (error instanceof StreamFailure && !error.passing) throw error;
          lost = error;
        }
        if (this.done || this.#closed) break;
        if (!this.#mayRepeat()) {
          throw new StreamFailure(`The connection was lost, and a ${this.#init.method} is not repeated`, { cause: lost });
        }
        if (this.#hurry) continue;
        attempt = this.lastEventId > before ? 1 : attempt + 1;
        if (attempt > this.#options.retries) {
          throw new StreamFailure(`The connection was lost ${attempt} times in a row`, { cause: lost });
        }
        await this.#pause(attempt, lost);
      }
    } catch (error) {
      this.failure = error;
      this.settle("cut");
    }
    this.#turn("closed", this.failure && { failure: this.failure });
    if (this.failure) throw this.failure;
    if (!this.done) throw new DOMException("The stream was closed", "AbortError");
    return this;
  }

  #mayRepeat() {
    return (this.#init.method ?? "GET").toUpperCase() === "GET";
  }

  /** Read one connection to its end. */
  async #read() {
    const { timeout, fetch } = this.#options;
    const controller = (this.#controller = new AbortController());
    this.#hurry = false;
    this.#turn("connecting");
    let timer;
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => controller.abort(), timeout);
    };
    try {
      if (this.#closed) return;
      alive();
      const headers = new Headers(this.#init.headers);
      headers.set("Accept", "text/event-stream");
      if (this.lastEventId > 0) headers.set("Last-Event-ID", String(this.lastEventId));
      const response = await fetch(this.url, { ...this.#init, headers, cache: "no-store", signal: controller.signal });
      this.#check(response);
      if (response.redirected) {
        this.url = response.url;
        if (!this.#mayRepeat()) this.#init = { ...this.#init, method: "GET", body: undefined };
      }
      this.#turn("open");
      const frames = new FrameDecoder();
      const text = new TextDecoder();
      const reader = response.body.getReader();
      while (!this.done) {
        const { value, done } = await reader.read();
        if (done || this.#closed) break;
        alive();
        this.apply(frames.feed(text.decode(value, { stream: true })));
        this.#options.backoff = frames.retry ?? this.#options.backoff;
      }
    } finally {
      clearTimeout(timer);
      controller.abort(); // lets go of a body that was not read to its end
      this.#controller = null;
    }
  }

  #check(response) {
    const { status } = response;
    const type = response.headers.get("Content-Type") ?? "";
    if (status === 200 && type.startsWith("text/event-stream")) return;
    const what = status === 200 ? `${type || "no content type"} instead of an event stream` : `status ${status}`;
    const failure = new StreamFailure(`The server answered with ${what}`, { status });
    failure.passing = status >= 500 || PASSING.has(status);
    failure.retryAfter = Math.min(Number(response.headers.get("Retry-After")) * 1000 || 0, LONGEST_WAIT);
    throw failure;
  }

  async #pause(attempt, lost) {
    const base = Math.max(this.#options.backoff, lost?.retryAfter ?? 0);
    // Up to half of it by chance, so that not all clients of a server that went away come back at the same moment.
    const wait = Math.min(base * 2 ** (attempt - 1), LONGEST_WAIT) * (0.75 + Math.random() / 2);
    this.#turn("waiting", { attempt, wait, lost });
    let timer;
    await new Promise((resolve) => {
      this.#wake = resolve;
      timer = setTimeout(resolve, wait);
    });
    clearTimeout(timer);
    this.#wake = null;
  }

  #turn(state, more) {
    this.connection = state;
    this.emit("connection", { state, ...more });
  }
}
