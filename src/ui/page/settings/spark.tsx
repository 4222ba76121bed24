import type { ShownKey } from '../../../serve/page/page-shapes.ts';
import { countText } from '../../figures.ts';
import { inPercent } from '../../parts/bar.tsx';

interface SparkProps {
  /** The name of the API key, for screen readers. */
  readonly label: string;
  readonly days: ShownKey['days'];
}

const height = 24;

/** A small bar chart of an API key's requests per day. Refused requests are red. */
export function Spark({ label, days }: SparkProps) {
  const most = Math.max(1, ...days.map(({ requests }) => requests));
  const all = days.reduce((sum, { requests }) => sum + requests, 0);
  const refused = days.reduce((sum, day) => sum + day.refused, 0);
  const px = (requests: number) => (requests === 0 ? 0 : Math.max(1, (requests / most) * height));
  const width = 1 / Math.max(1, days.length);
  return (
    <>
      <svg class="spark" role="img" aria-label={`${label}: ${countText(all)} requests in ${days.length} days`} height={height}>
        {days.map(({ day, requests, refused: bad }, index) => (
          <g key={day}>
            <rect class="good" x={inPercent(index * width)} width={inPercent(width * 0.8)} y={height - px(requests)} height={px(requests)}>
              <title>{`${day}: ${countText(requests)} requests, ${countText(bad)} refused`}</title>
            </rect>
            <rect class="bad" x={inPercent(index * width)} width={inPercent(width * 0.8)} y={height - px(bad)} height={px(bad)} />
          </g>
        ))}
      </svg>
      <small>
        {countText(all)}
        {refused > 0 && `, ${countText(refused)} refused`}
      </small>
    </>
  );
}
