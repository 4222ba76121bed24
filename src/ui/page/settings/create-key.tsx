import { useState } from 'preact/hooks';
import type { KeyOnPage, NewKey } from '../../../serve/page/page-shapes.ts';
import type { FlowShape } from '../../../serve/shapes.ts';
import { requestJson, sendRequest } from '../api.ts';
import { DialogActions } from '../frame/feedback.tsx';
import { Check, CheckGroup, Dialog, SelectField, TextField } from '../frame/fields.tsx';
import { useAction, useForm, useLoaded } from '../use-loaded.ts';

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

export function CreateKey({ onClose, onMade }: CreateKeyProps) {
  const { data } = useLoaded<{ readonly flows: readonly FlowShape[] }>('/flows');
  const [form, set] = useForm({ name: '', expires: '90d', rate: '600/min', credits: '' });
  const [chosenScopes, setScopes] = useState<readonly string[]>(['run']);
  const [flows, setFlows] = useState<readonly string[]>([]);
  const action = useAction();
  const create = () =>
    void action.run(async () => {
      const { name, expires, rate, credits } = form;
      const limits = { expires: expires === '' ? undefined : expires, credits: credits === '' ? undefined : Number(credits) };
      const json = { name, rate, scopes: chosenScopes, flows: flows.length > 0 ? flows : undefined, ...limits };
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
        <DialogActions {...{ action, onClose }} isDisabled={form.name === '' || chosenScopes.length === 0}>
          Create
        </DialogActions>
      </form>
    </Dialog>
  );
}

interface KeyActionsProps {
  readonly apiKey: KeyOnPage;
  readonly onChange: () => void;
  readonly onMade: (key: NewKey) => void;
}

export function KeyActions({ apiKey, onChange, onMade }: KeyActionsProps) {
  const [open, setOpen] = useState<'change' | 'rotate' | 'revoke'>();
  const close = () => setOpen(undefined);
  return (
    <div class="row">
      <button type="button" aria-label={`Change ${apiKey.name}`} onClick={() => setOpen('change')}>
        Change
      </button>
      <button type="button" aria-label={`Rotate ${apiKey.name}`} onClick={() => setOpen('rotate')}>
        Rotate
      </button>
      <button type="button" aria-label={`Revoke ${apiKey.name}`} onClick={() => setOpen('revoke')}>
        Revoke
      </button>
      {open === 'change' && <ChangeDialog apiKey={apiKey} onClose={close} onChange={onChange} />}
      {open === 'rotate' && <RotateDialog apiKey={apiKey} onClose={close} onMade={onMade} />}
      {open === 'revoke' && <RevokeDialog apiKey={apiKey} onClose={close} onChange={onChange} />}
    </div>
  );
}

const overlaps = [
  ['24h', 'for another 24 hours'],
  ['1h', 'for another hour'],
  ['7d', 'for another 7 days'],
  ['0s', 'no longer'],
] as const;

function RotateDialog({ apiKey, onClose, onMade }: Pick<KeyActionsProps, 'apiKey' | 'onMade'> & { readonly onClose: () => void }) {
  const [overlap, setOverlap] = useState('24h');
  const action = useAction();
  const rotate = () =>
    void action.run(async () => {
      onMade(await requestJson<NewKey>(`/keys/${encodeURIComponent(apiKey.id)}/rotate`, { method: 'POST', json: { overlap } }));
      onClose();
    });
  return (
    <Dialog title={`Rotate ${apiKey.name}`} onClose={onClose}>
      <p>The key gets a new value. Its name, limits and usage stay the same.</p>
      <SelectField label="The old value works" value={overlap} choices={overlaps} onChange={setOverlap} />
      <DialogActions {...{ action, onClose }} onAct={rotate}>
        Rotate
      </DialogActions>
    </Dialog>
  );
}

function RevokeDialog({ apiKey, onClose, onChange }: Pick<KeyActionsProps, 'apiKey' | 'onChange'> & { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const [stopsRuns, setStopsRuns] = useState(false);
  const action = useAction();
  const revoke = () =>
    void action.run(async () => {
      await sendRequest(`/keys/${encodeURIComponent(apiKey.id)}/revoke`, { method: 'POST', json: { stop_runs: stopsRuns } });
      onChange();
      onClose();
    });
  return (
    <Dialog title={`Revoke ${apiKey.name}?`} onClose={onClose}>
      <p>Every program that uses it is refused at once, for good.</p>
      <TextField label="Type the name of the key" value={typed} onInput={setTyped} />
      <Check isChecked={stopsRuns} onChange={setStopsRuns}>
        Stop the runs that it has started
      </Check>
      <DialogActions {...{ action, onClose }} kind="danger" isDisabled={typed !== apiKey.name} onAct={revoke}>
        Revoke
      </DialogActions>
    </Dialog>
  );
}

const changedExpiries = [
  ['', 'as now'],
  ['30d', 'in 30 days'],
  ['90d', 'in 90 days'],
  ['365d', 'in a year'],
  ['never', 'never'],
] as const;

interface ChangeDialogProps {
  readonly apiKey: KeyOnPage;
  readonly onClose: () => void;
  readonly onChange: () => void;
}

function ChangeDialog({ apiKey: { id, name, rate, credits, flows }, onClose, onChange }: ChangeDialogProps) {
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
        <SelectField label="Expires" value={form.expires} choices={changedExpiries} onChange={set('expires')} />
        <CheckGroup
          label="Flows"
          hint="none checked: all flows, including future ones"
          choices={flowChoices(data?.flows ?? [], flows ?? [])}
          chosen={chosen}
          onChange={setFlows}
        />
        <DialogActions {...{ action, onClose }} isDisabled={Object.keys(changes).length === 0}>
          Change
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** Includes flows that the API key allows but the server does not have. */
function flowChoices(served: readonly FlowShape[], own: readonly string[]): (readonly [id: string, name: string])[] {
  const others = own.filter((flow) => !served.some(({ id }) => id === flow));
  return [...served.map(({ id, name }) => [id, name] as const), ...others.map((flow) => [flow, flow] as const)];
}
