/** One sample of a metric. */
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric with its samples. The samples of a histogram have their own names. */
export interface ParsedMetric {
  readonly type: string;
  readonly samples: Sample[];
}

const label = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"`;
const sampleLine = new RegExp(
  String.raw`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(${label}(?:,${label})*)\})? (\+Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$`,
);

/**
 * Parses the text format of Prometheus, version 0.0.4. Throws for a line that does not follow the format, and for a sample that
 * occurs twice.
 */
export function parsedMetrics(text: string): Map<string, ParsedMetric> {
  if (!text.endsWith('\n')) throw new Error('the text does not end with a line break');
  const metrics = new Map<string, ParsedMetric>();
  const seen = new Set<string>();
  let current = '';
  for (const line of text.split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === 'TYPE') {
      if (metrics.has(name)) throw new Error(`${name} comes twice`);
      metrics.set(name, { type: rest, samples: [] });
      current = name;
    } else if (kind === undefined && line !== '') {
      const sample = sampleOf(line);
      const key = line.slice(0, line.lastIndexOf(' '));
      if (seen.has(key)) throw new Error(`${key} comes twice`);
      seen.add(key);
      const isOwn = sample.name === current || (metrics.get(current)?.type === 'histogram' && isOfHistogram(sample.name, current));
      if (!isOwn) throw new Error(`${sample.name} comes below ${current}`);
      metrics.get(current)?.samples.push(sample);
    }
  }
  return metrics;
}

function sampleOf(line: string): Sample {
  const [, name, labels = '', value] = sampleLine.exec(line) ?? [];
  if (name === undefined) throw new Error(`not a sample: ${line}`);
  const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => {
    return [key, text.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))] as const;
  });
  return { name, labels: Object.fromEntries(pairs), value: Number(value) };
}

function isOfHistogram(name: string, histogram: string): boolean {
  return ['_bucket', '_sum', '_count'].some((end) => name === histogram + end);
}

/** Returns the values of a metric, keyed by its labels except `flow`, which are joined by spaces. */
export function valuesOf(metrics: ReadonlyMap<string, ParsedMetric>, name: string): Record<string, number> {
  const samples = metrics.get(name)?.samples ?? [];
  return Object.fromEntries(samples.map(({ labels: { flow: _, ...labels }, value }) => [Object.values(labels).join(' '), value] as const));
}
