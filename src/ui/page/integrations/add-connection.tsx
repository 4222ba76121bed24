import { useState } from 'preact/hooks';
import type { ConnectionTest } from '../../../serve/page/page-shapes.ts';
import { requestJson, sendRequest } from '../api.ts';
import { Dialog } from '../frame/dialog.tsx';
import { ActionButton, ProblemNotice } from '../frame/feedback.tsx';
import { Check, SelectField, TextField } from '../frame/fields.tsx';
import { useForm } from '../use-form.ts';
import { useAction } from '../use-loaded.ts';
import { TestResultView } from './test-result-view.tsx';

const methods = [
  ['none', 'none'],
  ['bearer', 'bearer token'],
  ['api_key', 'API key in a header'],
  ['basic', 'user name and password'],
] as const;

const secretLabels: Readonly<Record<string, string>> = { bearer: 'Token', api_key: 'Key', basic: 'Password' };

const empty = { type: 'http', name: '', url: '', auth: 'none', header: 'X-API-Key', username: '', credential: '', secret: '' };

type Form = typeof empty;

interface AddConnectionProps {
  readonly onClose: () => void;
  readonly onAdded: () => void;
}

/** The dialog in which the user adds a connection. The connection is tested first, and saved only if the test succeeds. */
export function AddConnection({ onClose, onAdded }: AddConnectionProps) {
  const [form, set] = useForm<Form>(empty);
  const [isTested, setTested] = useState(true);
  const [result, setResult] = useState<ConnectionTest>();
  const action = useAction();
  const save = () =>
    void action.run(async () => {
      setResult(undefined);
      const json = connectionBody(form);
      const test = isTested ? await requestJson<ConnectionTest>('/connections/tests', { method: 'POST', json }) : undefined;
      if (test && !test.ok) return setResult(test);
      await sendRequest('/connections', { method: 'POST', json });
      onAdded();
      onClose();
    });
  return (
    <Dialog title="Add a platform" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <SelectField label="Kind" value={form.type} choices={kinds} onChange={set('type')} />
        <TextField label="Name" hint="the name that flows use, such as crm" value={form.name} isRequired onInput={set('name')} />
        <TextField
          label="Server URL"
          hint={form.type === 'http' ? 'the base of the URLs in flows' : 'Streamable HTTP, or SSE'}
          {...{ type: 'url', value: form.url, isRequired: true, placeholder: 'https://' }}
          onInput={set('url')}
        />
        <SelectField label="Authentication" value={form.auth} choices={methods} onChange={set('auth')} />
        <AuthFields form={form} set={set} />
        <Check isChecked={isTested} onChange={setTested}>
          Test connection before saving
        </Check>
        {result && <TestResultView result={result} />}
        <ProblemNotice problem={action.problem} />
        <div class="actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <ActionButton action={action} kind="main" isDisabled={form.name === '' || form.url === ''}>
            {isTested ? 'Test and save' : 'Save'}
          </ActionButton>
        </div>
      </form>
    </Dialog>
  );
}

const kinds = [
  ['http', 'HTTP interface'],
  ['mcp', 'MCP server'],
] as const;

function AuthFields({ form, set }: { readonly form: Form; readonly set: (name: keyof Form) => (value: string) => void }) {
  if (form.auth === 'none') return null;
  return (
    <>
      {form.auth === 'api_key' && <TextField label="Header" value={form.header} onInput={set('header')} />}
      {form.auth === 'basic' && <TextField label="User name" value={form.username} onInput={set('username')} />}
      <TextField
        label="Credential"
        hint="the name that the secret is stored under"
        placeholder={form.name === '' ? '' : `${form.name}-secret`}
        value={form.credential}
        onInput={set('credential')}
      />
      <TextField
        label={secretLabels[form.auth] ?? 'Secret'}
        hint="goes to the credential store and is never shown again; leave it empty if it is stored already"
        type="password"
        value={form.secret}
        onInput={set('secret')}
      />
    </>
  );
}

/** Returns the body of the request that adds a connection, with only those members that the chosen authentication method needs. */
function connectionBody({ type, name, url, auth, header, username, credential, secret }: Form) {
  if (auth === 'none') return { type, name, url, auth: { type: auth } };
  return {
    ...{ type, name, url },
    auth: {
      ...{ type: auth, credential: credential === '' ? `${name}-secret` : credential },
      ...(auth === 'api_key' && { header }),
      ...(auth === 'basic' && username !== '' && { username }),
    },
    ...(secret !== '' && { secret }),
  };
}
