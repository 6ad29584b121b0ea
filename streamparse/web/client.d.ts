/** Types of `client.js`. */

export type Part = string | number;
export type Kind = "string" | "number" | "boolean" | "null" | "object" | "array";
export type FieldState = "growing" | "done" | "cut" | "invalid";
export type ConnectionState = "connecting" | "open" | "waiting" | "closed";

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** One field. It is alive: what is read now may have changed at the next frame. */
export interface Field {
  /** `tips[0].text`; the root is `""`. */
  readonly path: string;
  readonly parts: readonly Part[];
  /** The container that it is in; null for the root. */
  readonly parent: Field | null;
  readonly kind: Kind;
  readonly state: FieldState;
  /** The deltas so far: the text of a string, the JSON text of a number or boolean (exact, of any size). */
  readonly text: string;
  /** The value so far: of a string its text, of a container the live part of the tree. Undefined until it is known. */
  readonly value: JsonValue | undefined;
  /** What is wrong with it, in words. */
  readonly errors: readonly string[];
  /** Grows with each change. */
  readonly version: number;
}

export interface Change {
  readonly type: "start" | "delta" | "done" | "reset" | "cut" | "invalid";
  /** What to append to the field's slot; on a delta only. */
  readonly delta?: string;
  /** `"content"`, or the id of the tool call whose arguments these are. */
  readonly source: string;
}

export interface Frame {
  /** 1, 2, 3 …; 0 within a snapshot. */
  id: number;
  event: string;
  data: any;
}

export interface Invalid {
  path: string;
  parts: Part[];
  errors: { msg: string; type: string; loc: Part[] }[];
  value: unknown;
  early: boolean;
}

export interface End {
  complete: boolean;
  /** The paths that were open at the end, innermost first. */
  incomplete: string[];
  end_state: string;
  finish_reason: string | null;
}

export interface ConnectionChange {
  state: ConnectionState;
  /** When waiting: which retry in a row it is, and after how many milliseconds it comes. */
  attempt?: number;
  wait?: number;
  lost?: Error;
  failure?: Error;
}

/** Write parts as a path: `tips[0].text`. */
export function formatPath(parts: readonly Part[]): string;

/** Turns the text of an event stream, in pieces of any size, into frames. */
export class FrameDecoder {
  /** Milliseconds to wait before coming back, if the server has said so. */
  retry: number | null;
  /** Throws `SyntaxError` where the data of a frame is no JSON. */
  feed(text: string): Frame[];
}

/** What the frames of one reply add up to. No I/O: `connect` makes one that reads them. */
export class Reply {
  /** Path -> field, each container before what is in it. */
  readonly fields: ReadonlyMap<string, Field>;
  /** The document so far; undefined before the first field. */
  readonly tree: JsonValue | undefined;
  /** The reasoning so far. */
  readonly reasoning: string;
  readonly reasoningDone: boolean;
  /** Whether the last frame has come. */
  readonly done: boolean;
  /** Whether the document was whole by then. */
  readonly complete: boolean;
  readonly end: End | null;
  /** What ended the run, if it failed. */
  readonly error: { code: string; message: string; path?: string } | null;
  readonly invalid: readonly Invalid[];
  readonly diagnostics: readonly { code: string; message: string; path: string; line: number; column: number }[];
  readonly status: { state: string; [name: string]: unknown } | null;
  readonly meta: Record<string, unknown> | null;
  /** The tool calls that are whole. */
  readonly toolCalls: readonly Record<string, unknown>[];
  /** The ids of the tool calls whose arguments have come so far. */
  readonly sources: string[];
  readonly lastEventId: number;
  /** Grows with each frame that counted. */
  readonly version: number;

  /** The arguments of a tool call, as far as they have come. */
  arguments(source: string): { fields: ReadonlyMap<string, Field>; tree: JsonValue | undefined } | undefined;
  /**
   * Call back for the fields at `path`, which may have wildcards: `tips[*].text`, `user.*`, `**.text`, `**`.
   * `source`: the id of a tool call, or `"*"` for the answer and all calls. Gives a function that ends it.
   */
  on(path: string, callback: (field: Field, change: Change) => void, options?: { source?: string }): () => void;
  /** Call back with the state of the connection. */
  onEvent(event: "connection", callback: (change: ConnectionChange) => void): () => void;
  /** Call back with the data of each frame of this event; `"*"`: of any. */
  onEvent(event: string, callback: (data: any, event: string) => void): () => void;
  /** Call back after every batch of frames. */
  subscribe(callback: (reply: this) => void): () => void;
  /** Take in frames, in order. Throws `RangeError` where some are missing. */
  apply(frames: Iterable<Frame>): void;
}

/** A connection that will not come back by itself. */
export class StreamFailure extends Error {
  /** The status of the answer, if there was one. */
  readonly status?: number;
}

export interface ConnectOptions {
  /** Options of fetch: method, headers, body, credentials. */
  init?: RequestInit;
  signal?: AbortSignal;
  /** Retries in a row without a frame in between, 10. */
  retries?: number;
  /** Milliseconds before the first retry, 500; doubled with each. */
  backoff?: number;
  /** Milliseconds without any byte after which a connection counts as lost, 45,000. */
  timeout?: number;
  fetch?: typeof globalThis.fetch;
}

/** A reply that is read over fetch. */
export class Stream extends Reply {
  /** Where it is read: after a redirect the address that it led to. */
  readonly url: string;
  readonly connection: ConnectionState;
  /** Why it is closed for good before the end, if it is. */
  readonly failure: Error | null;
  /** Resolves with the last frame; rejects with `failure`, or with an `AbortError` after `close()`. */
  readonly finished: Promise<this>;
  /** Stop reading. What has come stays readable. */
  close(): void;
  /** Drop the connection and come back at once. */
  reconnect(): void;
}

/** Read the reply at `url`. Starts at once. */
export function connect(url: string | URL, options?: ConnectOptions): Stream;
