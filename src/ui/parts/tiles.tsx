import type { ComponentChildren } from 'preact';
import type { RunView } from '../../report/run-view.ts';
import type { RunShape } from '../../serve/shapes.ts';

export interface Tile {
  readonly label: string;
  readonly value: string;
  readonly note?: string;
}

export function Tiles({ tiles }: { readonly tiles: readonly Tile[] }) {
  return (
    <dl class="tiles">
      {tiles.map(({ label, value, note }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {value} {note !== undefined && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export interface BarPart {
  /** The section's share of the whole bar, from 0 to 1. */
  readonly share: number;
  readonly kind: 'good' | 'bad' | 'plain';
}

interface BarProps {
  readonly parts: readonly BarPart[];
  /** Describes the bar for screen readers. It is undefined if text next to the bar says the same. */
  readonly label?: string;
  readonly size?: 'large' | 'small';
}

/** A horizontal bar of colored sections. The widths are SVG attributes, because the Content-Security-Policy forbids inline styles. */
export function Bar({ parts, label, size = 'small' }: BarProps) {
  const starts = parts.map((_, index) => parts.slice(0, index).reduce((sum, { share }) => sum + share, 0));
  return (
    <svg class={`bar ${size}`} role={label === undefined ? 'presentation' : 'img'} aria-label={label}>
      <rect class="track" width="100%" height="100%" />
      {parts.map(({ share, kind }, index) => (
        <rect key={kind} class={kind} x={inPercent(starts[index] ?? 0)} width={inPercent(share)} height="100%" />
      ))}
    </svg>
  );
}

/** Formats a share from 0 to 1 as an SVG length in per cent. */
export function inPercent(share: number): string {
  return `${Number((share * 100).toFixed(3))}%`;
}

interface PanelProps {
  readonly title: string;
  readonly note?: string;
  readonly children: ComponentChildren;
}

export function Panel({ title, note, children }: PanelProps) {
  return (
    <section class="panel">
      <h2>
        {title}
        {note !== undefined && (
          <>
            {' '}
            <small>{note}</small>
          </>
        )}
      </h2>
      {children}
    </section>
  );
}

/** Says what the user can do next. */
export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** Red only if an error ended the run. */
export function StateLabel({ view }: { readonly view: Pick<RunView, 'state'> & { readonly counts: Pick<RunView['counts'], 'failed'> } }) {
  const { state, counts } = view;
  const kind = state === 'failed' ? 'bad' : state === 'stopped' || state === 'stopping' ? 'warn' : 'good';
  const some = state === 'finished' && counts.failed > 0;
  return <span class={`state ${some ? 'warn' : kind}`}>{some ? 'finished, some failed' : state}</span>;
}

export function RunState({ run }: { readonly run: Pick<RunShape, 'state' | 'counts'> }) {
  return <StateLabel view={run} />;
}
