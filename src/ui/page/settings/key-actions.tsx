import { useState } from 'preact/hooks';
import type { NewKey, ShownKey } from '../../../serve/page/page-shapes.ts';
import { requestJson, sendRequest } from '../api.ts';
import { Dialog } from '../frame/dialog.tsx';
import { ActionButton, ProblemNotice } from '../frame/feedback.tsx';
import { Check, SelectField, TextField } from '../frame/fields.tsx';
import { useAction } from '../use-loaded.ts';
import { ChangeDialog } from './change-key.tsx';

interface KeyActionsProps {
  readonly apiKey: ShownKey;
  readonly onChange: () => void;
  readonly onMade: (key: NewKey) => void;
}

/** The buttons that change, rotate or revoke an API key. */
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
      <ProblemNotice problem={action.problem} />
      <div class="actions">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <ActionButton action={action} kind="main" onAct={rotate}>
          Rotate
        </ActionButton>
      </div>
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
      <ProblemNotice problem={action.problem} />
      <div class="actions">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <ActionButton action={action} kind="danger" isDisabled={typed !== apiKey.name} onAct={revoke}>
          Revoke
        </ActionButton>
      </div>
    </Dialog>
  );
}
