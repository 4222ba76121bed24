import { useState } from 'preact/hooks';
import type { ShownAuthType, ShownConnection, ShownConnectionTest } from '../../serve/page/page-shapes.ts';
import { Table } from '../parts/table.tsx';
import { Panel } from '../parts/tiles.tsx';
import { requestJson, sendRequest } from './api.ts';
import { ActionButton, CodeBlock, DialogActions, LoadedView, ProblemNotice, Time } from './frame/feedback.tsx';
import { Check, Dialog, LongField, SelectField, TextField } from './frame/fields.tsx';
import { Frame } from './frame/frame.tsx';
import { useAction, useForm, useLoaded } from './use-loaded.ts';

export function IntegrationsPage() {
  const connections = useLoaded<{ readonly connections: readonly ShownConnection[] }>('/connections');
  const [isAdding, setAdding] = useState(false);
  return (
    <Frame
      title="Integrations"
      sub="the platforms that your flows use as connections"
      actions={
        <button type="button" class="main" onClick={() => setAdding(true)}>
          Add a platform
        </button>
      }
    >
      <div class="stack">
        <LoadedView loaded={connections}>
          {({ connections: all }) =>
            all.length === 0 ? <NoConnections /> : <Connections connections={all} onChange={connections.reload} />
          }
        </LoadedView>
        <Panel title="MCP servers on this machine" note="started by a command">
          <p class="empty">A page must not start programs, so these are added on the command line:</p>
          <CodeBlock
            text={'automate connections add mcp files --command "npx -y @modelcontextprotocol/server-filesystem ."'}
            label="Command"
          />
        </Panel>
      </div>
      {isAdding && <AddConnection onClose={() => setAdding(false)} onAdded={connections.reload} />}
    </Frame>
  );
}

function NoConnections() {
  return (
    <Panel title="Your Platforms">
      <p class="empty">
        No platform yet. Add one with its address and credential, and flows can refer to it with <code>connection</code>. Or use a command:
      </p>
      <CodeBlock text="automate connections add" label="Command that adds a connection" />
    </Panel>
  );
}

interface ConnectionsProps {
  readonly connections: readonly ShownConnection[];
  readonly onChange: () => void;
}

function Connections({ connections, onChange }: ConnectionsProps) {
  return (
    <Panel title="Your Platforms">
      <Table
        label="Your Platforms"
        rows={connections}
        columns={[
          { title: 'Name', cell: ({ name }) => <strong>{name}</strong> },
          { title: 'Kind', cell: ({ type }) => type.toUpperCase() },
          { title: 'Address', isWide: true, cell: ({ address }) => <code>{address}</code> },
          { title: 'Authentication', cell: ({ auth }) => auth },
          { title: 'Credential', cell: ({ credential }) => credential ?? <span class="dim">none</span> },
          { title: 'Last test', cell: (connection) => <LastTest connection={connection} /> },
          { title: '', cell: (connection) => <ConnectionActions connection={connection} onChange={onChange} /> },
        ]}
      />
    </Panel>
  );
}

function LastTest({ connection: { tested_at, problem } }: { readonly connection: ShownConnection }) {
  if (tested_at === null) return <span class="dim">never</span>;
  const isGood = problem === null || problem === '';
  return (
    <>
      <span class={`state ${isGood ? 'good' : 'bad'}`}>{isGood ? 'works' : 'failed'}</span> <Time at={tested_at} />
      {!isGood && <small>{problem}</small>}
    </>
  );
}

function ConnectionActions({ connection: { name }, onChange }: { readonly connection: ShownConnection; readonly onChange: () => void }) {
  const action = useAction();
  const [result, setResult] = useState<ShownConnectionTest>();
  const [isRemoving, setRemoving] = useState(false);
  const path = `/connections/${encodeURIComponent(name)}`;
  const test = () =>
    void action.run(async () => {
      setResult(await requestJson<ShownConnectionTest>(`${path}/tests`, { method: 'POST' }));
      onChange();
    });
  const remove = () =>
    void action.run(async () => {
      await sendRequest(path, { method: 'DELETE' });
      onChange();
    });
  return (
    <div class="row">
      <ActionButton action={action} onAct={test}>
        Test
      </ActionButton>
      <button type="button" aria-label={`Remove ${name}`} onClick={() => setRemoving(true)}>
        Remove
      </button>
      {result && (
        <Dialog title={`Test of ${name}`} onClose={() => setResult(undefined)}>
          <TestResultView result={result} />
        </Dialog>
      )}
      {isRemoving && (
        <Dialog title={`Remove ${name}?`} onClose={() => setRemoving(false)}>
          <p>Flows that use it will no longer be valid. Its credential is not deleted.</p>
          <ProblemNotice problem={action.problem} />
          <div class="actions">
            <ActionButton action={action} kind="danger" onAct={remove}>
              Remove
            </ActionButton>
          </div>
        </Dialog>
      )}
      {!isRemoving && <ProblemNotice problem={action.problem} />}
    </div>
  );
}

