import type { ComponentChildren } from 'preact';
import { creditText } from '../../core/text/number.ts';
import { Table } from './table.tsx';
import { inPercent } from './tiles.tsx';

/** Height in px of the plot (the area between the axes) of every chart. */
export const plotHeight = 144;

/** Space in px above the top grid line, which is half the height of the line's label. */
const topPx = 6.5;

/** Height in px of a chart, including the labels below the plot. */
const height = plotHeight + 24;

/** `at` is from 0 at the start of the axis to 1 at the end. */
interface AxisMark {
  readonly at: number;
  readonly text: string;
}

interface ChartProps {
  readonly label: string;
  readonly yMarks: readonly AxisMark[];
  readonly xMarks: readonly AxisMark[];
  /** `start` if each label of the x axis begins at its mark. If undefined, labels are centred below their marks. */
  readonly anchor?: 'start';
  readonly table: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Chart({ label, yMarks, xMarks, anchor, table, children }: ChartProps) {
  return (
    <div class="chart">
      <div class="plot" role="img" aria-label={label}>
        <YAxis marks={yMarks} />
        <svg height={height} aria-hidden>
          {yMarks.map(({ at }) => (
            <line key={at} class="grid" x1="0" x2="100%" y1={y(at)} y2={y(at)} />
          ))}
          {children}
          {xMarks.map(({ at, text }, index) => (
            <text
              key={at}
              class={index % 2 === 1 ? 'odd' : undefined}
              x={inPercent(at)}
              y={plotHeight + 18}
              text-anchor={anchorAt(at, anchor)}
            >
              {text}
            </text>
          ))}
        </svg>
      </div>
      <details>
        <summary>As a table</summary>
        {table}
      </details>
    </div>
  );
}

/** Keeps labels at both ends inside the plot. */
function anchorAt(at: number, anchor: 'start' | undefined): 'start' | 'middle' | 'end' {
  if (anchor === 'start') return at > 0.86 ? 'end' : 'start';
  if (at < 0.04) return 'start';
  return at > 0.96 ? 'end' : 'middle';
}

/** Width in px of the widest character that occurs in labels. */
const characterPx = 7.5;

function YAxis({ marks }: { readonly marks: readonly AxisMark[] }) {
  const width = Math.ceil(Math.max(1, ...marks.map(({ text }) => text.length)) * characterPx) + 8;
  return (
    <svg width={width} height={height} aria-hidden>
      {marks.map(({ at, text }) => (
        <text key={at} x={width - 8} y={y(at) + 4} text-anchor="end">
          {text}
        </text>
      ))}
    </svg>
  );
}

/** Counts px from the top of the plot. `share` is the share of the highest value, from 0 to 1. */
export function y(share: number): number {
  return Number((topPx + (plotHeight - topPx - 0.5) * (1 - share)).toFixed(2));
}

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

interface NamedBar {
  readonly name: string;
  readonly value: number;
}

interface BarsChartProps {
  /** Describes the chart for screen readers. */
  readonly label: string;
  /** The headings of the two columns in the table below the chart. */
  readonly titles: readonly [names: string, values: string];
  readonly bars: readonly NamedBar[];
}

const barShare = 0.72;

const maxNames = 6;

export function BarsChart({ label, titles: [names, values], bars }: BarsChartProps) {
  const ticks = ticksUpTo(Math.max(0, ...bars.map(({ value }) => value)));
  const top = ticks.at(-1) ?? 1;
  const width = 1 / Math.max(1, bars.length);
  const every = Math.ceil(bars.length / maxNames);
  return (
    <Chart
      label={label}
      yMarks={ticks.map((tick) => ({ at: tick / top, text: creditText(tick) }))}
      xMarks={bars.flatMap(({ name }, index) => (index % every === 0 ? [{ at: index * width, text: name }] : []))}
      anchor="start"
      table={
        <Table
          label={label}
          rows={bars}
          columns={[
            { title: names, cell: ({ name }) => name },
            { title: values, isNumber: true, cell: ({ value }) => creditText(value) },
          ]}
        />
      }
    >
      {bars.map(({ name, value }, index) => (
        <rect
          key={name}
          class="good"
          x={inPercent((index + (1 - barShare) / 2) * width)}
          width={inPercent(barShare * width)}
          {...{ y: y(value / top), height: y(0) - y(value / top), rx: 2 }}
        >
          <title>{`${name}: ${creditText(value)}`}</title>
        </rect>
      ))}
    </Chart>
  );
}
