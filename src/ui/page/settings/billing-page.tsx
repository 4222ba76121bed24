import { useState } from 'preact/hooks';
import { creditText } from '../../../core/text/number.ts';
import type { Billing, CreditShare } from '../../../serve/page/page-shapes.ts';
import { percent } from '../../figures.ts';
import { BarsChart } from '../../parts/chart.tsx';
import { Table } from '../../parts/table.tsx';
import { Bar, Empty, Panel, type Tile, Tiles } from '../../parts/tiles.tsx';
import { sendRequest } from '../api.ts';
import { Day, DialogActions, LoadedView } from '../frame/feedback.tsx';
import { Dialog, TextField } from '../frame/fields.tsx';
import { Frame } from '../frame/frame.tsx';
import { useAction, useLoaded } from '../use-loaded.ts';

export function BillingPage() {
  const billing = useLoaded<Billing>('/billing', 10_000);
  const [isSetting, setSetting] = useState(false);
  return (
    <Frame
      title="Usage and limits"
      sub={
        billing.data && (
          <>
            {billing.data.month}, starts over on <Day at={billing.data.resets_at} />
          </>
        )
      }
      actions={
        <button type="button" onClick={() => setSetting(true)}>
          Set the allowance
        </button>
      }
    >
      <LoadedView loaded={billing}>{(data) => <BillingPanels billing={data} />}</LoadedView>
      {isSetting && billing.data && (
        <AllowanceDialog allowance={billing.data.allowance} onClose={() => setSetting(false)} onChange={billing.reload} />
      )}
    </Frame>
  );
}

function BillingPanels({ billing }: { readonly billing: Billing }) {
  const { days, months, limits } = billing;
  return (
    <div class="stack">
      <Allowance billing={billing} />
      <div class="two">
        <Panel title="Credits by day" note="of API keys">
          <BarsChart
            label="Credits by day"
            titles={['Day', 'Credits']}
            bars={days.map(({ day, credits: value }) => ({ name: String(Number(day.slice(8))), value }))}
          />
        </Panel>
        <Panel title="Credits by month">
          <BarsChart
            label="Credits by month"
            titles={['Month', 'Credits']}
            bars={months.map(({ month, credits: value }) => ({ name: month, value }))}
          />
        </Panel>
      </div>
      <div class="two">
        <Shares title="By flow" shares={billing.by_flow} used={billing.used} />
        <Shares title="By key" shares={billing.by_key} used={billing.used} none="commands and the page" />
        <Shares title="By node" shares={billing.by_node} used={billing.used} />
        <Shares title="By connection" shares={billing.by_connection} used={billing.used} none="without a connection" />
        <Shares title="By environment" shares={billing.by_environment} used={billing.used} />
        <Panel title="Limits in force">
          <Table
            label="Limits in force"
            rows={limits}
            columns={[
              { title: 'Limit', isWide: true, cell: ({ name }) => name },
              { title: 'Value', isNumber: true, cell: ({ value }) => value ?? 'unlimited' },
            ]}
          />
        </Panel>
      </div>
    </div>
  );
}

function Allowance({ billing: { used, held, allowance, remaining } }: { readonly billing: Billing }) {
  const tiles: Tile[] = [
    { label: 'Used', value: creditText(used), note: allowance === null ? undefined : percent(used, allowance) },
    { label: 'Held by runs', value: creditText(held), note: 'given back if nothing is sent' },
    { label: 'Left', value: remaining === null ? 'unlimited' : creditText(remaining) },
    { label: 'Allowance a month', value: allowance === null ? 'unlimited' : creditText(allowance) },
  ];
  const share = (part: number) => (allowance === null || allowance === 0 ? 0 : Math.min(1, part / allowance));
  return (
    <>
      {allowance !== null && (
        <Panel title={`${creditText(used)} of ${creditText(allowance)} credits`} note={percent(used, allowance)}>
          <Bar
            size="large"
            label={`${percent(used, allowance)} used`}
            parts={[
              { kind: 'good', share: share(used) },
              { kind: 'plain', share: Math.min(share(held), 1 - share(used)) },
            ]}
          />
        </Panel>
      )}
      <Tiles tiles={tiles} />
    </>
  );
}

interface SharesProps {
  readonly title: string;
  readonly shares: readonly CreditShare[];
  readonly used: number;
  readonly none?: string;
}

function Shares({ title, shares, used, none = '' }: SharesProps) {
  return (
    <Panel title={title}>
      {shares.length === 0 ? (
        <Empty>No credit was spent this month.</Empty>
      ) : (
        <Table
          label={title}
          rows={shares}
          columns={[
            { title: 'Name', isWide: true, cell: ({ name }) => (name === '' ? <span class="dim">{none}</span> : name) },
            { title: 'Credits', isNumber: true, cell: (share) => creditText(share.credits) },
            { title: 'Share', isNumber: true, cell: (share) => percent(share.credits, used) },
            { title: '', cell: (share) => <Bar parts={[{ kind: 'good', share: used > 0 ? share.credits / used : 0 }]} /> },
          ]}
        />
      )}
    </Panel>
  );
}

interface AllowanceDialogProps {
  readonly allowance: number | null;
  readonly onClose: () => void;
  readonly onChange: () => void;
}

function AllowanceDialog({ allowance, onClose, onChange }: AllowanceDialogProps) {
  const [value, setValue] = useState(allowance === null ? '' : String(allowance));
  const action = useAction();
  const save = () =>
    void action.run(async () => {
      await sendRequest('/billing/allowance', { method: 'PUT', json: { credits: value === '' ? null : Number(value) } });
      onChange();
      onClose();
    });
  return (
    <Dialog title="Set the allowance" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <TextField
          label="Credits a month"
          hint="for all runs and calls of this home; empty: unlimited"
          type="number"
          value={value}
          onInput={setValue}
        />
        <DialogActions {...{ action, onClose }}>Set</DialogActions>
      </form>
    </Dialog>
  );
}