const empty = { type: 'http', name: '', url: '', http: '1.1', auth: 'none', credential: '', secret: '' };

/** The options of the authentication have the prefix `option.`. */
type ConnectionForm = typeof empty & Readonly<Record<string, string>>;

interface AddConnectionProps {
  readonly onClose: () => void;
  readonly onAdded: () => void;
}

/** The connection is tested first, and saved only if the test succeeds. */
function AddConnection({ onClose, onAdded }: AddConnectionProps) {
  const [form, set] = useForm<ConnectionForm>(empty);
  const { types = [] } = useLoaded<{ readonly types: readonly ShownAuthType[] }>('/auth-types').data ?? {};
  const fitting = types.filter(({ is_for_mcp }) => form.type === 'http' || is_for_mcp);
  const method = fitting.find(({ type }) => type === form.auth);
  const [isTested, setTested] = useState(true);
  const [result, setResult] = useState<ShownConnectionTest>();
  const action = useAction();
  const save = () =>
    void action.run(async () => {
      setResult(undefined);
      const json = connectionBody(form, method);
      const test = isTested ? await requestJson<ShownConnectionTest>('/connections/tests', { method: 'POST', json }) : undefined;
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
        {form.type === 'http' && <SelectField label="HTTP version" value={form.http} choices={versions} onChange={set('http')} />}
        <SelectField
          label="Authentication"
          value={form.auth}
          choices={[['none', 'none'], ...fitting.map(({ type, label }) => [type, label] as const)]}
          onChange={set('auth')}
        />
        {method && <AuthFields {...{ form, set, method }} />}
        <Check isChecked={isTested} onChange={setTested}>
          Test connection before saving
        </Check>
        {result && <TestResultView result={result} />}
        <DialogActions {...{ action, onClose }} isDisabled={form.name === '' || form.url === ''}>
          {isTested ? 'Test and save' : 'Save'}
        </DialogActions>
      </form>
    </Dialog>
  );
}

const kinds = [
  ['http', 'HTTP interface'],
  ['mcp', 'MCP server'],
] as const;

const versions = [
  ['1.1', 'HTTP/1.1'],
  ['2', 'HTTP/2, if the server offers it'],
] as const;

interface AuthFieldsProps {
  readonly form: ConnectionForm;
  readonly set: (name: string) => (value: string) => void;
  readonly method: ShownAuthType;
}

function AuthFields({ form, set, method: { fields, has_credential } }: AuthFieldsProps) {
  return (
    <>
      {fields.map(({ name, label, hint, example, is_long, is_required }) => {
        const Field = is_long ? LongField : TextField;
        const shared = { label, hint: hint === '' ? undefined : hint, placeholder: example, isRequired: is_required };
        return <Field key={name} {...shared} value={form[`option.${name}`] ?? ''} onInput={set(`option.${name}`)} />;
      })}
      {has_credential && (
        <TextField
          label="Credential"
          hint="the name that the secret is stored under"
          placeholder={form.name === '' ? '' : `${form.name}-secret`}
          value={form.credential}
          onInput={set('credential')}
        />
      )}
      <TextField
        label="Secret"
        hint="goes to the credential store and is never shown again; leave it empty if it is stored already"
        type="password"
        value={form.secret}
        onInput={set('secret')}
      />
    </>
  );
}

/** Contains only members that the chosen authentication method needs. */
function connectionBody({ type, name, url, http, credential, secret, ...more }: ConnectionForm, method: ShownAuthType | undefined) {
  const server = { type, name, url, ...(type === 'http' && http === '2' && { http2: true }) };
  if (!method) return { ...server, auth: { type: 'none' } };
  const options = method.fields
    .map((field) => [field.name, more[`option.${field.name}`] ?? ''] as const)
    .filter(([, value]) => value !== '');
  return {
    ...server,
    auth: {
      ...{ type: method.type, ...Object.fromEntries(options) },
      ...(method.has_credential && { credential: credential === '' ? `${name}-secret` : credential }),
    },
    ...(secret !== '' && { secret }),
  };
}

/** Shows what to check after a failure. */
function TestResultView({ result: { ok, message, check } }: { readonly result: ShownConnectionTest }) {
  return (
    <div class={`notice ${ok ? 'good' : 'bad'}`} role="status">
      <strong>{ok ? 'The connection works' : 'The test failed; nothing was saved'}</strong>
      <span>{message}</span>
      {check.length > 0 && (
        <ul>
          {check.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
