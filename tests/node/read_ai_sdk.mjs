// Reads a UI message stream from stdin as the AI SDK's chat transport does, and writes what became of it as JSON:
// the message, the parts that were sent to `onData` only, and what was wrong.
// Usage: node read_ai_sdk.mjs ai|ai-v5

const { parseJsonEventStream, readUIMessageStream, uiMessageChunkSchema } = await import(process.argv[2]);

const chunks = [];
const faults = [];
const source = new ReadableStream({
  async start(controller) {
    for await (const piece of process.stdin) controller.enqueue(new Uint8Array(piece));
    controller.close();
  },
});
const parsed = parseJsonEventStream({ stream: source, schema: uiMessageChunkSchema }).pipeThrough(
  new TransformStream({
    transform(result, controller) {
      if (!result.success) {
        faults.push(String(result.error));
        return;
      }
      chunks.push(result.value);
      controller.enqueue(result.value);
    },
  }),
);

let message = null;
let states = 0;
const errors = [];
for await (const state of readUIMessageStream({ stream: parsed, onError: (error) => errors.push(error.message) })) {
  message = state;
  states += 1;
}
process.stdout.write(JSON.stringify({ message, states, errors, faults, chunks }));
