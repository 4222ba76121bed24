// biome-ignore lint/suspicious/noControlCharactersInRegex: it finds control characters
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Escapes control characters and byte order marks, which a terminal would interpret, or not show. The JSON value stays the same. */
export function escapedControls(json: string): string {
  return json.replace(controls, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (text.search(controls) < 0) return `'${text.replaceAll("'", "'\\''")}'`;
  const bytes = (character: string) =>
    [...new TextEncoder().encode(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
  return `$'${text.replace(/[\\']/g, '\\$&').replace(controls, bytes)}'`;
}

/** Returns text as a YAML scalar that can stand inside `{ }`. It has quotes only if YAML might read it as something else without them. */
export function yamlWord(text: string): string {
  const isPlain = /^[A-Za-z_][\w.-]*(?: [\w.-]+)*$/.test(text) && !/^(?:true|false|null)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}

/** Returns a name or path in a map as a YAML scalar, in which `[]` needs no quotes. It cannot stand inside `{ }`. */
export function yamlMapWord(text: string): string {
  const isPlain = /^[A-Za-z_][\w.[\]-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}
