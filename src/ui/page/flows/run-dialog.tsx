import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { counted, formatCount } from '../../../core/text/number.ts';
import type { FlowShape, PlanShape, RunShape } from '../../../serve/shapes.ts';
import { bytesText } from '../../figures.ts';
import { Tiles } from '../../parts/tiles.tsx';
import { goTo, requestJson } from '../api.ts';
import { ActionButton, ProblemNotice, RequestView } from '../frame/feedback.tsx';
import { Dialog, FieldLine, LongField, RadioGroup, SelectField, TextField } from '../frame/fields.tsx';
import { useAction } from '../use-loaded.ts';
import { creditRange } from './flows-page.tsx';

interface RunDialogProps {
  readonly flow: FlowShape;
  readonly onClose: () => void;
}

/** The source of a run's records. `none` runs the flow once, over an empty record. */
type RecordsFrom = 'file' | 'table' | 'none';

/** A dialog in which the user chooses records, sees a forecast of the run, and starts it. */
export function RunDialog({ flow, onClose }: RunDialogProps) {
  const form = useRunForm(flow);
  const { records, plan, action, isReady } = form;
  return (
    <Dialog title={`Run ${flow.name}`} onClose={onClose}>
      <VariableFields flow={flow} values={form.variables} onInput={form.setVariables} />
      <RecordsFields flow={flow} records={records} onChange={form.setRecords} />
      <ProblemNotice problem={action.problem} />
      {action.isBusy && plan === undefined && <p class="loading">Planning: nothing is sent yet</p>}
      {plan !== undefined && (
        <>
          <PlanView plan={plan} />
          <TextField
            label="Stop after failed records"
            hint="a number, or a percentage such as 5%"
            value={form.maxErrors}
            onInput={form.setMaxErrors}
          />
          <SelectField label="Format of the output" value={form.format} choices={formatsFor(records.from)} onChange={form.setFormat} />
        </>
      )}
      <div class="actions">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <ActionButton
          action={action}
          kind="main"
          isDisabled={!isReady}
          onAct={plan === undefined ? () => form.makePlan(records) : form.start}
        >
          {plan === undefined ? 'Plan' : records.from === 'none' ? 'Run once' : `Run ${counted(plan.records, 'record')}`}
        </ActionButton>
      </div>
    </Dialog>
  );
}

/** The user's entries, and the plan for them. */
function useRunForm(flow: FlowShape) {
  const [records, setRecords] = useState<GivenRecords>({ from: flow.fields.length === 0 ? 'none' : 'file', file: undefined, table: '' });
  const [plan, setPlan] = useState<PlanShape>();
  const [maxErrors, setMaxErrors] = useState('');
  const [format, setFormat] = useState('');
  const [variables, setVariables] = useState<VariableValues>({});
  const action = useAction();
  const path = `/flows/${encodeURIComponent(flow.id)}`;
  const isReady = hasRecords(records) && hasValues(flow, variables);
  // Counts the changes: a plan that arrives after the next change is not for what is shown.
  const turn = useRef(0);
  const makePlan = (given: GivenRecords) =>
    void action.run(async () => {
      const { current } = turn;
      const made = await requestJson<PlanShape>(`${path}/plans${queryOf(variables)}`, await uploadOf(given));
      if (turn.current === current) setPlan(made);
    });
  const forget = () => {
    turn.current++;
    setPlan(undefined);
  };
  const start = () =>
    void action.run(async () => {
      // A person without a file opens the output in a spreadsheet.
      const out = format === '' && records.from !== 'file' ? 'csv' : format;
      const query = queryOf(variables, { max_errors: maxErrors, out });
      const run = await requestJson<RunShape>(`${path}/runs${query}`, await uploadOf(records));
      goTo(`/runs/${run.id}`);
    });
  const { from, file } = records;
  useEffect(() => {
    // A table is planned when the user has pasted all of it.
    if (isReady && from !== 'table') makePlan(records);
  }, [from, file]);
  return {
    ...{ records, plan, maxErrors, setMaxErrors, format, setFormat, variables, action, isReady, makePlan, start },
    setRecords: (given: GivenRecords) => {
      setRecords(given);
      forget();
    },
    setVariables: (values: VariableValues) => {
      setVariables(values);
      forget();
    },
  };
}

