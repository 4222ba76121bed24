import type { NetworkAddress } from '../core/run-options.ts';
import type { Metrics } from '../run/metrics.ts';
import type { Terminal } from './terminal.ts';

interface MetricsOptions {
  readonly metrics?: NetworkAddress;
  readonly quiet?: boolean;
}

/** Prints the metrics' URL. Undefined if the options do not request metrics, in which case the code for them is not loaded. */
export async function openMetrics({ metrics: address, quiet = false }: MetricsOptions, { say }: Terminal): Promise<Metrics | undefined> {
  if (!address) return undefined;
  const { Metrics } = await import('../run/metrics.ts');
  const metrics = await Metrics.open(address);
  if (!quiet) say(`metrics: ${metrics.url}`);
  return metrics;
}
