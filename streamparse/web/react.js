/**
 * An example: hooks for React 18 and later, to copy into an application.
 *
 *     function Triage({ id }) {
 *       const reply = useReply(`/triage/${id}`);
 *       return <><h1><Text reply={reply} path="title" /></h1> … </>;
 *     }
 *     function Text({ reply, path }) {
 *       const field = useField(reply, path);
 *       return <span data-state={field?.state ?? "waiting"}>{field?.text}</span>;
 *     }
 *
 * A component is drawn anew only when its own field has changed, and at most once a frame of the screen.
 */

import { useCallback, useEffect, useState, useSyncExternalStore } from "react";

import { connect } from "./client.js";

/** The reply at `url`, read as long as the component is there; null at first. Draws anew when it has begun. */
export function useReply(url) {
  const [reply, setReply] = useState(null);
  useEffect(() => {
    const stream = connect(url);
    setReply(stream);
    return () => stream.close();
  }, [url]);
  return reply;
}

/** The field at `path` as it is now, or undefined as long as there is none. */
export function useField(reply, path) {
  const subscribe = useCallback(
    (changed) => (reply ? perFrame(changed, (callback) => reply.on(path, callback)) : () => {}),
    [reply, path],
  );
  // The field is alive: its version tells whether it has changed.
  useSyncExternalStore(subscribe, () => reply?.fields.get(path)?.version ?? -1);
  return reply?.fields.get(path);
}

/** All of the reply: draws anew with every batch of frames. For `tree`, `reasoning`, `done`, `error`. */
export function useWhole(reply) {
  const subscribe = useCallback(
    (changed) => {
      if (!reply) return () => {};
      return perFrame(changed, (callback) => {
        const endings = [reply.subscribe(callback), reply.onEvent("connection", callback)];
        return () => endings.forEach((end) => end());
      });
    },
    [reply],
  );
  useSyncExternalStore(subscribe, () => (reply ? `${reply.version} ${reply.connection}` : ""));
  return reply;
}

/** Call `changed` once a frame of the screen at most, however often what `listen` listens to calls back. */
function perFrame(changed, listen) {
  let asked = 0;
  const end = listen(() => {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      changed();
    });
  });
  return () => {
    end();
    cancelAnimationFrame(asked);
  };
}
