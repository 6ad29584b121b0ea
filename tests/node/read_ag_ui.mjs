// Reads AG-UI events from stdin as the AG-UI client does: parses the body, checks the order of the events, applies them.
// Writes the messages, the state and what was wrong as JSON.

import { defaultApplyEvents, runHttpRequest, transformHttpEventStream, verifyEvents } from "@ag-ui/client";
import { from, lastValueFrom, toArray } from "rxjs";

const body = new ReadableStream({
  async start(controller) {
    for await (const piece of process.stdin) controller.enqueue(new Uint8Array(piece));
    controller.close();
  },
});
const answer = new Response(body, { headers: { "content-type": "text/event-stream" } });
const input = { threadId: "t", runId: "r", messages: [], state: {}, tools: [], context: [], forwardedProps: {} };
const agent = { messages: [], state: {}, isRunning: true };

const out = { messages: null, state: null, events: [], fault: null };
try {
  const events = transformHttpEventStream(runHttpRequest(() => Promise.resolve(answer))).pipe(verifyEvents(false));
  out.events = await lastValueFrom(events.pipe(toArray()));
  const changes = await lastValueFrom(defaultApplyEvents(input, from(out.events), agent, []).pipe(toArray()));
  for (const change of changes) {
    if (change.messages !== undefined) out.messages = change.messages;
    if (change.state !== undefined) out.state = change.state;
  }
} catch (error) {
  out.fault = String(error?.stack ?? error);
}
process.stdout.write(JSON.stringify(out));
