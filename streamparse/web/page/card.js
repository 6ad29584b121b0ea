/**
 * The card: a slot for each field, made when the field comes (or before, where a form says what will come).
 *
 * What a model wrote gets into the page as text nodes and nowhere else. A slot only ever adds to its text.
 */

const SVG = "http://www.w3.org/2000/svg";
const STATES = { growing: "growing", done: "done", cut: "cut off", invalid: "invalid" };

/**
 * A long text is laid out block by block, so that adding to it stays cheap. A block ends with the first line end after so
 * many characters, and in a text without line ends at a blank before twice as many.
 */
const BLOCK = 2000;
/** As many of the latest additions fade in. */
const FRESH = 12;
/** A value of more characters has a line of its own, and so has each item of a list with such a value. */
const SHORT = 40;
/** A container shows so many values, and as many more each time that it is asked: nobody reads thousands. */
const SHOWN = 100;
/** So many slots are shown in all. */
const MOST = 2000;
/** So many levels are shown: a browser needs more and more time for each one, and ends the page after some hundreds. */
const DEEPEST = 50;

/** An element with a class and content: strings become text nodes. */
export function element(name, className, ...content) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...content);
  return made;
}

/** "status_summary" -> "Status summary". */
export function label(key) {
  if (!/^[a-z]+(_[a-z0-9]+)*$/.test(key)) return key || "(empty)";
  return key[0].toUpperCase() + key.slice(1).replaceAll("_", " ");
}

/** Text that grows at its end. */
export class TextSink {
  #host;
  #block = null;
  #inBlock = 0;
  #fresh = [];
  length = 0;

  constructor(host) {
    this.#host = host;
  }

  append(text) {
    this.length += text.length;
    while (text !== "") {
      const room = 2 * BLOCK - this.#inBlock;
      const soon = Math.max(0, BLOCK - this.#inBlock);
      const lineEnd = text.indexOf("\n", soon);
      if (lineEnd >= 0 && lineEnd < room) {
        text = this.#end(text, lineEnd + 1);
      } else if (text.length <= room) {
        this.#put(text);
        text = "";
      } else {
        const blank = text.lastIndexOf(" ", room - 1);
        text = this.#end(text, blank >= soon ? blank + 1 : wholeCharacters(text, room));
      }
    }
  }

  /** The first `length` characters of `text` end the block; gives the others. */
  #end(text, length) {
    this.#put(text.slice(0, length));
    this.#block.replaceChildren(this.#block.textContent); // it stays as it is now: one node
    this.#block = null;
    this.#inBlock = 0;
    this.#fresh = [];
    return text.slice(length);
  }

  #put(text) {
    if (this.#block === null) {
      this.#block = element("span", "block", document.createTextNode(""));
      this.#host.append(this.#block);
    }
    this.#inBlock += text.length;
    const span = element("span", "fresh", text);
    this.#block.append(span);
    this.#fresh.push(span);
    if (this.#fresh.length > FRESH) {
      const old = this.#fresh.shift();
      this.#block.firstChild.appendData(old.textContent);
      old.remove();
    }
  }
}

/** `length`, or one less where it would part the two halves of a character. */
export function wholeCharacters(text, length) {
  const code = text.charCodeAt(length - 1);
  return code >= 0xd800 && code < 0xdc00 ? length - 1 : length;
}

/** The mark of a state, with a word for those who do not see it. */
class Mark {
  constructor() {
    this.element = element("span", "mark");
    this.word = element("span", "visually-hidden");
    this.use = document.createElementNS(SVG, "use");
    const icon = document.createElementNS(SVG, "svg");
    icon.setAttribute("aria-hidden", "true");
    icon.append(this.use);
    this.element.append(icon, this.word);
    this.show("waiting");
  }

  show(state) {
    this.element.dataset.state = state;
    if (!(state in STATES)) return;
    this.use.setAttribute("href", `#icon-${state}`);
    this.word.textContent = STATES[state];
  }
}

/** One field. `inList`: an item of a list, which has no label. */
class Slot {
  #kind = null;
  #sink = null;
  #more = null;
  #stopped = false;
  /** How many values this container shows at most, and shows now. */
  limit = SHOWN;
  shown = 0;
  /** The fields that it does not show. */
  hidden = [];

