import type { ResponseTimesView } from '../../report/run-view.ts';
import { countText, duration, percent } from '../figures.ts';
import { inPercent } from '../parts/bar.tsx';
import { Chart, y } from '../parts/chart.tsx';
import { Table } from '../parts/table.tsx';
import { ticksUpTo } from '../parts/ticks.ts';

/** Width of a bar as a share of the distance between the starts of two bars. */
const barShare = 0.84;

/** A histogram of the response times. */
export function TimesChart({ times }: { readonly times: ResponseTimesView }) {
  const { buckets } = times;
  const ticks = ticksUpTo(Math.max(1, ...buckets.map((bucket) => bucket.count)));
  const top = ticks.at(-1) ?? 1;
  const width = 1 / Math.max(1, buckets.length);
  return (
    <Chart
      label={`half of them within ${duration(times.p50Ms)}, 95 % within ${duration(times.p95Ms)}, the longest ${duration(times.maxMs)}`}
      yMarks={ticks.filter(Number.isInteger).map((tick) => ({ at: tick / top, text: countText(tick) }))}
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
          <title>{`${bucketText(bucket)}: ${countText(bucket.count)}`}</title>
        </rect>
      ))}
    </Chart>
  );
}

type Bucket = ResponseTimesView['buckets'][number];

/** Maximum number of labels below the bars. */
const maxMarks = 6;

/** Returns the labels of the x axis, each at the left edge of its bar. */
function marksOf(buckets: readonly Bucket[]) {
  const every = Math.ceil(buckets.length / maxMarks);
  return buckets.flatMap(({ fromMs }, index) =>
    index % every === 0 ? [{ at: index / buckets.length, text: fromMs === 0 ? '0' : duration(fromMs) }] : [],
  );
}

function bucketText({ fromMs, toMs }: Bucket): string {
  return `${fromMs === 0 ? '0' : duration(fromMs)} to ${duration(toMs)}`;
}

function TimesTable({ times }: { readonly times: ResponseTimesView }) {
  return (
    <Table
      label="Response times"
      rows={times.buckets}
      columns={[
        { title: 'Time', cell: bucketText },
        { title: 'Responses', isNumber: true, cell: (bucket) => countText(bucket.count) },
        { title: 'Share', isNumber: true, cell: (bucket) => percent(bucket.count, times.count) },
      ]}
    />
  );
}
