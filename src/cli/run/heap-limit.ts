import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Enough for a fast run: a larger one takes memory and no time off. */
const mostBytes = 16 * 2 ** 20;

const lookEveryMs = 50;

/**
 * Keeps the heap's space for young objects from growing as far as newer versions of V8 let it:
 * a long run would hold 100 MB more than a short one. Node 20 stops there by itself.
 */
export function boundYoungGeneration(): void {
  if (Number.parseInt(process.versions.node, 10) < 22) return;
  const timer = setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (young && young.space_size < mostBytes) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    clearInterval(timer);
  }, lookEveryMs);
  timer.unref();
}