interface RecordsFieldsProps {
  readonly flow: FlowShape;
  readonly records: GivenRecords;
  readonly onChange: (records: GivenRecords) => void;
}

function RecordsFields({ flow, records, onChange }: RecordsFieldsProps) {
  const { from, file, table } = records;
  return (
    <>
      <RadioGroup label="Records" value={from} choices={recordsFrom} onChange={(chosen) => onChange({ ...records, from: chosen })} />
      {from !== 'none' && <FieldLine label="with the columns" fields={flow.fields} />}
      {from === 'file' && <FileField file={file} onChoose={(chosen) => onChange({ ...records, file: chosen })} />}
      {from === 'table' && (
        <LongField
          label="Table"
          hint="paste cells from a spreadsheet, or CSV; the first row has the names of the columns"
          rows={8}
          value={table}
          onInput={(text) => onChange({ ...records, table: text })}
        />
      )}
    </>
  );
}

const recordsFrom = [
  ['file', 'from a file'],
  ['table', 'from a table that you paste'],
  ['none', 'none: the flow runs once'],
] as const;

function formatsFor(from: RecordsFrom): readonly (readonly [value: string, text: string])[] {
  return from === 'file' ? [['', 'as the file; CSV for Excel'], ['csv', 'CSV'], ...otherFormats] : [['', 'CSV'], ...otherFormats];
}

const otherFormats = [
  ['tsv', 'TSV'],
  ['json', 'JSON'],
  ['ndjson', 'NDJSON'],
] as const;

interface GivenRecords {
  readonly from: RecordsFrom;
  readonly file: File | undefined;
  readonly table: string;
}

function hasRecords({ from, file, table }: GivenRecords): boolean {
  return from === 'none' || (from === 'file' ? file !== undefined : table.trim() !== '');
}

async function uploadOf({ from, file, table }: GivenRecords) {
  const method = 'POST';
  if (from === 'none') return { method, body: new Blob(['{}\n']), headers: typed('application/x-ndjson') } as const;
  if (from === 'table' || file === undefined) return { method, body: new Blob([table]), headers: tableHeaders(table) } as const;
  return { method, body: file, headers: inputHeaders(file.name) ?? (await otherHeaders(file)) } as const;
}

/** Of a file whose name does not tell its format, such as `rows.txt`. */
async function otherHeaders(file: File): Promise<InputHeaders> {
  const isText = file.type === '' || file.type.startsWith('text/');
  return isText ? tableHeaders(await file.slice(0, 65_536).text()) : typed(file.type);
}

function FileField({ file, onChoose }: { readonly file: File | undefined; readonly onChoose: (file: File) => void }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>File of records</label>
      <input
        id={id}
        type="file"
        accept=".csv,.tsv,.txt,.json,.ndjson,.jsonl,.gz,.xlsx"
        aria-describedby={`${id}-hint`}
        onChange={({ currentTarget: { files } }) => files?.[0] && onChoose(files[0])}
      />
      <small id={`${id}-hint`} class="hint">
        {file === undefined ? 'Excel (.xlsx), CSV, TSV, JSON or NDJSON; all but Excel also with .gz' : bytesText(file.size)}
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

/** The request headers that tell the server the format of uploaded records. */
type InputHeaders = Readonly<Record<string, string>>;

function typed(type: string): InputHeaders {
  return { 'Content-Type': type };
}

/**
 * The format of a table, from its header. Cells that were copied from a spreadsheet are separated by tabs, and a single column has no
 * separator, but can have commas in its cells. The server recognizes other separators of CSV. @internal
 */
export function tableHeaders(text: string): InputHeaders {
  const [header = ''] = text.trimStart().split(/[\r\n]/, 1);
  return typed(header.includes('\t') || !/[,;|]/.test(header) ? 'text/tab-separated-values' : 'text/csv');
}

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
  return type === undefined ? undefined : { ...typed(type), ...(gz !== undefined && { 'Content-Encoding': 'gzip' }) };
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
