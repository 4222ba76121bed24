import type { ComponentChildren } from 'preact';
import { inPercent } from './bar.tsx';

/** Height in px of the plot (the area between the axes) of every chart. */
export const plotHeight = 144;

/** Space in px above the top grid line, which is half the height of the line's label. */
const topPx = 6.5;

/** Height in px of a chart, including the labels below the plot. */
const height = plotHeight + 24;

/** A labelled mark on an axis. `at` is its position, from 0 at the start of the axis to 1 at the end. */
export interface Mark {
  readonly at: number;
  readonly text: string;
}

interface ChartProps {
  /** Describes the chart for screen readers. */
  readonly label: string;
  readonly yMarks: readonly Mark[];
  readonly xMarks: readonly Mark[];
  /** `start` if each label of the x axis begins at its mark. If undefined, labels are centred below their marks. */
  readonly anchor?: 'start';
  /** A table with the figures of the chart. */
  readonly table: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A chart with two axes. A table with the same figures is below it. */
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

/** Returns the text anchor for a label of the x axis, so that labels at both ends stay inside the plot. */
function anchorAt(at: number, anchor: 'start' | undefined): 'start' | 'middle' | 'end' {
  if (anchor === 'start') return at > 0.86 ? 'end' : 'start';
  if (at < 0.04) return 'start';
  return at > 0.96 ? 'end' : 'middle';
}

/** Width in px of the widest character that occurs in labels. */
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

/**
 * Returns the y coordinate of a value in px, counted from the top of the plot. `share` is the value as a share of the highest one, from 0
 * to 1.
 */
export function y(share: number): number {
  return Number((topPx + (plotHeight - topPx - 0.5) * (1 - share)).toFixed(2));
}
