import { useState } from 'preact/hooks';
import type { ShownKey } from '../../../serve/page/page-shapes.ts';
import type { FlowShape } from '../../../serve/shapes.ts';
import { requestJson } from '../api.ts';
import { Dialog } from '../frame/dialog.tsx';
import { ActionButton, ProblemNotice } from '../frame/feedback.tsx';
import { CheckGroup, SelectField, TextField } from '../frame/fields.tsx';
import { useForm } from '../use-form.ts';
import { useAction, useLoaded } from '../use-loaded.ts';

const expiries = [
  ['', 'as now'],
  ['30d', 'in 30 days'],
  ['90d', 'in 90 days'],
  ['365d', 'in a year'],
  ['never', 'never'],
] as const;

interface ChangeDialogProps {
  readonly apiKey: ShownKey;
  readonly onClose: () => void;
  readonly onChange: () => void;
}

/** The dialog in which the user changes the limits of an API key. */
export function ChangeDialog({ apiKey: { id, name, rate, credits, flows }, onClose, onChange }: ChangeDialogProps) {
  const { data } = useLoaded<{ readonly flows: readonly FlowShape[] }>('/flows');
  const before = { rate, credits: credits.quota?.toString() ?? '', expires: '' };
  const [form, set] = useForm(before);
  const [chosen, setFlows] = useState<readonly string[]>(flows ?? []);
  const action = useAction();
  const changes = {
    ...(form.rate !== before.rate && { rate: form.rate }),
    ...(form.credits !== before.credits && { credits: form.credits === '' ? null : Number(form.credits) }),
    ...(form.expires !== '' && { expires: form.expires === 'never' ? null : form.expires }),
    ...(String(chosen) !== String(flows ?? []) && { flows: chosen.length === 0 ? null : chosen }),
  };
  const change = () =>
    void action.run(async () => {
      await requestJson(`/keys/${encodeURIComponent(id)}`, { method: 'PATCH', json: changes });
      onChange();
      onClose();
    });
  return (
    <Dialog title={`Change ${name}`} onClose={onClose}>
      <p>The change takes effect at once. The value of the key stays the same.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change();
        }}
      >
        <TextField
          label="Credits a month"
          hint="empty: no limit for this key"
          type="number"
          value={form.credits}
          onInput={set('credits')}
        />
        <TextField label="Rate" hint="requests, such as 600/min or 10/s" value={form.rate} isRequired onInput={set('rate')} />
        <SelectField label="Expires" value={form.expires} choices={expiries} onChange={set('expires')} />
        <CheckGroup
          label="Flows"
          hint="none checked: all flows, including future ones"
          choices={flowChoices(data?.flows ?? [], flows ?? [])}
          chosen={chosen}
          onChange={setFlows}
        />
        <ProblemNotice problem={action.problem} />
        <div class="actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <ActionButton action={action} kind="main" isDisabled={Object.keys(changes).length === 0}>
            Change
          </ActionButton>
        </div>
      </form>
    </Dialog>
  );
}

/** Returns the flows that the user can choose: the flows of the server, and flows that the API key allows but the server does not have. */
function flowChoices(served: readonly FlowShape[], own: readonly string[]): (readonly [id: string, name: string])[] {
  const others = own.filter((flow) => !served.some(({ id }) => id === flow));
  return [...served.map(({ id, name }) => [id, name] as const), ...others.map((flow) => [flow, flow] as const)];
}
