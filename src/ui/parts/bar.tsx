/** A part of a bar. */
export interface BarPart {
  /** Of the whole bar, 0 to 1. */
  readonly share: number;
  readonly kind: 'good' | 'bad' | 'plain';
}

interface BarProps {
  readonly parts: readonly BarPart[];
  /** The bar in words; absent if the text beside it says the same. */
  readonly label?: string;
  readonly size?: 'large' | 'small';
}

/** A horizontal bar. Its widths are attributes of SVG: a policy without inline styles allows them. */
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

/** A share as a length of SVG. */
export function inPercent(share: number): string {
  return `${Number((share * 100).toFixed(3))}%`;
}
