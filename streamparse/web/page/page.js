/**
 * The demo page: starts runs, shows what comes of them, and lets the reader play with them.
 *
 * What comes over the wire only changes the page in `draw`, once a frame of the screen and for a few milliseconds, so that
 * the page stays responsive however fast a model (or a recording at full speed) is.
 */

import { connect } from "./client.js";
import { Card, TextSink, label, wholeCharacters } from "./card.js";

const TRIAGE = {
  name: "triage",
  keys: [
    "status_summary",
    "priority",
    "sentiment",
    "escalate",
    "assignee",
    "risk_flags",
    "customer",
    "next_steps",
    "reply_draft",
  ],
};
const STATES = {
  waiting: "waiting",
  growing: "streaming",
  done: "complete",
  cut: "cut off",
  invalid: "complete, with invalid fields",
  failed: "failed",
};
const TICKET =
  "This is my third message about order 1182! The desk was to come last Tuesday, and nobody can tell me where it is. " +
  "The lamp did come, but the box had been opened. If I do not hear from you today I want my money back. Zoë Müller";

/** Milliseconds of a screen's frame that may go into changing the page; the browser lays it out afterwards. */
const BUDGET = 6;
/** Characters that are added at a time. */
const GULP = 8000;
/** Milliseconds between two announcements: a screen reader is to speak, not to shout. */
const QUIET = 1500;
/** The rate is drawn for so many steps of so many milliseconds. */
const STEPS = 60;
const STEP = 200;

const $ = (id) => document.getElementById(id);

// ---- work for the next frames of the screen

const work = { jobs: [], at: 0, scheduled: false };

/** Do `job` before long, after all that was asked for before it. `job.run()` says whether there is more of it to do. */
function later(job) {
  work.jobs.push(job);
  if (work.scheduled) return;
  work.scheduled = true;
  requestAnimationFrame(draw);
}

function draw() {
  const until = performance.now() + BUDGET;
  while (work.at < work.jobs.length && performance.now() < until) step();
  scroller.scroll();
  if (work.at < work.jobs.length) {
    requestAnimationFrame(draw);
  } else {
    dropWork();
    work.scheduled = false;
  }
}

function step() {
  let more = false;
  try {
    more = work.jobs[work.at].run();
  } catch (error) {
    reportError(error); // the page goes on without it
  }
  if (!more) work.at++;
}

function dropWork() {
  work.jobs = [];
  work.at = 0;
}

/** Keeps the ends of growing texts in sight, unless the reader has scrolled away from them. */
const scroller = {
  boxes: new Map(),

  /** `box` has grown. */
  grown(box) {
    if (!this.boxes.has(box)) {
      this.boxes.set(box, { atEnd: true, grown: true });
      box.addEventListener("scroll", () => {
        this.boxes.get(box).atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
      });
    }
    this.boxes.get(box).grown = true;
  },

  /** Nothing is in the boxes any more. */
  reset() {
    for (const state of this.boxes.values()) state.atEnd = true;
  },

  /** Once a frame: to ask for heights between changes would lay out the page again and again. */
  scroll() {
    for (const [box, state] of this.boxes) {
      if (state.grown && state.atEnd) box.scrollTop = box.scrollHeight;
      state.grown = false;
    }
  },
};

/** Text that waits to be added somewhere; more may join it until its turn comes. */
class Addition {
  constructor(target, text, add) {
    this.target = target;
    this.text = text;
    this.add = add;
  }

  run() {
    const length = this.text.length > GULP ? wholeCharacters(this.text, GULP) : this.text.length;
    this.add(this.text.slice(0, length));
    this.text = this.text.slice(length);
    return this.text !== "";
  }

  /** Add `text` to `target` later, together with what waits for it, if nothing else was asked for in between. */
  static later(target, text, add) {
    const last = work.jobs.at(-1);
    if (work.at < work.jobs.length && last instanceof Addition && last.target === target) last.text += text;
    else later(new Addition(target, text, add));
  }
}

// ---- what is said to those who do not see the page

