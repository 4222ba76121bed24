import { useState } from 'preact/hooks';

/** Keeps the values of a form's fields. Returns them, and a function that makes the input handler of a field. */
export function useForm<Form extends Readonly<Record<string, string>>>(
  empty: Form,
): readonly [form: Form, set: (name: keyof Form) => (value: string) => void] {
  const [form, setForm] = useState(empty);
  const set = (name: keyof Form) => (value: string) => setForm({ ...form, [name]: value });
  return [form, set];
}
