import type { ComponentChildren } from 'preact';
import { inPercent } from './bar.tsx';

/** The height of the drawn part of every chart, in px. */
export const plotHeight = 144;

/** The room above the highest line, for half of its label. */
const topPx = 6.5;

/** With the labels of the time below it. */
const height = plotHeight + 24;

/** A mark at an axis. `at`: 0 at the start to 1 at the end. */
export interface Mark {
  readonly at: number;
  readonly text: string;
}

interface ChartProps {
  /** The chart in words. */
  readonly label: string;
  readonly yMarks: readonly Mark[];
  readonly xMarks: readonly Mark[];
  /** The side of a time at which its label stands; absent for the middle. */
  readonly anchor?: 'start';
  /** The same figures as a table. */
  readonly table: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A drawing with its two axes, and the same figures as a table below it. */
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

/** A label beside an end of the drawing stays inside of it. */
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

/** The y of a share of the height, in px from the top. */
export function y(share: number): number {
  return Number((topPx + (plotHeight - topPx - 0.5) * (1 - share)).toFixed(2));
}
