// Reads UI message streams as the AI SDK's chat transport does. Of each: the message, how many states it went through,
// the chunks, and what was wrong.
// Usage: node read_ai_sdk.mjs ai|ai-v5

import { readAll, streamOf } from "./bodies.mjs";

const { parseJsonEventStream, readUIMessageStream, uiMessageChunkSchema } = await import(process.argv[2]);

await readAll(async (body) => {
  const chunks = [];
  const faults = [];
  const errors = [];
  const stream = parseJsonEventStream({ stream: streamOf(body), schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream({
      transform(result, controller) {
        if (!result.success) {
          faults.push(String(result.error));
          return;
        }
        chunks.push(structuredClone(result.value)); // the reader changes the parts that it keeps
        controller.enqueue(result.value);
      },
    }),
  );
  let message = null;
  let states = 0;
  for await (const state of readUIMessageStream({ stream, onError: (error) => errors.push(error.message) })) {
    message = state;
    states += 1;
  }
  return { message, states, errors, faults, chunks };
});