const announcer = {
  waiting: [],
  timer: null,

  say(text) {
    this.waiting.push(text);
    this.timer ??= setTimeout(() => this.speak(), QUIET);
  },

  speak() {
    const [fields, others] = [[], []];
    for (const one of this.waiting) (one.endsWith(": done") ? fields : others).push(one);
    const done = fields.map((one) => one.slice(0, -": done".length)).join(", ");
    $("announcer").textContent = [...(done ? [`${done}: done.`] : []), ...others].join(" ");
    this.waiting = [];
    this.timer = null;
  },

  hush() {
    clearTimeout(this.timer);
    this.timer = null;
    this.waiting = [];
    $("announcer").textContent = "";
  },
};

// ---- one run on the page

/** A reply and its view. */
class Run {
  #raw;
  #reasoning;
  #card;
  #deltas = 0;
  #final = 0;
  #started = performance.now();
  #firstField = null;
  #ended = null;

  constructor(url, init, form) {
    this.reply = connect(url, { init, backoff: 300 });
    this.#clear(form);
    this.#listen(form);
    this.reply.finished.then(
      () => this.#end(),
      (error) => this.#end(error),
    );
  }

  get running() {
    return this.#ended === null;
  }

  close() {
    this.#ended ??= performance.now();
    this.reply.close();
  }

