// What the programs have in common: stdin is a JSON array of bodies, stdout the array of what each of them became.

/** A body as a stream of bytes, in pieces that end anywhere. */
export function streamOf(body) {
  const bytes = new TextEncoder().encode(body);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      const size = 1 + ((at * 7919) % 997);
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}

/** Reads every body of stdin with `read` and writes the results. */
export async function readAll(read) {
  const pieces = [];
  for await (const piece of process.stdin) pieces.push(piece);
  const results = [];
  for (const body of JSON.parse(Buffer.concat(pieces).toString("utf8"))) results.push(await read(body));
  process.stdout.write(JSON.stringify(results));
}
