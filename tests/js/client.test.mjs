// Tests of streamparse/web/client.js that need no server; test_web_client.py runs them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { FrameDecoder, Reply, StreamFailure, connect, formatPath } from "../../streamparse/web/client.js";

const encoder = new TextEncoder();
let count = 0;

/** A frame, the next one after those of `first()`. */
function frame(event, data) {
  return { id: ++count, event, data };
}

function first(...frames) {
  count = frames.length;
  return frames.map((one, index) => ({ ...one, id: index + 1 }));
}

function field(type, parts, kind, more = {}) {
  return frame("field", { type, path: formatPath(parts), parts, kind, ...more });
}

function sse(frames) {
  return frames.map(({ id, event, data }) => `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join("");
}

const END = { complete: true, incomplete: [], end_state: "complete", finish_reason: "stop" };

function replyOf(...text) {
  const deltas = text.map((delta) => field("delta", ["a"], "string", { delta }));
  return first(...deltas, field("done", ["a"], "string"), field("done", [], "object"), frame("end", END));
}

/** A fetch that gives these answers one after the other; what it was asked is in `asked`. */
function fakeFetch(...answers) {
  const asked = [];
  const fetch = async (url, init) => {
    asked.push({ url, method: init.method ?? "GET", lastEventId: init.headers.get("Last-Event-ID"), init });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Error) throw answer;
    return typeof answer === "function" ? answer(init) : answer;
  };
  return { fetch, asked };
}

/** An event stream; `hold`: it never ends by itself. */
function stream(text, { hold = false, redirectedTo } = {}) {
  return (init) => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(encoder.encode(text));
        if (!hold) controller.close();
        init.signal.addEventListener("abort", () => {
          try {
            controller.error(init.signal.reason);
          } catch {
            // closed before
          }
        });
      },
    });
    const response = new Response(body, { headers: { "Content-Type": "text/event-stream; charset=utf-8" } });
    if (redirectedTo) Object.defineProperties(response, { redirected: { value: true }, url: { value: redirectedTo } });
    return response;
  };
}

function status(code, headers = {}) {
  return () => new Response(code === 204 ? null : "no", { status: code, headers });
}

const soon = (milliseconds = 5) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// ---- the event stream

const BODY = '\uFEFF: hello\n\nid: 7\nevent: one\ndata: {"a":\ndata: "ü🌧"}\n\nid: 8\r\ndata:[1]\r\n\r\nid: 9\rdata\r\r';

test("an event stream is read alike in whatever pieces it comes", () => {
  const wanted = [
    { id: 7, event: "one", data: { a: "ü🌧" } },
    { id: 8, event: "message", data: [1] },
  ];
  const body = BODY.slice(0, BODY.indexOf("id: 9"));
  assert.deepEqual(new FrameDecoder().feed(body), wanted);
  assert.deepEqual([...body].flatMap(((decoder) => (one) => decoder.feed(one))(new FrameDecoder())), wanted);
  for (let at = 0; at <= body.length; at++) {
    const decoder = new FrameDecoder();
    assert.deepEqual([...decoder.feed(body.slice(0, at)), ...decoder.feed(""), ...decoder.feed(body.slice(at))], wanted);
  }
});

test("what the server says of retries is kept, what is no field of an event stream is skipped", () => {
  const decoder = new FrameDecoder();
  assert.deepEqual(decoder.feed("retry: 1500\nretry: soon\nid: 1\nfoo: bar\nevent: lost\n\ndata: 2\n\n"), [
    { id: 1, event: "message", data: 2 },
  ]);
  assert.equal(decoder.retry, 1500);
});

test("data that is no JSON is told", () => {
  assert.throws(() => new FrameDecoder().feed("data: {\n\n"), SyntaxError);
});

test("an event that did not come to its end is none", () => {
  assert.deepEqual(new FrameDecoder().feed('id: 1\ndata: {"a": 1}\n'), []);
});

// ---- fields

test("paths are written as the server writes them", () => {
  assert.equal(formatPath(["tips", 0, "text"]), "tips[0].text");
  assert.equal(formatPath(["a.b", "", "ü_1", "1x", "日本", 3]), '["a.b"][""].ü_1["1x"].日本[3]');
  assert.equal(formatPath([]), "");
});

test("deltas add up, in the field and in the tree", () => {
  const reply = new Reply();
  const states = [];
  reply.on("tips[0].text", ({ text, state }, { type, delta }) => states.push([type, delta, text, state]));
  reply.apply(
    first(
      field("delta", ["tips", 0, "text"], "string", { delta: "Hel" }),
      field("delta", ["tips", 0, "text"], "string", { delta: "lo" }),
      field("done", ["tips", 0, "text"], "string"),
    ),
  );
  assert.deepEqual(states, [
    ["delta", "Hel", "Hel", "growing"],
    ["delta", "lo", "Hello", "growing"],
    ["done", undefined, "Hello", "done"],
  ]);
  assert.deepEqual(reply.tree, { tips: [{ text: "Hello" }] });
  assert.deepEqual([...reply.fields.keys()], ["", "tips", "tips[0]", "tips[0].text"]);
  assert.equal(reply.fields.get("tips").state, "growing");
  assert.equal(reply.fields.get("tips[0].text").parent, reply.fields.get("tips[0]"));
});

test("numbers, booleans and null come whole; a big number keeps its digits as text", () => {
  const reply = new Reply();
  const digits = "12345678901234567890123";
  reply.apply(
    first(
      field("delta", ["n"], "number", { delta: digits }),
      field("done", ["n"], "number", { value: 1.2345678901234568e22 }),
      field("delta", ["b"], "boolean", { delta: "true" }),
      field("done", ["b"], "boolean", { value: true }),
      field("done", ["z"], "null", { value: null }),
      field("done", ["o"], "object"),
      field("done", ["l"], "array"),
    ),
  );
  assert.deepEqual(reply.tree, { n: 1.2345678901234568e22, b: true, z: null, o: {}, l: [] });
  assert.equal(reply.fields.get("n").text, digits);
});

test("a key named __proto__ is a key like any other", () => {
  const reply = new Reply();
  reply.apply(
    first(
      field("delta", ["__proto__", "polluted"], "string", { delta: "yes" }),
      field("delta", ["constructor", "prototype", "polluted"], "string", { delta: "yes" }),
      field("delta", ["x", "__proto__"], "string", { delta: "text" }),
      field("delta", ["toString"], "string", { delta: "text" }),
    ),
  );
  assert.equal({}.polluted, undefined);
  assert.equal(reply.tree.polluted, undefined);
  assert.equal(Object.getPrototypeOf(reply.tree), Object.prototype);
  assert.deepEqual(
    reply.tree,
    JSON.parse('{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},"x":{"__proto__":"text"},"toString":"text"}'),
  );
  reply.apply([field("reset", ["__proto__"], "object")]);
  assert.deepEqual(Object.keys(reply.tree), ["constructor", "x", "toString"]);
});

test("a reset takes a path and all below it away, and tells so", () => {
  const reply = new Reply();
  const gone = [];
  reply.on("**", ({ path }, { type }) => type === "reset" && gone.push(path));
  reply.apply(
    first(
      field("done", ["keep"], "null", { value: null }),
      field("delta", ["a", 0, "b"], "string", { delta: "x" }),
      field("delta", ["a", 1, "b"], "string", { delta: "y" }),
      field("reset", ["a", 1], "object"),
    ),
  );
  assert.deepEqual(reply.tree, { keep: null, a: [{ b: "x" }] });
  reply.apply([field("reset", ["a"], "array")]);
  assert.deepEqual(reply.tree, { keep: null });
  assert.deepEqual(gone, ["a[1]", "a[1].b", "a", "a[0]", "a[0].b"]);
  assert.deepEqual([...reply.fields.keys()], ["", "keep"]);
  reply.apply([field("delta", ["a"], "string", { delta: "new" }), field("reset", ["nowhere"], "object")]);
  assert.deepEqual(reply.tree, { keep: null, a: "new" });
  reply.apply([field("reset", [], "object")]);
  assert.equal(reply.tree, undefined);
  assert.equal(reply.fields.size, 0);
});

test("what was cut says so and keeps its text; nothing grows after the end", () => {
  const reply = new Reply();
  reply.apply(
    first(
      field("delta", ["a"], "string", { delta: "hal" }),
      field("cut", ["a"], "string"),
      field("delta", ["l", 0], "string", { delta: "left open" }),
      frame("end", { ...END, complete: false, incomplete: ["a", ""] }),
    ),
  );
  assert.deepEqual(
    [...reply.fields.values()].map(({ path, state }) => [path, state]),
    [["", "cut"], ["a", "cut"], ["l", "cut"], ["l[0]", "cut"]],
  );
  assert.deepEqual(reply.tree, { a: "hal", l: ["left open"] });
  assert.equal(reply.complete, false);
  assert.equal(reply.done, true);
});

test("a field that does not fit stays invalid", () => {
  const reply = new Reply();
  const seen = [];
  reply.on("n", ({ state }, { type }) => seen.push([type, state]));
  reply.apply(
    first(
      field("delta", ["n"], "string", { delta: "x" }),
      frame("invalid", { path: "n", parts: ["n"], errors: [{ msg: "too short" }], value: "x", early: true }),
      field("delta", ["n"], "string", { delta: "y" }),
      field("done", ["n"], "string"),
      frame("invalid", { path: "gone", parts: ["gone"], errors: [{ msg: "missing" }], value: null, early: false }),
      field("done", [], "object"),
      frame("end", END),
    ),
  );
  assert.deepEqual(seen, [["delta", "growing"], ["invalid", "invalid"], ["delta", "invalid"], ["done", "invalid"]]);
  assert.deepEqual(reply.fields.get("n").errors, ["too short"]);
  assert.equal(reply.invalid.length, 2);
});

test("arguments of tool calls are documents of their own", () => {
  const reply = new Reply();
  const [own, calls, all] = [[], [], []];
  reply.on("city", (_, { source }) => own.push(source));
  reply.on("city", ({ text }) => calls.push(text), { source: "call_1" });
  reply.on("**", (_, { source }) => all.push(source), { source: "*" });
  reply.apply(
    first(
      field("delta", ["city"], "string", { delta: "Ulm", source: "call_1" }),
      field("delta", ["city"], "string", { delta: "Bonn" }),
      frame("tool_calls", { id: "call_1", name: "weather" }),
    ),
  );
  assert.deepEqual([own, calls], [["content"], ["Ulm"]]);
  assert.deepEqual(all, ["call_1", "call_1", "content", "content"]);
  assert.deepEqual(reply.tree, { city: "Bonn" });
  assert.deepEqual(reply.sources, ["call_1"]);
  assert.deepEqual(reply.arguments("call_1").tree, { city: "Ulm" });
  assert.equal(reply.toolCalls[0].name, "weather");
  assert.equal(reply.arguments("no such call"), undefined);
});

test("several documents are a list that is done with the end", () => {
  const reply = new Reply();
  reply.apply(first(field("done", [0], "object"), field("done", [1], "object"), frame("end", END)));
  assert.deepEqual(reply.tree, [{}, {}]);
  assert.equal(reply.fields.get("").state, "done");
});

test("another style of paths on the wire gives the same fields", () => {
  const reply = new Reply();
  const data = { type: "delta", parts: ["tips", 0, "a b"], kind: "string", delta: "x" };
  for (const path of ['tips/0/"a b"', "/tips/0/a b"]) {
    reply.apply(first(frame("field", { ...data, path }), field("reset", [], "object")));
    reply.lastEventId = 0;
    reply.apply(first(frame("field", { ...data, path })));
    assert.deepEqual([...reply.fields.keys()], ["", "tips", "tips[0]", 'tips[0]["a b"]']);
    reply.apply([field("reset", [], "object")]);
    reply.lastEventId = 0;
  }
});

const PLACES = [[], ["a"], ["tips"], ["tips", 0], ["tips", 0, "text"], ["tips", 12, "text"], ["user", "text"], ["a.b", "*"]];

for (const [pattern, wanted] of [
  ["", [""]],
  ["tips[*].text", ["tips[0].text", "tips[12].text"]],
  ["tips[12].text", ["tips[12].text"]],
  ["*", ["a", "tips", "user", '["a.b"]']],
  ["*.text", ["user.text"]],
  ["**.text", ["tips[0].text", "tips[12].text", "user.text"]],
  ["tips.**", ["tips", "tips[0]", "tips[0].text", "tips[12]", "tips[12].text"]],
  ["tips[*].*", ["tips[0].text", "tips[12].text"]],
  ['["a.b"].*', ['["a.b"]["*"]']],
  ['["a.b"]["*"]', ['["a.b"]["*"]']],
]) {
  test(`the pattern ${JSON.stringify(pattern)} fits what it should`, () => {
    const reply = new Reply();
    const seen = new Set();
    reply.on(pattern, ({ path }) => seen.add(path));
    reply.apply(first(...PLACES.filter((p) => p.length > 1 || p[0] === "a").map((p) => field("done", p, "null", { value: null }))));
    assert.deepEqual([...seen].sort(), [...wanted].sort());
  });
}

test("what is no path is told", () => {
  for (const text of [".a", "a..b", "a[", "a[x]", "a b", "[0]a", 'a["b"', "a.", "[*]*"]) {
    assert.throws(() => new Reply().on(text, () => {}), SyntaxError, text);
  }
});

test("a listener can go, and one that throws stops nobody", (t) => {
  const reply = new Reply();
  const errors = t.mock.method(console, "error", () => {});
  const seen = [];
  reply.on("a", () => {
    throw new Error("mine");
  });
  const end = reply.on("a", (_, { type }) => seen.push(type));
  const endEvent = reply.onEvent("field", ({ type }) => seen.push(`field ${type}`));
  reply.apply(first(field("delta", ["a"], "string", { delta: "x" })));
  end();
  endEvent();
  reply.apply([field("done", ["a"], "string")]);
  assert.deepEqual(seen, ["delta", "field delta"]);
  assert.equal(errors.mock.callCount(), 2);
  assert.equal(reply.fields.get("a").state, "done");
});

test("a subscriber is called once a batch", () => {
  const reply = new Reply();
  let calls = 0;
  const end = reply.subscribe(() => calls++);
  reply.apply(replyOf("x", "y"));
  reply.apply([]);
  assert.equal(calls, 1);
  end();
  reply.apply([frame("meta", {})]);
  assert.equal(calls, 1);
});

test("frames that were seen are dropped, frames that are missing are told", () => {
  const reply = new Reply();
  const frames = first(
    field("delta", ["a"], "string", { delta: "x" }),
    field("delta", ["a"], "string", { delta: "y" }),
    field("delta", ["a"], "string", { delta: "z" }),
    field("delta", ["a"], "string", { delta: "!" }),
  );
  reply.apply(frames.slice(0, 2));
  reply.apply(frames.slice(0, 3));
  assert.equal(reply.fields.get("a").text, "xyz");
  assert.throws(() => reply.apply([{ ...frames[3], id: 5 }]), RangeError);
  assert.equal(reply.lastEventId, 3);
  assert.equal(reply.fields.get("a").text, "xyz");
});

test("a snapshot replaces all that was held", () => {
  const reply = new Reply();
  reply.apply(
    first(frame("reasoning_delta", { text: "old" }), field("delta", ["gone"], "string", { delta: "x" }), frame("diagnostic", {})),
  );
  const piece = (event, data, id = 0) => ({ id, event, data });
  const delta = { type: "delta", path: "a", parts: ["a"], kind: "string", delta: "whole" };
  reply.apply([
    piece("snapshot", {}),
    piece("field", { type: "reset", path: "", parts: [], kind: "object" }),
    piece("reasoning_delta", { text: "new" }),
    piece("field", delta, 40),
    piece("field", { ...delta, delta: "!" }, 41),
  ]);
  assert.deepEqual(reply.tree, { a: "whole!" });
  assert.equal(reply.reasoning, "new");
  assert.deepEqual(reply.diagnostics, []);
  assert.equal(reply.lastEventId, 41);
  assert.throws(() => reply.apply([piece("field", delta, 43)]), RangeError);
});

test("an answer that is asked for again begins with nothing", () => {
  const reply = new Reply();
  reply.apply(
    first(
      frame("reasoning_delta", { text: "first try" }),
      field("delta", ["a"], "string", { delta: "x" }),
      frame("status", { state: "retrying", attempt: 2 }),
      field("reset", [], "object"),
      frame("reasoning_delta", { text: "second" }),
    ),
  );
  assert.equal(reply.reasoning, "second");
  assert.equal(reply.tree, undefined);
});

// ---- the connection

test("a reply is read to its end", async () => {
  const { fetch, asked } = fakeFetch(stream(sse(replyOf("Hel", "lo")), { hold: true }));
  const reply = connect("/reply", { fetch, init: { headers: { "X-Own": "1" }, credentials: "include" } });
  assert.equal(await reply.finished, reply);
  assert.deepEqual(reply.tree, { a: "Hello" });
  assert.equal(reply.connection, "closed");
  assert.equal(reply.complete, true);
  assert.equal(asked.length, 1);
  assert.equal(asked[0].lastEventId, null);
  assert.equal(asked[0].init.headers.get("Accept"), "text/event-stream");
  assert.equal(asked[0].init.headers.get("X-Own"), "1");
  assert.equal(asked[0].init.credentials, "include");
});

test("a connection that breaks anywhere comes back with the last id it has", async () => {
  const text = sse(replyOf("Hel", "lo", "!"));
  for (let at = 0; at < text.length; at += 7) {
    const { fetch, asked } = fakeFetch(stream(text.slice(0, at)), new TypeError("network"), stream(text));
    const reply = await connect("/reply", { fetch, backoff: 0 }).finished;
    assert.deepEqual(reply.tree, { a: "Hello!" });
    const seen = (text.slice(0, at).match(/\n\n/g) ?? []).length;
    assert.deepEqual(asked.map((one) => one.lastEventId), [null, seen ? String(seen) : null, seen ? String(seen) : null]);
  }
});

test("the waits double, and begin anew after a frame", async () => {
  const text = sse(replyOf("x"));
  const none = new TypeError("network");
  const { fetch } = fakeFetch(none, none, none, none, stream(text.slice(0, text.indexOf("id: 2"))), none, stream(text));
  const reply = connect("/reply", { fetch, backoff: 1 });
  const waits = [];
  reply.onEvent("connection", ({ state, wait, attempt }) => state === "waiting" && waits.push([attempt, wait]));
  await reply.finished;
  assert.deepEqual(waits.map(([attempt]) => attempt), [1, 2, 3, 4, 1, 2]);
  for (const [attempt, wait] of waits) {
    const middle = 2 ** (attempt - 1);
    assert.ok(wait >= 0.75 * middle && wait <= 1.25 * middle, `${wait} ms at attempt ${attempt}`);
  }
});

test("the server says how long to wait", async () => {
  const text = sse(replyOf("x"));
  const { fetch } = fakeFetch(stream(`retry: 4\n\n${text.slice(0, 20)}`), status(503, { "Retry-After": "0.02" }), stream(text));
  const reply = connect("/reply", { fetch, backoff: 9000 });
  const waits = [];
  reply.onEvent("connection", ({ state, wait }) => state === "waiting" && waits.push(wait));
  await reply.finished;
  assert.ok(waits[0] >= 3 && waits[0] <= 5, `${waits[0]}`);
  assert.ok(waits[1] >= 2 * 15 && waits[1] <= 2 * 25, `${waits[1]}`);
});

test("after so many retries in a row it gives up", async () => {
  const { fetch, asked } = fakeFetch(new TypeError("network"));
  const reply = connect("/reply", { fetch, backoff: 0, retries: 3 });
  await assert.rejects(reply.finished, (error) => error instanceof StreamFailure && error.cause.message === "network");
  assert.equal(asked.length, 4);
  assert.equal(reply.connection, "closed");
  assert.ok(reply.failure instanceof StreamFailure);
});

for (const [name, answer, code] of [
  ["204", status(204), 204],
  ["403", status(403), 403],
  ["404", status(404), 404],
  ["409", status(409), 409],
  ["a page", () => new Response("<p>", { headers: { "Content-Type": "text/html" } }), 200],
]) {
  test(`${name} is final`, async () => {
    const part = sse(replyOf("x")).split("id: 2")[0];
    const { fetch, asked } = fakeFetch(stream(part), answer);
    const reply = connect("/reply", { fetch, backoff: 0 });
    await assert.rejects(reply.finished, (error) => error instanceof StreamFailure && error.status === code);
    assert.equal(asked.length, 2);
    assert.equal(reply.fields.get("a").state, "cut");
    assert.equal(reply.done, false);
  });
}

for (const code of [408, 429, 500, 502, 503]) {
  test(`${code} passes`, async () => {
    const { fetch, asked } = fakeFetch(status(code), stream(sse(replyOf("x"))));
    await connect("/reply", { fetch, backoff: 0 }).finished;
    assert.equal(asked.length, 2);
  });
}

test("a request that might begin a second run is not repeated", async () => {
  const part = sse(replyOf("x")).split("id: 2")[0];
  const { fetch, asked } = fakeFetch(stream(part));
  const reply = connect("/start", { fetch, backoff: 0, init: { method: "POST", body: "{}" } });
  await assert.rejects(reply.finished, /POST is not repeated/);
  assert.equal(asked.length, 1);
});

test("after See Other the run's own address is the one to come back to", async () => {
  const text = sse(replyOf("x"));
  const { fetch, asked } = fakeFetch(stream(text.slice(0, 90), { redirectedTo: "http://localhost/runs/1" }), stream(text));
  const reply = connect("/start", { fetch, backoff: 0, init: { method: "POST", body: "{}" } });
  await reply.finished;
  assert.deepEqual(asked.map(({ url, method }) => [url, method]), [["/start", "POST"], ["http://localhost/runs/1", "GET"]]);
  assert.equal(asked[1].init.body, undefined);
  assert.equal(reply.url, "http://localhost/runs/1");
});

test("silence counts as a lost connection", async () => {
  const text = sse(replyOf("x"));
  const { fetch, asked } = fakeFetch(stream(text.slice(0, 90), { hold: true }), stream(text));
  await connect("/reply", { fetch, backoff: 0, timeout: 15 }).finished;
  assert.equal(asked.length, 2);
});

test("a broken frame, or a missing one, is asked for again", async () => {
  const text = sse(replyOf("x", "y"));
  const without = text.replace(/id: 2[^]*?\n\n/, "");
  const { fetch, asked } = fakeFetch(stream(text.replace('"type"', '"ty')), stream(without), stream(text));
  const reply = await connect("/reply", { fetch, backoff: 0 }).finished;
  assert.deepEqual(reply.tree, { a: "xy" });
  assert.deepEqual(asked.map((one) => one.lastEventId), [null, null, "1"]);
});

test("closing ends it, and keeps what has come", async () => {
  const part = sse(replyOf("x")).split("id: 2")[0];
  const { fetch, asked } = fakeFetch(stream(part, { hold: true }));
  const reply = connect("/reply", { fetch });
  await soon();
  reply.close();
  await assert.rejects(reply.finished, { name: "AbortError" });
  assert.equal(reply.connection, "closed");
  assert.equal(reply.failure, null);
  assert.deepEqual(reply.tree, { a: "x" });
  assert.equal(asked[0].init.signal.aborted, true);
});

test("an abort signal closes it, during a wait and before it began, too", async () => {
  const { fetch, asked } = fakeFetch(new TypeError("network"));
  const controller = new AbortController();
  const waiting = connect("/reply", { fetch, backoff: 60_000, signal: controller.signal });
  await soon();
  assert.equal(waiting.connection, "waiting");
  controller.abort();
  await assert.rejects(waiting.finished, { name: "AbortError" });
  const never = connect("/reply", { fetch, signal: controller.signal });
  await assert.rejects(never.finished, { name: "AbortError" });
  assert.equal(asked.length <= 2, true);
});

test("reconnect drops the connection, or ends the wait, and comes back at once", async () => {
  const text = sse(replyOf("x", "y"));
  const part = text.split("id: 2")[0];
  const { fetch, asked } = fakeFetch(stream(part, { hold: true }), new TypeError("network"), stream(text));
  const reply = connect("/reply", { fetch, backoff: 60_000 });
  await soon();
  reply.reconnect();
  await soon();
  assert.equal(reply.connection, "waiting");
  reply.reconnect();
  await reply.finished;
  assert.deepEqual(asked.map((one) => one.lastEventId), [null, "1", "1"]);
  assert.deepEqual(reply.tree, { a: "xy" });
});
