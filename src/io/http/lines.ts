import type { Dispatcher } from 'undici';

/** Keep-alive connections, each for one request at a time. */
export interface Lines {
  dispatch(options: Dispatcher.DispatchOptions & { readonly origin: string }, handler: Dispatcher.DispatchHandler): void;
  destroy(): void;
}

/** One connection, made when it is needed: what it is given too early waits for it. */
interface Line {
  readonly origin: string;
  readonly dispatcher: Dispatcher;
}

/** So many may be idle, or as many as have been busy at once: with an origin for each record there would be no end of them. */
const mostIdle = 256;

/**
 * Makes the lines. One whose answer has ended is the next request's at once. undici's own pool would open another until
 * the next turn of the event loop; in that turn its client looks in any case whether the connection still lives, and only then writes.
 */
export function createLines(open: (origin: string) => Dispatcher): Lines {
  const all = new Set<Line>();
  /** The one that was busy last is the last. */
  const idle: Line[] = [];
  let mostBusy = 0;
  return {
    dispatch(options, handler) {
      const line = taken(options.origin) ?? opened(options.origin);
      mostBusy = Math.max(mostBusy, all.size - idle.length);
      line.dispatcher.dispatch(options, {
        ...handler,
        onResponseEnd(controller, trailers) {
          putBack(line);
          handler.onResponseEnd?.(controller, trailers);
        },
        onResponseError(controller, error) {
          drop(line);
          handler.onResponseError?.(controller, error);
        },
      });
    },
    destroy() {
      for (const { dispatcher } of all) dispatcher.destroy().catch(() => undefined);
    },
  };

  function taken(origin: string): Line | undefined {
    const index = idle.findLastIndex((line) => line.origin === origin);
    return index === -1 ? undefined : idle.splice(index, 1)[0];
  }

  function opened(origin: string): Line {
    const line = { origin, dispatcher: open(origin) };
    all.add(line);
    return line;
  }

  function putBack(line: Line): void {
    idle.push(line);
    if (idle.length > Math.max(mostIdle, mostBusy)) drop(idle.shift() as Line);
  }

  /** Only closed, it would connect anew to find that the request that was given up is no longer wanted. */
  function drop(line: Line): void {
    all.delete(line);
    line.dispatcher.destroy().catch(() => undefined);
  }
}
