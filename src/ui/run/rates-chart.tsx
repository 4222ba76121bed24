import { durationText } from '../../core/duration.ts';
import { formatCount } from '../../core/text/number.ts';
import type { RateBucket, ResponseTimesView } from '../../report/run-view.ts';
import { percent, rate } from '../figures.ts';
import { Chart, plotHeight, ticksUpTo, timeTicks, y } from '../parts/chart.tsx';
import { Table } from '../parts/table.tsx';
import { inPercent } from '../parts/tiles.tsx';

/** Shows areas for all records and, in front, for failed records, and bands for pauses of requests. */
export function RatesChart({ buckets }: { readonly buckets: readonly RateBucket[] }) {
  const last = buckets.at(-1);
  const endMs = Math.max(1, last ? last.startMs + last.ms : 1);
  const ticks = ticksUpTo(Math.max(0, ...buckets.map(perSecond)));
  const top = ticks.at(-1) ?? 1;
  const outline = (of: (bucket: RateBucket) => number) => outlineOf(buckets, endMs, (bucket) => of(bucket) / top);
  return (
    <Chart
      label={ratesText(buckets)}
      yMarks={ticks.map((tick) => ({ at: tick / top, text: formatCount(tick) }))}
      xMarks={timeTicks(endMs).map((ms) => ({ at: ms / endMs, text: ms === 0 ? '0' : durationText(ms) }))}
      table={<RatesTable buckets={buckets} />}
    >
      {buckets
        .filter(({ pausedMs }) => pausedMs > 0)
        .map((bucket) => (
          <PauseBand key={bucket.startMs} bucket={bucket} endMs={endMs} />
        ))}
      <svg aria-hidden="true" width="100%" height={plotHeight} viewBox={`0 0 1000 ${plotHeight}`} preserveAspectRatio="none">
        <path class="area" d={`${outline(perSecond)}V${y(0)}H0Z`} />
        <path class="curve" d={outline(perSecond)} />
        {buckets.some(({ failed }) => failed > 0) && <path class="area bad" d={`${outline(failedPerSecond)}V${y(0)}H0Z`} />}
      </svg>
    </Chart>
  );
}

/** A band that shows a pause of requests. It is as high as the plot, and as wide as the paused time in one interval. */
function PauseBand({ bucket, endMs }: { readonly bucket: RateBucket; readonly endMs: number }) {
  const { startMs, ms, pausedMs } = bucket;
  return (
    <rect class="pause" x={inPercent(startMs / endMs)} width={inPercent(Math.min(ms, pausedMs) / endMs)} y={y(1)} height={y(0) - y(1)} />
  );
}

/** Has one step for each interval. */
function outlineOf(buckets: readonly RateBucket[], endMs: number, share: (bucket: RateBucket) => number): string {
  const x = (ms: number) => Number(((ms / endMs) * 1000).toFixed(1));
  const steps = buckets.map((bucket, index) => `${index === 0 ? 'M0,' : 'V'}${y(share(bucket))}H${x(bucket.startMs + bucket.ms)}`);
  return steps.join('') || `M0,${y(0)}H1000`;
}

function perSecond({ written, failed, ms }: RateBucket): number {
  return ms > 0 ? ((written + failed) / ms) * 1000 : 0;
}

function failedPerSecond({ failed, ms }: RateBucket): number {
  return ms > 0 ? (failed / ms) * 1000 : 0;
}

function ratesText(buckets: readonly RateBucket[]): string {
  const rates = buckets.map(perSecond);
  const paused = buckets.filter(({ pausedMs }) => pausedMs > 0).length;
  const range = `between ${rate(Math.min(...rates, Infinity))} and ${rate(Math.max(0, ...rates))} records per second`;
  if (buckets.length === 0) return 'no record yet';
  return paused === 0 ? range : `${range}, with pauses for rate limits`;
}

function RatesTable({ buckets }: { readonly buckets: readonly RateBucket[] }) {
  const hasPauses = buckets.some(({ pausedMs }) => pausedMs > 0);
  return (
    <Table
      label="Records per second over time"
      rows={buckets}
      columns={[
        { title: 'From', isNumber: true, cell: ({ startMs }) => (startMs === 0 ? '0' : durationText(startMs)) },
        { title: 'Written', isNumber: true, cell: ({ written }) => formatCount(written) },
        { title: 'Failed', isNumber: true, cell: ({ failed }) => formatCount(failed) },
        { title: 'Per second', isNumber: true, cell: (bucket) => rate(perSecond(bucket)) },
        ...(hasPauses ? [{ title: 'Paused', isNumber: true, cell: ({ pausedMs }: RateBucket) => durationText(pausedMs) }] : []),
      ]}
    />
  );
}

/** Width of a bar as a share of the distance between the starts of two bars. */
const barShare = 0.84;

export function TimesChart({ times }: { readonly times: ResponseTimesView }) {
  const { buckets } = times;
  const ticks = ticksUpTo(Math.max(1, ...buckets.map((bucket) => bucket.count)));
  const top = ticks.at(-1) ?? 1;
  const width = 1 / Math.max(1, buckets.length);
  return (
    <Chart
      label={`half of them within ${durationText(times.p50Ms)}, 95 % within ${durationText(times.p95Ms)}, the longest ${durationText(times.maxMs)}`}
      yMarks={ticks.filter(Number.isInteger).map((tick) => ({ at: tick / top, text: formatCount(tick) }))}
      xMarks={marksOf(buckets)}
      anchor="start"
      table={<TimesTable times={times} />}
    >
      {buckets.map((bucket, index) => (
        <rect
          key={bucket.fromMs}
          class="good"
          x={inPercent((index + (1 - barShare) / 2) * width)}
          width={inPercent(barShare * width)}
          {...{ y: y(bucket.count / top), height: y(0) - y(bucket.count / top), rx: 2 }}
        >
          <title>{`${bucketText(bucket)}: ${formatCount(bucket.count)}`}</title>
        </rect>
      ))}
    </Chart>
  );
}

type RateBar = ResponseTimesView['buckets'][number];

const maxMarks = 6;

/** Returns the labels of the x axis, each at the left edge of its bar. */
function marksOf(buckets: readonly RateBar[]) {
  const every = Math.ceil(buckets.length / maxMarks);
  return buckets.flatMap(({ fromMs }, index) =>
    index % every === 0 ? [{ at: index / buckets.length, text: fromMs === 0 ? '0' : durationText(fromMs) }] : [],
  );
}

function bucketText({ fromMs, toMs }: RateBar): string {
  return `${fromMs === 0 ? '0' : durationText(fromMs)} to ${durationText(toMs)}`;
}

function TimesTable({ times }: { readonly times: ResponseTimesView }) {
  return (
    <Table
      label="Response times"
      rows={times.buckets}
      columns={[
        { title: 'Time', cell: bucketText },
        { title: 'Responses', isNumber: true, cell: (bucket) => formatCount(bucket.count) },
        { title: 'Share', isNumber: true, cell: (bucket) => percent(bucket.count, times.count) },
      ]}
    />
  );
}
