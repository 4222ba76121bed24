import { creditFigure } from '../figures.ts';
import { inPercent } from './bar.tsx';
import { Chart, y } from './chart.tsx';
import { Table } from './table.tsx';
import { ticksUpTo } from './ticks.ts';

/** A bar with its name. */
export interface NamedBar {
  readonly name: string;
  readonly value: number;
}

interface BarsChartProps {
  /** The chart in words, for screen readers. */
  readonly label: string;
  /** The title of the names and of the values in the table. */
  readonly titles: readonly [names: string, values: string];
  readonly bars: readonly NamedBar[];
}

const barShare = 0.72;

/** Maximum of names below the bars. */
const maxNames = 6;

/** A bar chart of named values, with the values as a table below it. */
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
