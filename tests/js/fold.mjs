// Folds frames for test_web_client.py: a line {"pieces": [text of an event stream, …]} in, a line with the outcome out.
// "url" instead: reads it to the end, over fetch.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { FrameDecoder, Reply, connect } = await import(pathToFileURL(process.argv[2]));

function fold(pieces) {
  const decoder = new FrameDecoder();
  const reply = new Reply();
  for (const piece of pieces) reply.apply(decoder.feed(piece));
  return reply;
}

async function read(url) {
  let connections = 0;
  let snapshots = 0;
  const ids = [];
  const reply = connect(url, { backoff: 5, retries: 20 });
  reply.onEvent("connection", ({ state }) => (connections += state === "connecting"));
  reply.onEvent("snapshot", () => snapshots++);
  reply.onEvent("*", () => ids.push(reply.lastEventId));
  await reply.finished;
  return Object.assign(reply, { connections: connections + 1, snapshots });
}

function outcome(reply) {
  const fields = [...reply.fields.values()];
  return {
    tree: reply.tree,
    has_tree: reply.tree !== undefined,
    fields: fields.map(({ path, parts, kind, state, text }) => ({ path, parts, kind, state, text })),
    reasoning: reply.reasoning,
    calls: Object.fromEntries(reply.sources.map((source) => [source, reply.arguments(source).tree])),
    complete: reply.complete,
    done: reply.done,
    end: reply.end,
    last: reply.lastEventId,
    connections: reply.connections,
    snapshots: reply.snapshots,
    polluted: {}.polluted !== undefined || Object.keys(Object.prototype).length > 0,
    odd_prototypes: fields.some(({ value }) => typeof value === "object" && value !== null && !isPlain(value)),
  };
}

function isPlain(value) {
  return Object.getPrototypeOf(value) === (Array.isArray(value) ? Array.prototype : Object.prototype);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { pieces, url } = JSON.parse(line);
  const answer = await Promise.resolve(url ? read(url) : fold(pieces)).then(outcome, (error) => ({ error: String(error) }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