  constructor(name, path, inList) {
    this.mark = new Mark();
    this.body = element(inList ? "div" : "dd", "body");
    this.element = element(inList ? "li" : "div", "slot");
    this.element.dataset.path = path;
    const head = element(inList ? "div" : "dt", "head");
    if (!inList) head.append(element("span", "label", name));
    head.append(this.mark.element);
    this.element.append(head, this.body);
    this.clear();
  }

  /** Nothing of it has come. */
  clear() {
    this.#kind = null;
    this.#more = null;
    this.#stopped = false;
    this.shown = 0;
    this.hidden = [];
    this.element.classList.remove("long");
    this.body.replaceChildren(element("span", "placeholder"));
    this.#show("waiting");
  }

  show(state) {
    if (this.element.dataset.state !== "invalid") this.#show(state); // which it stays
  }

  #show(state) {
    this.element.dataset.state = state;
    this.mark.show(state);
  }

  /** Get ready for a value of this kind. */
  open(kind) {
    if (this.#kind === kind) return;
    this.#kind = kind;
    if (kind === "object") this.content = element("dl", "object");
    else if (kind === "array") this.content = element("ul", "chips");
    else this.content = element("span", kind === "string" ? "text" : "scalar");
    this.content.dataset.kind = kind;
    this.#sink = new TextSink(this.content);
    this.body.replaceChildren(this.content);
  }

  /** Take an element that is there for the container that this is. */
  adopt(list) {
    this.#kind = "object";
    this.content = list;
  }

  append(text) {
    this.#sink.append(text);
    if (this.#sink.length <= SHORT) return;
    this.element.classList.add("long");
    this.element.parentElement?.classList.replace("chips", "lines");
  }

  /** Put the slot of a value into this container. */
  add(slot, kind) {
    if (kind === "object" || kind === "array") this.content.classList.replace("chips", "items");
    this.content.append(slot.element);
    this.shown++;
  }

  /** Show that there are values which are not shown, and what shows more of them. */
  offer(more) {
    if (this.#more === null) {
      this.#more = element("button", "more");
      this.#more.type = "button";
      this.#more.addEventListener("click", more);
      (this.content.parentElement ?? this.body).append(this.#more);
    }
    this.#more.textContent = `Show more of ${this.hidden.length.toLocaleString("en")} values`;
    this.#more.hidden = this.hidden.length === 0;
  }

  /** Say that there are values which are never shown. */
  stop() {
    if (this.#stopped) return;
    this.#stopped = true;
    this.body.append(element("span", "empty", "too many levels to be shown here"));
  }

  /** The value is whole. */
  finish(field) {
    if (field.kind === "null") this.content.textContent = "null";
    if (field.kind === "object" || field.kind === "array") {
      const isEmpty = !this.content.hasChildNodes() && this.hidden.length === 0 && !this.#stopped;
      if (isEmpty) this.body.replaceChildren(element("span", "empty", "none"));
    } else if (this.#sink.length === 0 && field.kind === "string") {
      this.body.replaceChildren(element("span", "empty", "empty text"));
    }
  }

  explain(message) {
    this.body.append(element("span", "message", message));
  }
}

/**
 * All slots of one reply. `host` is where the answer goes, `calls` where the arguments of tool calls go. `form` names the
 * fields of the first level that are known before: `{name, keys}`, or is null. `fieldsOf(source)` gives all fields that
 * have come so far; all that has happened to them must have been taken when it is called.
 */
export class Card {
  #host;
  #calls;
  #form;
  #list = null;
  #slots = new Map();
  #names = new Map();
  #skipped = new WeakSet();
  #most = MOST;
  #fieldsOf;

  constructor(host, calls, form, fieldsOf) {
    this.#fieldsOf = fieldsOf;
    this.#host = host;
    this.#calls = calls;
    this.#form = form;
    host.replaceChildren();
    calls.replaceChildren();
    if (form === null) return;
    this.#list = element("dl", `object ${form.name}`);
    for (const key of form.keys) this.#list.append(this.#make("content", key, label(key), false).element);
    host.append(this.#list);
  }

  /** The name of the tool that the call `source` is for. */
  nameCall(source, name) {
    this.#names.set(source, name);
  }

  /** Show what has happened to a field. `change` as of `Reply.on`. */
  take(field, { type, delta, source }) {
    if (type === "reset") {
      this.#forget(field, source);
      return;
    }
    const slot = this.#slot(field, source);
    if (slot === null) return;
    if (delta !== undefined) slot.append(delta);
    if (type === "done" || type === "cut") slot.finish(field);
    if (type === "invalid") slot.explain(field.errors.at(-1) ?? "does not fit");
    slot.show(type === "start" || type === "delta" ? "growing" : type);
  }

  #make(source, path, name, inList) {
    const slot = new Slot(name, path, inList);
    this.#slots.set(`${source}\n${path}`, slot);
    return slot;
  }

  /** The slot of a field; null where it is not shown. */
  #slot(field, source) {
    if (this.#skipped.has(field)) return null;
    if (field.parts.length > DEEPEST) {
      if (field.parts.length === DEEPEST + 1) this.#slot(field.parent, source)?.stop();
      return null;
    }
    let slot = this.#slots.get(`${source}\n${field.path}`);
    if (slot === undefined) {
      slot = field.parent === null ? this.#root(field, source) : this.#inside(field, source);
    }
    slot?.open(field.kind);
    return slot;
  }

  #inside(field, source) {
    const holder = this.#slot(field.parent, source);
    if (holder === null) return null;
    if (holder.shown >= holder.limit || this.#slots.size >= this.#most) {
      this.#skipped.add(field);
      holder.hidden.push(field);
      holder.offer(() => this.#showMore(holder, source));
      return null;
    }
    const part = field.parts.at(-1);
    const inList = typeof part === "number";
    const slot = this.#make(source, field.path, inList ? "" : label(part), inList);
    holder.add(slot, field.kind);
    return slot;
  }

  #showMore(holder, source) {
    const fields = [...this.#fieldsOf(source)]; // first of all, for it may change what is hidden
    const next = new Set(holder.hidden.splice(0, SHOWN));
    for (const field of next) this.#skipped.delete(field);
    holder.limit += SHOWN;
    this.#most = this.#slots.size + MOST;
    const shown = fields.filter((field) => isIn(field, next));
    for (const field of shown) {
      this.take(field, { type: "start", delta: field.text === "" ? undefined : field.text, source });
    }
    for (const field of shown.reverse()) {
      if (field.errors.length > 0) this.take(field, { type: "invalid", source });
      else if (field.state !== "growing") this.take(field, { type: field.state, source });
    }
    holder.offer();
  }

  #root(field, source) {
    if (source !== "content") {
      const call = this.#make(source, "", `Call of ${this.#names.get(source) ?? "a tool"}`, false);
      this.#calls.append(call.element);
      return call;
    }
    const slot = this.#make(source, "", "", true);
    if (this.#list !== null && field.kind === "object") {
      slot.adopt(this.#list);
      this.#host.replaceChildren(this.#list);
    } else {
      this.#host.replaceChildren(slot.body);
    }
    return slot;
  }

  #forget(field, source) {
    const key = `${source}\n${field.path}`;
    const slot = this.#slots.get(key);
    if (slot === undefined) {
      const holder = field.parent && this.#slots.get(`${source}\n${field.parent.path}`);
      if (holder?.hidden.includes(field)) {
        holder.hidden.splice(holder.hidden.indexOf(field), 1);
        holder.offer();
      }
      return;
    }
    if (source === "content" && slot.element.parentElement === this.#list && this.#form?.keys.includes(field.path)) {
      slot.clear();
      return;
    }
    this.#slots.delete(key);
    slot.element.remove();
    if (this.#list === null) slot.body.remove();
  }
}

/** Whether a field, or a container that it is in, is one of `fields`. */
function isIn(field, fields) {
  for (let at = field; at !== null; at = at.parent) if (fields.has(at)) return true;
  return false;
}
