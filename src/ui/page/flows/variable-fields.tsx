import type { FlowShape } from '../../../serve/shapes.ts';
import { TextField } from '../frame/fields.tsx';

/** The values of a flow's open variables, by name. An empty one is not sent. */
export type VariableValues = Readonly<Record<string, string>>;

interface VariableFieldsProps {
  readonly flow: Pick<FlowShape, 'open_vars'>;
  readonly values: VariableValues;
  readonly onInput: (values: VariableValues) => void;
}

/** A field for each variable that callers of the flow may set. */
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

/** True once every variable without a default has a value. */
export function hasValues({ open_vars: open = [] }: Pick<FlowShape, 'open_vars'>, values: VariableValues): boolean {
  return open.every(({ name, default: value }) => value !== null || (values[name] ?? '') !== '');
}

/** The query that sets variables, with its question mark and other members; empty for none. */
export function queryOf(values: VariableValues, more: Readonly<Record<string, string>> = {}): string {
  const members = [...Object.entries(values).map(([name, value]) => [`var.${name}`, value] as const), ...Object.entries(more)];
  const query = new URLSearchParams(members.filter(([, value]) => value !== '').map(([name, value]) => [name, value])).toString();
  return query === '' ? '' : `?${query}`;
}
