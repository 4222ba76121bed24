import { useState } from 'preact/hooks';

/** The texts of a form by name, and the handler that changes one. */
export function useForm<Form extends Readonly<Record<string, string>>>(
  empty: Form,
): readonly [form: Form, set: (name: keyof Form) => (value: string) => void] {
  const [form, setForm] = useState(empty);
  const set = (name: keyof Form) => (value: string) => setForm({ ...form, [name]: value });
  return [form, set];
}
