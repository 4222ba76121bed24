/** The signals that end a server. */
export interface ServeSignals {
  readonly first: Promise<NodeJS.Signals>;
  readonly second: Promise<NodeJS.Signals>;
}

/** Listens to SIGINT and SIGTERM. */
export function watchSignals(): ServeSignals {
  const take: ((signal: NodeJS.Signals) => void)[] = [];
  const [first, second] = [0, 1].map(() => new Promise<NodeJS.Signals>((resolve) => take.push(resolve))) as [
    Promise<NodeJS.Signals>,
    Promise<NodeJS.Signals>,
  ];
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => take.shift()?.(signal));
  return { first, second };
}
