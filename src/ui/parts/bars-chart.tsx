import { creditFigure } from '../figures.ts';
import { inPercent } from './bar.tsx';
import { Chart, y } from './chart.tsx';
import { Table } from './table.tsx';
import { ticksUpTo } from './ticks.ts';

/** A bar of the chart, with its name. */
export interface NamedBar {
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

/** Maximum number of names that fit below the bars. */
const maxNames = 6;

/** A bar chart of named values. The same values are in a table below it. */
export function BarsChart({ label, titles: [names, values], bars }: BarsChartProps) {
  const ticks = ticksUpTo(Math.max(0, ...bars.map(({ value }) => value)));
  const top = ticks.at(-1) ?? 1;
  const width = 1 / Math.max(1, bars.length);
  const every = Math.ceil(bars.length / maxNames);
  return (
    <Chart
      label={label}
      yMarks={ticks.map((tick) => ({ at: tick / top, text: creditFigure(tick) }))}
      xMarks={bars.flatMap(({ name }, index) => (index % every === 0 ? [{ at: index * width, text: name }] : []))}
      anchor="start"
      table={
        <Table
          label={label}
          rows={bars}
          columns={[
            { title: names, cell: ({ name }) => name },
            { title: values, isNumber: true, cell: ({ value }) => creditFigure(value) },
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
          <title>{`${name}: ${creditFigure(value)}`}</title>
        </rect>
      ))}
    </Chart>
  );
}
