// Reads AG-UI events as the AG-UI client does: parses the body, checks the order of the events, applies them. Of each
// body: the events, the messages, the state, and what was wrong.

import { defaultApplyEvents, runHttpRequest, transformHttpEventStream, verifyEvents } from "@ag-ui/client";
import { from, lastValueFrom, toArray } from "rxjs";
import { readAll, streamOf } from "./bodies.mjs";

await readAll(async (body) => {
  const answer = new Response(streamOf(body), { headers: { "content-type": "text/event-stream" } });
  const input = { threadId: "t", runId: "r", messages: [], state: {}, tools: [], context: [], forwardedProps: {} };
  const agent = { messages: [], state: {}, isRunning: true };
  const out = { messages: null, state: null, events: [], fault: null };
  try {
    const events = transformHttpEventStream(runHttpRequest(() => Promise.resolve(answer))).pipe(verifyEvents(false));
    out.events = await lastValueFrom(events.pipe(toArray()));
    const copies = structuredClone(out.events); // the client changes what it applies
    const changes = await lastValueFrom(defaultApplyEvents(input, from(copies), agent, []).pipe(toArray()));
    for (const change of changes) {
      if (change.messages !== undefined) out.messages = change.messages;
      if (change.state !== undefined) out.state = change.state;
    }
  } catch (error) {
    out.fault = String(error?.stack ?? error);
  }
  return out;
});
