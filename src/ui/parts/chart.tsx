import type { ComponentChildren } from 'preact';
import { inPercent } from './bar.tsx';

/** The height of the plot of every chart, in px. */
export const plotHeight = 144;

/** The room above the top grid line, in px: half the height of its label. */
const topPx = 6.5;

/** The height of a chart with the labels below its plot, in px. */
const height = plotHeight + 24;

/** A mark at an axis. `at`: 0 at the start to 1 at the end. */
export interface Mark {
  readonly at: number;
  readonly text: string;
}

interface ChartProps {
  /** The chart in words, for screen readers. */
  readonly label: string;
  readonly yMarks: readonly Mark[];
  readonly xMarks: readonly Mark[];
  /** `start`: the labels of the x axis begin at their marks. Undefined: they stand in the middle of their marks. */
  readonly anchor?: 'start';
  /** The same figures as a table. */
  readonly table: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A chart: a plot with two axes, and its figures as a table below it. */
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

/** The anchor of a label of the x axis. Labels at the ends stay inside the plot. */
function anchorAt(at: number, anchor: 'start' | undefined): 'start' | 'middle' | 'end' {
  if (anchor === 'start') return at > 0.86 ? 'end' : 'start';
  if (at < 0.04) return 'start';
  return at > 0.96 ? 'end' : 'middle';
}

/** The widest character of a label, in px. */
const characterPx = 7.5;

function YAxis({ marks }: { readonly marks: readonly Mark[] }) {
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

/** The y of a value, in px from the top of the plot. `share`: the value as a share of the height, 0 to 1. */
export function y(share: number): number {
  return Number((topPx + (plotHeight - topPx - 0.5) * (1 - share)).toFixed(2));
}
