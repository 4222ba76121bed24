import { useState } from 'preact/hooks';
import type { NewKey } from '../../../serve/page/page-shapes.ts';
import type { FlowShape } from '../../../serve/shapes.ts';
import { requestJson } from '../api.ts';
import { Dialog } from '../frame/dialog.tsx';
import { ActionButton, ProblemNotice } from '../frame/feedback.tsx';
import { CheckGroup, SelectField, TextField } from '../frame/fields.tsx';
import { useForm } from '../use-form.ts';
import { useAction, useLoaded } from '../use-loaded.ts';

const scopes = [
  ['run', 'run: calls, runs and plans; sees what it started itself'],
  ['test', 'test: test requests'],
  ['read', 'read: all runs, usage and limits of its flows'],
] as const;

const expiries = [
  ['90d', 'in 90 days'],
  ['30d', 'in 30 days'],
  ['365d', 'in a year'],
  ['', 'never'],
] as const;

interface CreateKeyProps {
  readonly onClose: () => void;
  readonly onMade: (key: NewKey) => void;
}

/** The dialog in which the user creates an API key. */
export function CreateKey({ onClose, onMade }: CreateKeyProps) {
  const { data } = useLoaded<{ readonly flows: readonly FlowShape[] }>('/flows');
  const [form, set] = useForm({ name: '', expires: '90d', rate: '600/min', credits: '' });
  const [chosenScopes, setScopes] = useState<readonly string[]>(['run']);
  const [flows, setFlows] = useState<readonly string[]>([]);
  const action = useAction();
  const create = () =>
    void action.run(async () => {
      const { name, expires, rate, credits } = form;
      const limits = { ...(expires !== '' && { expires }), ...(credits !== '' && { credits: Number(credits) }) };
      const json = { name, rate, scopes: chosenScopes, ...(flows.length > 0 && { flows }), ...limits };
      onMade(await requestJson<NewKey>('/keys', { method: 'POST', json }));
      onClose();
    });
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create();
        }}
      >
        <TextField label="Name" hint="the program that uses it, such as crm-sync" value={form.name} isRequired onInput={set('name')} />
        <CheckGroup label="Scopes" choices={scopes} chosen={chosenScopes} onChange={setScopes} />
        {data !== undefined && data.flows.length > 0 && (
          <CheckGroup
            label="Flows"
            hint="none checked: all flows, including future ones"
            choices={data.flows.map(({ id, name }) => [id, name])}
            chosen={flows}
            onChange={setFlows}
          />
        )}
        <SelectField label="Expires" value={form.expires} choices={expiries} onChange={set('expires')} />
        <TextField label="Rate" hint="requests, such as 600/min or 10/s" value={form.rate} onInput={set('rate')} />
        <TextField
          label="Credits a month"
          hint="empty: no limit for this key"
          type="number"
          value={form.credits}
          onInput={set('credits')}
        />
        <ProblemNotice problem={action.problem} />
        <div class="actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <ActionButton action={action} kind="main" isDisabled={form.name === '' || chosenScopes.length === 0}>
            Create
          </ActionButton>
        </div>
      </form>
    </Dialog>
  );
}
