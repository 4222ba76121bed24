/** Returns two to five round numbers for an axis. They begin with 0, and the last is at least `max`. */
export function ticksUpTo(max: number): number[] {
  const step = stepOf(max);
  const last = Math.max(1, Math.ceil(max / step - 1e-9));
  return Array.from({ length: last + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

function stepOf(max: number): number {
  if (max <= 0) return 1;
  const rough = max / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  return unit * ([1, 2, 2.5, 5, 10].find((step) => step * unit >= rough * 0.999) ?? 10);
}

/** Round intervals in ms between two marks on a time axis. The smallest that fits is used. */
const timeSteps = [50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000];
const longSteps = [3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000];

/** Returns up to six round times in ms for an axis. They begin with 0, and none is after `maxMs`. */
export function timeTicks(maxMs: number): number[] {
  const step = [...timeSteps, ...longSteps].find((ms) => maxMs / ms <= 5) ?? Math.ceil(maxMs / 5 / 86_400_000) * 86_400_000;
  return Array.from({ length: Math.floor(maxMs / step + 1e-9) + 1 }, (_, index) => index * step);
}
