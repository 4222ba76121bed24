import { useId, useState } from 'preact/hooks';
import { counted, formatCount } from '../../../core/text/number.ts';
import type { FlowShape, PlanShape, RunShape } from '../../../serve/shapes.ts';
import { bytesText } from '../../figures.ts';
import { Tiles } from '../../parts/tiles.tsx';
import { goTo, requestJson } from '../api.ts';
import { ActionButton, ProblemNotice, RequestView } from '../frame/feedback.tsx';
import { Dialog, TextField } from '../frame/fields.tsx';
import { useAction } from '../use-loaded.ts';
import { creditRange } from './flows-page.tsx';

interface RunDialogProps {
  readonly flow: FlowShape;
  readonly onClose: () => void;
}

/** A dialog in which the user chooses a file with records, sees a forecast of the run, and starts it. */
export function RunDialog({ flow, onClose }: RunDialogProps) {
  const [file, setFile] = useState<File>();
  const [plan, setPlan] = useState<PlanShape>();
  const [maxErrors, setMaxErrors] = useState('');
  const [variables, setVariables] = useState<VariableValues>({});
  const action = useAction();
  const path = `/flows/${encodeURIComponent(flow.id)}`;
  const planFor = (chosen: File) =>
    action.run(async () => setPlan(await requestJson<PlanShape>(`${path}/plans${queryOf(variables)}`, uploadOf(chosen))));
  const choose = (chosen: File) => {
    setFile(chosen);
    setPlan(undefined);
    if (hasValues(flow, variables)) void planFor(chosen);
  };
  const change = (values: VariableValues) => {
    setVariables(values);
    setPlan(undefined);
  };
  const start = (chosen: File) =>
    action.run(async () => {
      const run = await requestJson<RunShape>(`${path}/runs${queryOf(variables, { max_errors: maxErrors })}`, uploadOf(chosen));
      goTo(`/runs/${run.id}`);
    });
  return (
    <Dialog title={`Run ${flow.name}`} onClose={onClose}>
      <VariableFields flow={flow} values={variables} onInput={change} />
      <FileField file={file} onChoose={choose} />
      <ProblemNotice problem={action.problem} />
      {action.isBusy && plan === undefined && <p class="loading">Planning: nothing is sent yet</p>}
      {plan !== undefined && <PlanView plan={plan} />}
      {plan !== undefined && (
        <TextField label="Stop after failed records" hint="a number, or a percentage such as 5%" value={maxErrors} onInput={setMaxErrors} />
      )}
      <div class="actions">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <ActionButton
          action={action}
          kind="main"
          isDisabled={file === undefined || !hasValues(flow, variables)}
          onAct={() => void (file && (plan === undefined ? planFor(file) : start(file)))}
        >
          {plan === undefined ? 'Plan' : `Run ${counted(plan.records, 'record')}`}
        </ActionButton>
      </div>
    </Dialog>
  );
}

function uploadOf(file: File) {
  const headers = inputHeaders(file.name) ?? { 'Content-Type': file.type === '' ? 'text/csv' : file.type };
  return { method: 'POST', body: file, headers } as const;
}

function FileField({ file, onChoose }: { readonly file: File | undefined; readonly onChoose: (file: File) => void }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>File of records</label>
      <input
        id={id}
        type="file"
        accept=".csv,.tsv,.json,.ndjson,.jsonl,.gz,.xlsx"
        aria-describedby={`${id}-hint`}
        onChange={({ currentTarget: { files } }) => files?.[0] && onChoose(files[0])}
      />
      <small id={`${id}-hint`} class="hint">
        {file === undefined ? 'CSV, TSV, JSON or NDJSON, each also with .gz' : bytesText(file.size)}
      </small>
    </div>
  );
}

function PlanView({ plan }: { readonly plan: PlanShape }) {
  return (
    <>
      <Tiles
        tiles={[
          { label: 'Records', value: formatCount(plan.records) },
          { label: 'Requests', value: creditRange(plan.actions) },
          { label: 'Credits', value: creditRange(plan.credits) },
        ]}
      />
      {plan.first_request !== null && (
        <details>
          <summary>The first request</summary>
          <RequestView request={plan.first_request} />
        </details>
      )}
    </>
  );
}

/** The request headers that tell the server the format of an uploaded file. */
type InputHeaders = Readonly<Record<string, string>>;

const mediaTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  jsonl: 'application/jsonl',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** Undefined if the extension is unknown. @internal */
export function inputHeaders(name: string): InputHeaders | undefined {
  const [, extension = '', gz] = /\.([a-z]+)(\.gz)?$/i.exec(name.toLowerCase()) ?? [];
  const type = mediaTypes[extension];
  return type === undefined ? undefined : { 'Content-Type': type, ...(gz !== undefined && { 'Content-Encoding': 'gzip' }) };
}

/** Empty values are not sent. */
export type VariableValues = Readonly<Record<string, string>>;

interface VariableFieldsProps {
  readonly flow: Pick<FlowShape, 'open_vars'>;
  readonly values: VariableValues;
  readonly onInput: (values: VariableValues) => void;
}

export function VariableFields({ flow, values, onInput }: VariableFieldsProps) {
  return (flow.open_vars ?? []).map(({ name, default: value }) => (
    <TextField
      key={name}
      label={`Variable ${name}`}
      hint={value === null ? 'needed: the flow has no value for it' : 'a variable of the flow; leave it empty for its default'}
      value={values[name] ?? ''}
      placeholder={value ?? ''}
      isRequired={value === null}
      onInput={(text) => onInput({ ...values, [name]: text })}
    />
  ));
}

function hasValues({ open_vars: open = [] }: Pick<FlowShape, 'open_vars'>, values: VariableValues): boolean {
  return open.every(({ name, default: value }) => value !== null || (values[name] ?? '') !== '');
}

/** Includes the question mark; empty if there is nothing to set. */
export function queryOf(values: VariableValues, more: Readonly<Record<string, string>> = {}): string {
  const members = [...Object.entries(values).map(([name, value]) => [`var.${name}`, value] as const), ...Object.entries(more)];
  const query = new URLSearchParams(members.filter(([, value]) => value !== '').map(([name, value]) => [name, value])).toString();
  return query === '' ? '' : `?${query}`;
}
