import { useState } from 'preact/hooks';
import { creditText, formatCount } from '../../../core/text/number.ts';
import type { KeyOnPage, NewKey } from '../../../serve/page/page-shapes.ts';
import { Table } from '../../parts/table.tsx';
import { Bar, inPercent, Panel } from '../../parts/tiles.tsx';
import { CodeBlock, Day, LoadedView, Time } from '../frame/feedback.tsx';
import { Frame } from '../frame/frame.tsx';
import { useFlowNames, useLoaded } from '../use-loaded.ts';
import { CreateKey, KeyActions } from './create-key.tsx';

export function KeysPage() {
  const keys = useLoaded<{ readonly keys: readonly KeyOnPage[] }>('/keys', 10_000);
  const [isCreating, setCreating] = useState(false);
  // The secret value of a new API key is only kept here, and is gone when the user leaves the page.
  const [made, setMade] = useState<NewKey>();
  const take = (key: NewKey) => {
    setMade(key);
    keys.reload();
  };
  return (
    <Frame
      title="API keys"
      sub="for programs; people log in with a link"
      actions={
        <button type="button" class="main" onClick={() => setCreating(true)}>
          Create a key
        </button>
      }
    >
      <div class="stack">
        {made && <MadeKey made={made} onDone={() => setMade(undefined)} />}
        <LoadedView loaded={keys}>
          {({ keys: all }) => (all.length === 0 ? <NoKeys /> : <Keys keys={all} onChange={keys.reload} onMade={take} />)}
        </LoadedView>
      </div>
      {isCreating && <CreateKey onClose={() => setCreating(false)} onMade={take} />}
    </Frame>
  );
}

function MadeKey({ made: { name, key }, onDone }: { readonly made: NewKey; readonly onDone: () => void }) {
  return (
    <section class="panel made" aria-label="New key" role="status">
      <h2>The key {name}</h2>
      <p>It is shown only now. Copy it to where it is used: it cannot be shown again, here or elsewhere.</p>
      <CodeBlock text={key} label={`Value of the key ${name}`} />
      <button type="button" onClick={onDone}>
        I have copied it
      </button>
    </section>
  );
}

function NoKeys() {
  return (
    <Panel title="No key yet">
      <p class="empty">A program needs a key to call a flow. Create one here, or with a command:</p>
      <CodeBlock text="automate keys create crm-sync" label="Command that creates a key" />
    </Panel>
  );
}

interface KeysProps {
  readonly keys: readonly KeyOnPage[];
  readonly onChange: () => void;
  readonly onMade: (key: NewKey) => void;
}

function Keys({ keys, onChange, onMade }: KeysProps) {
  const names = useFlowNames();
  return (
    <section class="panel">
      <Table
        label="API keys"
        rows={keys}
        columns={[
          {
            title: 'Name',
            cell: ({ name, start }) => (
              <>
                <strong>{name}</strong>
                <small>
                  <code>{start}…</code>
                </small>
              </>
            ),
          },
          {
            title: 'May',
            isWide: true,
            cell: ({ scopes, flows, rate }) => (
              <>
                {scopes.join(', ')}
                <small>
                  {flows === null ? 'all flows' : flows.map((id) => names(id) ?? '…').join(', ')}, {rate}
                </small>
              </>
            ),
          },
          { title: 'Created', cell: ({ created_at }) => <Day at={created_at} /> },
          { title: 'Expires', cell: (key) => <Expiry apiKey={key} /> },
          {
            title: 'Last used',
            cell: ({ last_used_at }) => (last_used_at === null ? <span class="dim">never</span> : <Time at={last_used_at} />),
          },
          { title: 'Credits', isNumber: true, cell: (key) => <Quota apiKey={key} /> },
          { title: 'Requests by day', cell: ({ days, name }) => <Spark label={name} days={days} /> },
          { title: '', cell: (key) => key.revoked_at === null && <KeyActions apiKey={key} onChange={onChange} onMade={onMade} /> },
        ]}
      />
    </section>
  );
}

function Expiry({ apiKey: { expires_at, revoked_at } }: { readonly apiKey: KeyOnPage }) {
  if (revoked_at !== null) return <span class="state">revoked</span>;
  if (expires_at === null) return <span class="dim">never</span>;
  const isOver = Date.parse(expires_at) <= Date.now();
  return isOver ? <span class="state warn">expired</span> : <Day at={expires_at} />;
}

function Quota({ apiKey }: { readonly apiKey: KeyOnPage }) {
  const { used, quota } = apiKey.credits;
  if (quota === null) return <>{creditText(used)}</>;
  return (
    <>
      {creditText(used)}
      <small>of {formatCount(quota)} a month</small>
      <Bar parts={[{ kind: 'good', share: Math.min(1, quota > 0 ? used / quota : 1) }]} />
    </>
  );
}

interface SparkProps {
  readonly label: string;
  readonly days: KeyOnPage['days'];
}

const height = 24;

/** A small bar chart of an API key's requests per day. Refused requests are red. */
function Spark({ label, days }: SparkProps) {
  const most = Math.max(1, ...days.map(({ requests }) => requests));
  const all = days.reduce((sum, { requests }) => sum + requests, 0);
  const refused = days.reduce((sum, day) => sum + day.refused, 0);
  const px = (requests: number) => (requests === 0 ? 0 : Math.max(1, (requests / most) * height));
  const width = 1 / Math.max(1, days.length);
  return (
    <>
      <svg class="spark" role="img" aria-label={`${label}: ${formatCount(all)} requests in ${days.length} days`} height={height}>
        {days.map(({ day, requests, refused: bad }, index) => (
          <g key={day}>
            <rect class="good" x={inPercent(index * width)} width={inPercent(width * 0.8)} y={height - px(requests)} height={px(requests)}>
              <title>{`${day}: ${formatCount(requests)} requests, ${formatCount(bad)} refused`}</title>
            </rect>
            <rect class="bad" x={inPercent(index * width)} width={inPercent(width * 0.8)} y={height - px(bad)} height={px(bad)} />
          </g>
        ))}
      </svg>
      <small>
        {formatCount(all)}
        {refused > 0 && `, ${formatCount(refused)} refused`}
      </small>
    </>
  );
}
