import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly hint?: string;
}

interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'password' | 'url' | 'number';
  readonly isRequired?: boolean;
  readonly placeholder?: string;
  readonly pattern?: string;
  /** Of a field with several lines. */
  readonly rows?: number;
}

export function TextField({ label, hint, value, onInput, type = 'text', isRequired = false, placeholder, pattern }: TextFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type={type as 'text'}
        value={value}
        required={isRequired}
        autocomplete={type === 'password' ? 'new-password' : 'off'}
        spellcheck={false}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={(event) => onInput(event.currentTarget.value)}
        placeholder={placeholder}
        pattern={pattern}
      />
      <Hint id={id} hint={hint} />
    </div>
  );
}

export function LongField({ label, hint, value, onInput, isRequired = false, placeholder, rows = 3 }: TextFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        required={isRequired}
        autocomplete="off"
        spellcheck={false}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={(event) => onInput(event.currentTarget.value)}
        placeholder={placeholder}
      />
      <Hint id={id} hint={hint} />
    </div>
  );
}

interface SelectFieldProps extends FieldProps {
  readonly value: string;
  readonly choices: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
}

export function SelectField({ label, hint, value, choices, onChange }: SelectFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {choices.map(([choice, text]) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
      </select>
      <Hint id={id} hint={hint} />
    </div>
  );
}

function Hint({ id, hint }: { readonly id: string; readonly hint: string | undefined }) {
  return hint === undefined ? null : (
    <small id={`${id}-hint`} class="hint">
      {hint}
    </small>
  );
}

interface CheckProps {
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
  readonly children: ComponentChildren;
}

export function Check({ isChecked, onChange, children }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={isChecked} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{children}</span>
    </label>
  );
}

interface RadioGroupProps<Value extends string> extends FieldProps {
  readonly value: Value;
  readonly choices: readonly (readonly [value: Value, text: string])[];
  readonly onChange: (value: Value) => void;
}

export function RadioGroup<Value extends string>({ label, value, choices, onChange }: RadioGroupProps<Value>) {
  const name = useId();
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      {choices.map(([choice, text]) => (
        <label key={choice} class="check">
          <input type="radio" name={name} checked={choice === value} onChange={() => onChange(choice)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** A list of the names of fields. Nothing is shown if there are none. */
export function FieldLine({ label, fields }: { readonly label: string; readonly fields: readonly string[] }) {
  if (fields.length === 0) return null;
  return (
    <p class="chips">
      {label}
      {fields.map((field) => (
        <code key={field}>{field}</code>
      ))}
    </p>
  );
}

interface CheckGroupProps extends FieldProps {
  readonly choices: readonly (readonly [value: string, text: string])[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

export function CheckGroup({ label, hint, choices, chosen, onChange }: CheckGroupProps) {
  const toggled = (value: string, isChecked: boolean) => (isChecked ? [...chosen, value] : chosen.filter((other) => other !== value));
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      {choices.map(([value, text]) => (
        <Check key={value} isChecked={chosen.includes(value)} onChange={(isChecked) => onChange(toggled(value, isChecked))}>
          {text}
        </Check>
      ))}
      {hint !== undefined && <small class="hint">{hint}</small>}
    </fieldset>
  );
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A dialog on top of the page. It keeps the keyboard focus while it is open, and Escape closes it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="close" aria-label="Close" onClick={() => dialog.current?.close()}>
          ×
        </button>
      </header>
      {children}
    </dialog>
  );
}
