import type { AuditRow } from '../../../serve/page/page-shapes.ts';
import { Table } from '../../parts/table.tsx';
import { Empty } from '../../parts/tiles.tsx';
import { LoadedView, OlderButton, Time } from '../frame/feedback.tsx';
import { Frame } from '../frame/frame.tsx';
import { type ListPart, useFlowNames, useLoaded, useOlder } from '../use-loaded.ts';

interface AuditList extends ListPart {
  readonly entries: readonly AuditRow[];
}

/** The newest entry is first. */
export function AuditPage() {
  const first = useLoaded<AuditList>('/audit');
  const older = useOlder<AuditList>('/audit?');
  return (
    <Frame title="Audit" sub="who did what, for 90 days">
      <LoadedView loaded={first}>
        {(newest) => {
          const entries = [newest, ...older.parts].flatMap((part) => part.entries);
          const cursor = older.cursor(newest.next_cursor);
          return (
            <section class="panel">
              {entries.length === 0 ? <Empty>Nothing has happened yet.</Empty> : <Entries entries={entries} />}
              <OlderButton {...{ older, cursor }}>Show older entries</OlderButton>
            </section>
          );
        }}
      </LoadedView>
    </Frame>
  );
}

/** These entries are about a flow, and have its id. */
const flowActions = new Set(['flow.call', 'map.save']);

function Entries({ entries }: Pick<AuditList, 'entries'>) {
  const names = useFlowNames();
  return (
    <Table
      label="Audit"
      rows={entries}
      columns={[
        { title: 'Time', cell: ({ time }) => <Time at={time} /> },
        { title: 'Who', cell: ({ who }) => who },
        { title: 'What', cell: ({ what }) => what },
        { title: 'On', isWide: true, cell: ({ what, on }) => (flowActions.has(what) ? names(on) : on) },
        { title: 'From', cell: ({ address }) => <code>{address}</code> },
        { title: 'Outcome', cell: ({ outcome }) => outcome },
      ]}
    />
  );
}
