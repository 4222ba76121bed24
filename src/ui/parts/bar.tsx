/** One section of a bar. */
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