  /** Numbers for the corner of the page; the deltas are those since the last call. */
  numbers() {
    const deltas = this.#deltas;
    this.#deltas = 0;
    const until = this.#ended ?? performance.now();
    return { deltas, final: this.#final, first: this.#firstField, elapsed: until - this.#started };
  }

  #clear(form) {
    for (const id of ["problem", "note"]) $(id).hidden = true;
    $("reasoning").dataset.state = "waiting";
    $("card-title").textContent = form === null ? "Reply" : "Ticket triage";
    this.#card = new Card($("document"), $("calls"), form, (source) => {
      while (work.at < work.jobs.length) step();
      return (source === "content" ? this.reply.fields : this.reply.arguments(source).fields).values();
    });
    this.#clearTexts();
    show("growing");
  }

  #clearTexts() {
    $("raw").replaceChildren();
    $("reasoning-text").replaceChildren();
    this.#raw = new TextSink($("raw"));
    this.#reasoning = new TextSink($("reasoning-text"));
    scroller.reset();
    this.#final = 0;
  }

  #listen(form) {
    const { reply } = this;
    reply.on("**", (field, change) => this.#field(field, change), { source: "*" });
    reply.onEvent("original_delta", ({ text }) => this.#write(text));
    let call = null;
    reply.onEvent("tool_call_delta", ({ index, id, name, arguments: text }) => {
      if (id && name) later({ run: () => this.#card.nameCall(id, name) });
      this.#write(call === null || call === index ? text : `\n${text}`);
      call = index;
    });
    reply.onEvent("reasoning_delta", ({ text }) => {
      this.#deltas++;
      Addition.later(this.#reasoning, text, (all) => {
        if ($("reasoning").dataset.state === "waiting") showReasoning("growing");
        this.#reasoning.append(all);
        scroller.grown($("reasoning-text"));
      });
    });
    reply.onEvent("reasoning_done", () => later({ run: () => showReasoning("done") }));
    reply.onEvent("status", ({ state, attempt, delta }) => {
      if (state === "retrying") {
        later({ run: () => this.#clearTexts() });
        this.#note(`The answer did not fit; attempt ${attempt} has begun.`);
      } else if (state === "refusal" && delta) {
        this.#note("The model refused to answer.");
      }
    });
    reply.onEvent("snapshot", () => later({ run: () => this.#clearTexts() }));
    reply.onEvent("error", ({ message }) => later({ run: () => complain(message) }));
    reply.onEvent("connection", ({ state, wait }) => connection(reply, state, wait));
    if (form === null) reply.onEvent("end", () => this.#nothing());
    connection(reply, reply.connection);
  }

  #field(field, change) {
    const { type, delta } = change;
    if (delta !== undefined) {
      this.#deltas++;
      this.#firstField ??= performance.now() - this.#started;
    }
    if (type === "done") this.#final++;
    if (type === "reset" && this.#final > 0) this.#final--;
    if (type === "delta" && field.kind === "string") {
      Addition.later(field, delta, (text) => this.#card.take(field, { ...change, delta: text }));
    } else {
      later({ run: () => this.#card.take(field, change) });
    }
    if (field.parts.length === 1 && (type === "done" || type === "invalid")) {
      announcer.say(`${label(String(field.parts[0]))}: ${type}`);
    }
  }

  #write(text) {
    Addition.later(this.#raw, text, (all) => {
      this.#raw.append(all);
      scroller.grown($("raw"));
    });
  }

  #note(text) {
    later({
      run() {
        $("note").textContent = text;
        $("note").hidden = false;
      },
    });
    announcer.say(text);
  }

  #nothing() {
    if (this.reply.fields.size === 0 && this.reply.sources.length === 0 && this.reply.error === null) {
      this.#note("There is no JSON document in this reply.");
    }
  }

  #end(error) {
    if (this.#ended !== null) return; // another run has taken its place
    this.#ended = performance.now();
    later({ run: () => this.#showEnd(error) });
  }

  #showEnd(error) {
    const { reply } = this;
    if ($("reasoning").dataset.state === "growing") showReasoning(error || !reply.complete ? "cut" : "done");
    const state = error || reply.error ? "failed" : !reply.complete ? "cut" : reply.invalid.length > 0 ? "invalid" : "done";
    show(state);
    if (error) complain(error.message);
    announcer.say(`The reply is ${STATES[state]}.`);
    changed();
  }
}

/** Nothing has come yet. */
function blank() {
  for (const id of ["problem", "note"]) $(id).hidden = true;
  for (const id of ["raw", "reasoning-text"]) $(id).replaceChildren();
  showReasoning("waiting");
  $("card-title").textContent = "Ticket triage";
  new Card($("document"), $("calls"), TRIAGE, () => []);
  show("waiting");
}

/** Show the state of the whole card. */
function show(state) {
  $("card").dataset.state = state;
  $("card").setAttribute("aria-busy", String(state === "growing"));
  $("pill").textContent = STATES[state];
}

function showReasoning(state) {
  $("reasoning").dataset.state = state;
}

function complain(message) {
  $("problem").textContent = message;
  $("problem").hidden = false;
}

function connection(reply, state, wait) {
  const place = $("connection");
  place.dataset.state = reply.done ? "ended" : state;
  const words = {
    connecting: reply.lastEventId > 0 ? `coming back after frame ${reply.lastEventId}` : "connecting",
    open: "connected",
    waiting: `connection lost, back in ${((wait ?? 0) / 1000).toFixed(1)} s`,
    closed: reply.done ? `all ${reply.lastEventId} frames received` : "not connected",
  };
  place.textContent = words[state];
  if (state === "waiting") announcer.say("The connection was lost.");
}

// ---- the controls

let run = null;
let paused = false;
let dropped = null;
let rates = [];
let maxUpload = Infinity;

const speed = () => Number($("controls").elements.speed.value);

function start() {
  run?.close();
  dropWork();
  announcer.hush();
  paused = false;
  rates = [];
  const source = $("source").value;
  const pace = `speed=${speed()}`;
  if (source === "file") {
    run = new Run(`upload?${pace}`, { method: "POST", body: dropped }, null);
  } else if (source === "recorded" || source === "cut") {
    run = new Run(`play?${pace}${source === "cut" ? "&end=0.7" : ""}`, { method: "POST" }, TRIAGE);
  } else {
    const body = JSON.stringify({ provider: source, ticket: $("ticket").value });
    run = new Run("live", { method: "POST", body, headers: { "Content-Type": "application/json" } }, TRIAGE);
  }
  changed();
}

/** Tell the server at which speed to go on. */
async function pace() {
  if (run === null || !run.running) return;
  await fetch(`${run.reply.url}?speed=${speed()}&paused=${paused}`, { method: "POST" }).catch(() => {});
}

function togglePause() {
  if (run === null || !run.running) return start();
  paused = !paused;
  void pace();
  changed();
}

/** Show what the buttons do now. */
function changed() {
  const going = run !== null && run.running;
  const isLive = !["recorded", "cut", "file"].includes($("source").value);
  const action = !going ? "Play" : paused ? "Go on" : "Pause";
  $("pause").querySelector("use").setAttribute("href", action === "Pause" ? "#icon-pause" : "#icon-play");
  $("pause").querySelector("span").textContent = action;
  $("pause").disabled = going && isLive;
  $("speeds").disabled = isLive;
  $("drop").disabled = !going;
  $("live").hidden = !isLive;
}

function showFile(file) {
  if (file.size > maxUpload) {
    complain(`${file.name} is larger than ${Math.floor(maxUpload / 1e6)} MB, the most that this server takes.`);
    return;
  }
  dropped = file;
  let option = $("source").querySelector("option[value=file]");
  if (option === null) {
    option = document.createElement("option");
    option.value = "file";
    $("source").append(option);
  }
  option.textContent = `Your file: ${file.name}`;
  $("source").value = "file";
  start();
}

$("pause").addEventListener("click", togglePause);
$("restart").addEventListener("click", start);
$("drop").addEventListener("click", () => run?.reply.reconnect());
$("source").addEventListener("change", () => {
  const value = $("source").value;
  if (["recorded", "cut", "file"].includes(value)) {
    start();
  } else {
    run?.close(); // a live run costs money: it starts when the reader says so
    dropWork();
    blank();
    changed();
  }
});
$("speeds").addEventListener("change", () => void pace());
$("controls").addEventListener("submit", (event) => event.preventDefault());
$("file").addEventListener("change", () => {
  const [file] = $("file").files;
  if (file) showFile(file);
  $("file").value = ""; // the same file may be chosen again
});

addEventListener("dragover", (event) => {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  document.body.classList.add("dragging");
});
addEventListener("dragleave", (event) => {
  if (event.relatedTarget === null) document.body.classList.remove("dragging");
});
addEventListener("drop", (event) => {
  document.body.classList.remove("dragging");
  const [file] = event.dataTransfer?.files ?? [];
  if (!file) return;
  event.preventDefault();
  showFile(file);
});

// ---- numbers

function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(milliseconds < 10_000 ? 1 : 0)} s`;
}

function count() {
  if (run === null) return;
  const { deltas, final, first, elapsed } = run.numbers();
  rates.push((deltas * 1000) / STEP);
  if (rates.length > STEPS) rates.shift();
  const lately = rates.slice(-5);
  $("rate").textContent = String(Math.round(lately.reduce((sum, rate) => sum + rate, 0) / lately.length));
  $("final").textContent = String(final);
  $("first").textContent = first === null ? "–" : seconds(first);
  $("elapsed").textContent = seconds(elapsed);
  const top = Math.max(20, ...rates);
  const points = rates.map((rate, at) => `${2 * (at + STEPS - rates.length)},${(27 - (25 * rate) / top).toFixed(1)}`);
  if (points.length < 2) return;
  const from = 2 * (STEPS - rates.length);
  $("spark-line").setAttribute("d", `M${points.join("L")}`);
  $("spark-area").setAttribute("d", `M${from},28L${points.join("L")}L${2 * (STEPS - 1)},28Z`);
}

setInterval(count, STEP);

// ---- the beginning

$("ticket").value = TICKET;
const asked = new URLSearchParams(location.search);
const wanted = $("controls").querySelector(`input[name=speed][value="${CSS.escape(asked.get("speed") ?? "1")}"]`);
if (wanted) wanted.checked = true;
if (asked.get("play") === "0") blank();
else start();
changed();

const sources = await (await fetch("sources")).json();
maxUpload = sources.max_upload;
for (const provider of sources.live) {
  const option = document.createElement("option");
  option.value = provider.id;
  option.textContent = `Live: ${provider.name}`;
  $("source").append(option);
}
document.body.dataset.ready = "true";
